"""The streams of an emulated machine, and three rules that choose which stream goes next.

    Seeded     draws the next stream at random, in the same way for the same seed
    Clock      takes the stream that is earliest in virtual time
    Choices    follows a list of choices; after its end, the stream whose turn it is goes on. This is for replays, and
               for trying all schedules

At a scheduling point there are *candidates*: the streams that can make a step.  The stream whose turn it was is among
them unless it sleeps, pauses or has ended.  If there is only one candidate, there is nothing to choose.
"""

from __future__ import annotations

import operator
import random
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from smp.errors import ScheduleError


class Stream(Protocol):
    """One stream of an emulated processor.

    Attributes
    ----------
    rank, index : int
        Its processor, and its number among that processor's streams, from 0.
    number : int
        Its number among all streams of the run.
    now : int
        Its virtual time, in ps.
    word : int
        The address on which it sleeps; 0 while it can run.
    since : int
        Virtual time at which its sleep began, in ns.
    greenlet : greenlet
        Its thread of control.
    record : object
        The runtime's record of this stream, or None: see `waiting_threads`.
    """

    rank: int
    index: int
    number: int
    now: int
    greenlet: Any
    record: Any

    @property
    def word(self) -> int: ...

    @property
    def since(self) -> int: ...


class ListedStream:
    """A `Stream` among which a schedule chooses.

    Attributes
    ----------
    until : int or None
        Virtual time at which its sleep times out, in ps; None if it has no deadline.
    fresh : bool
        True if it has been chosen and has made no step since.
    last, paused, paused_before : int
        Number of steps of the run at its last step, its last pause, and the pause before.
    """

    __slots__ = (
        "fresh",
        "greenlet",
        "index",
        "last",
        "now",
        "number",
        "paused",
        "paused_before",
        "pausing",
        "rank",
        "record",
        "since",
        "until",
        "word",
    )

    def __init__(self, rank: int, index: int, number: int, now: int) -> None:
        self.rank, self.index, self.number, self.now = rank, index, number, now
        self.fresh = True
        self.last = self.paused = self.paused_before = 0
        self.pausing = False
        self.word = self.since = 0
        self.until: int | None = None
        self.greenlet: Any = None
        self.record: Any = None


class Schedule(Protocol):
    """A rule that chooses which stream goes next.

    Attributes
    ----------
    early : bool
        True if a sleeper with a deadline is always a candidate.  If it is chosen, its deadline has come.  If False,
        the deadline comes when virtual time reaches it.
    patience : int
        Number of pauses without a changed word, per runnable stream, after which a deadline comes.
    by_time : bool
        True if it takes the earliest candidate in virtual time; the package ``clocked`` finds it quicker.
    """

    early: bool
    patience: int
    by_time: bool

    def choose(self, current: ListedStream | None, candidates: Sequence[ListedStream]) -> ListedStream:
        """Choose one of at least two candidates; ``current`` is the stream that would go on, or None."""


class Seeded:
    """Draws the next stream at random."""

    early = by_time = False
    patience = 1_000

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed).random

    def choose(self, current: ListedStream | None, candidates: Sequence[ListedStream]) -> ListedStream:
        return candidates[int(self._draw() * len(candidates))]


class Clock:
    """Takes the stream that is earliest in virtual time; of several, the one with the lowest number."""

    early = by_time = True
    patience = 1_000

    def choose(self, current: ListedStream | None, candidates: Sequence[ListedStream]) -> ListedStream:
        if candidates[-1].until is None:  # no sleepers, which would come last; the others are sorted by number
            return min(candidates, key=_now)
        return min(candidates, key=_time)


_now = operator.attrgetter("now")


def _time(stream: ListedStream) -> tuple[int, int]:
    return (stream.now if stream.until is None else stream.until, stream.number)


class Choices:
    """Follows a list of choices: 0 lets the current stream go on, 1 takes the first of the others, and so on.

    After the end of the list, every choice is 0.  If the stream whose turn it was cannot go on, 0 takes the first of
    the others.

    Attributes
    ----------
    taken : array of int
        The choices that were made.
    offered : array of int
        Number of candidates at each choice, negative if the stream whose turn it was could not go on.
    """

    early, by_time = True, False
    patience = 2

    def __init__(self, choices: Sequence[int] = ()) -> None:
        self._choices, self._given = choices, len(choices)
        self.again()

    def again(self) -> None:
        """Begin again with the first choice."""
        self.taken, self.offered = array("H"), array("h")

    def choose(self, current: ListedStream | None, candidates: Sequence[ListedStream]) -> ListedStream:
        point = len(self.taken)
        choice = self._choices[point] if point < self._given else 0
        count = len(candidates)
        if not 0 <= choice < count:
            raise ScheduleError(
                f"choice {point} of the schedule is {choice}, but there are {count} candidates; the schedule "
                "belongs to another program, or the program does not do the same each time"
            )
        self.record(choice, count, current is not None)
        if current is None:
            return candidates[choice]
        if choice == 0:
            return current
        place = candidates.index(current)
        return candidates[choice - 1 if choice <= place else choice]

    def record(self, choice: int, count: int, goes_on: bool) -> None:
        """Add a choice among a number of candidates, the current stream among them or not."""
        self.taken.append(choice)
        self.offered.append(count if goes_on else -count)


def scheduler(schedule: str | Sequence[int], seed: int) -> Callable[[], Schedule]:
    """Return a function that makes the rule of each run.

    Raises
    ------
    TypeError, ValueError
        If ``schedule`` does not name a rule.
    """
    if isinstance(schedule, str):
        if schedule == "seeded":
            return lambda: Seeded(seed)
        if schedule == "clock":
            return Clock
        raise ValueError(f"schedule must be 'seeded', 'clock' or a sequence of choices, not {schedule!r}")
    try:
        choices = [operator.index(choice) for choice in schedule]
    except TypeError:
        raise TypeError(f"schedule must be 'seeded', 'clock' or a sequence of choices, not {schedule!r}") from None
    return lambda: Choices(choices)
