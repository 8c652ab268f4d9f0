"""Who goes next on an emulated machine: its streams, and three rules.

    Seeded     drawn at random, the same for the same seed
    Clock      whoever is earliest in virtual time
    Choices    by a list of choices, and after its end, whoever goes on: for replays, and for trying all schedules

At a scheduling point there are *candidates*: the streams that can make a step.  The one whose turn it was is among them
unless it sleeps, pauses or has ended.  Where there is one candidate there is nothing to choose.
"""

from __future__ import annotations

import operator
import random
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from smp.errors import ScheduleError


class Stream:
    """One stream of an emulated processor.

    Attributes
    ----------
    rank, index : int
        Which processor's, and which of its streams, from 0.
    number : int
        Which of all streams of the run.
    now : int
        Its virtual time, in ns.
    word : int
        The address on which it sleeps; 0 while it can run.
    until : int or None
        When its sleep ends by itself.
    since : int
        When its sleep began.
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
        self.fresh = True  # chosen, and has made no step since
        self.last = self.paused = self.paused_before = 0  # numbers of steps
        self.pausing = False
        self.word = self.since = 0
        self.until: int | None = None
        self.greenlet: Any = None
        self.record: Any = None  # of the runtime: see `waiting_threads`


class Schedule(Protocol):
    """A rule.

    Attributes
    ----------
    early : bool
        Whether a sleeper whose sleep has a deadline is a candidate all the time: chosen, its time is over.  Else its
        deadline comes when virtual time gets there.
    patience : int
        Pauses in vain, of each stream that can run, after which the first deadline comes.
    """

    early: bool
    patience: int

    def choose(self, current: Stream | None, candidates: Sequence[Stream]) -> Stream:
        """Choose one of at least two candidates; ``current`` is the one that would go on, if any would."""


class Seeded:
    """Draw who goes next."""

    early = False
    patience = 1_000

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed).random

    def choose(self, current: Stream | None, candidates: Sequence[Stream]) -> Stream:
        return candidates[int(self._draw() * len(candidates))]


class Clock:
    """The earliest in virtual time goes next; the lowest rank of several."""

    early = True
    patience = 1_000

    def choose(self, current: Stream | None, candidates: Sequence[Stream]) -> Stream:
        if candidates[-1].until is None:  # no sleepers, which come last; and the others by their numbers
            return min(candidates, key=_now)
        return min(candidates, key=_time)


_now = operator.attrgetter("now")


def _time(stream: Stream) -> tuple[int, int]:
    return (stream.now if stream.until is None else stream.until, stream.number)


class Choices:
    """By a list of choices: 0 goes on, 1 is the first of the others, ...; 0 after its end.

    Where the one whose turn it was cannot go on, 0 is the first of the others.

    Attributes
    ----------
    taken : array of int
        The choices that were made.
    offered : array of int
        How many candidates there were, the negative of it where none would go on.
    """

    early = True
    patience = 2

    def __init__(self, choices: Sequence[int] = ()) -> None:
        self._choices, self._given = choices, len(choices)
        self.taken, self.offered = array("H"), array("h")

    def choose(self, current: Stream | None, candidates: Sequence[Stream]) -> Stream:
        point = len(self.taken)
        choice = self._choices[point] if point < self._given else 0
        count = len(candidates)
        if not 0 <= choice < count:
            raise ScheduleError(
                f"choice {point} of the schedule is {choice}, but there are {count} candidates; it is of another "
                "program, or the program does not do the same each time"
            )
        self.taken.append(choice)
        if current is None:
            self.offered.append(-count)
            return candidates[choice]
        self.offered.append(count)
        if choice == 0:
            return current
        place = candidates.index(current)
        return candidates[choice - 1 if choice <= place else choice]


def scheduler(schedule: str | Sequence[int], seed: int) -> Callable[[], Schedule]:
    """Return what makes the rule for each run.

    Raises
    ------
    TypeError, ValueError
        When it names none.
    """
    if isinstance(schedule, str):
        if schedule == "seeded":
            return lambda: Seeded(seed)
        if schedule == "clock":
            return Clock
        raise ValueError(f"schedule is 'seeded', 'clock' or a sequence of choices, not {schedule!r}")
    try:
        choices = [operator.index(choice) for choice in schedule]
    except TypeError:
        raise TypeError(f"schedule is 'seeded', 'clock' or a sequence of choices, not {schedule!r}") from None
    return lambda: Choices(choices)
