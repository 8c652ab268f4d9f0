"""Detection of deadlocks on several nodes: the parent probes all processors, again and again.

    wave 1    every program waits for something that has not come, and what was sent has been received
    wave 2    the same, with the same numbers of waits and messages: nothing happened between the two waves

After such a pair of waves no message is on its way that could end a wait, so the run is deadlocked.  Source: Mattern,
"Algorithms for distributed termination detection" (1987), the method of four counters.

In a collective, the processors of a node meet in its memory, which no counter counts.  Each probe therefore looks there
(`Progress.stuck`): a processor that finds something new is not stuck.  What a processor has put there before it was
found waiting in wave 1 is seen by all others in wave 2.

A run with a time limit ends when that time is over, with the same table of what each processor waits for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ..memory.threads import Stream
from ..program.failures import Deadlock, TimedOut
from ..program.who_waits import RUNS, Row, deadlock_text, table_of
from ..protocols import waiters
from ..protocols.stream_slots import PARKED
from .messages import Probed
from .progress import Progress

TICK, SOON, MOST = 0.25, 0.05, 0.5
"""Seconds to the first wave and after one that found a program at work, which double up to MOST; after another one."""
ANSWER = 0.5
"""Seconds that the processors get to answer, when the time of the run is over."""


class ProbedRun:
    """The waves of probes of one run.

    Parameters
    ----------
    size : int
        Number of processors.
    probe : callable
        ``probe(wave)`` asks all processors.
    timeout : float or None
        Seconds that the run may take; None for no limit.
    """

    def __init__(self, size: int, probe: Callable[[int], object], timeout: float | None) -> None:
        self._size, self._probe, self._timeout = size, probe, timeout
        self._wave = 0
        self._came: dict[int, Probed] = {}
        self._before: list[tuple[int, int, int]] | None = None
        self._tick = TICK
        now = time.monotonic()
        self._end = math.inf if timeout is None else now + timeout
        self._over = False  # whether the last wave was begun because the time is over
        self._next = min(now + TICK, self._end)

    def wait(self) -> float:
        """Return the seconds until the next look."""
        return max(0.0, self._next - time.monotonic())

    def came(self, rank: int, probed: Probed) -> None:
        """Note an answer."""
        if probed.wave == self._wave:
            self._came[rank] = probed

    def look(self) -> Deadlock | TimedOut | None:
        """Begin a wave or judge one, if it is time to; return the failure that has to end the run, if there is one."""
        now = time.monotonic()
        complete = len(self._came) == self._size
        if self._over and (complete or now >= self._end + ANSWER):
            assert self._timeout is not None
            return TimedOut(self._timeout, table_of(self._rows()))
        if complete:
            found = self._judged(now)
            if found is not None:
                return found
        if now >= self._next:
            self._begin(now)
        return None

    def _begin(self, now: float) -> None:
        self._over = now >= self._end
        self._wave, self._came = self._wave + 1, {}
        self._probe(self._wave)
        self._next = min(now + MOST, self._end) if not self._over else self._end + ANSWER

    def _judged(self, now: float) -> Deadlock | None:
        """Judge a complete wave."""
        came = [self._came[rank] for rank in range(self._size)]
        counts = [(probed.waits, probed.sent, probed.got) for probed in came]
        balanced = sum(probed.sent for probed in came) == sum(probed.got for probed in came)
        stuck = balanced and all(probed.stuck for probed in came)
        if stuck and counts == self._before:
            return Deadlock(deadlock_text(self._rows()))
        self._before = counts if stuck else None
        self._came = {}
        self._tick = TICK if stuck else min(2 * self._tick, MOST)
        self._next = min(now + (SOON if stuck else self._tick), self._end)
        return None

    def _rows(self) -> Sequence[Row]:
        return [self._row(rank, self._came.get(rank)) for rank in range(self._size)]

    def _row(self, rank: int, probed: Probed | None) -> Row:
        if probed is None:
            return Row(str(rank), "0", "(does not answer)", "", "")
        return Row(str(rank), "0", probed.what if probed.stuck else RUNS, probed.place, "")


class Standing(NamedTuple):
    """State of the threads of a processor: whether all wait, and the number of waits so far."""

    stuck: bool
    waits: int


def standing(progress: Progress, streams: Sequence[Stream], main: int, ours: Collection[int]) -> Standing:
    """Return the state of the threads of a processor.

    The program's thread waits for messages (``progress``), or with a record, as the threads of its streams do
    (``waiters``).  If all of them wait without a deadline, only another processor can let one go on.

    Parameters
    ----------
    streams : sequence of Stream
        Its threads that have waited with a record.
    main : int
        Identifier of the program's thread.
    ours : collection of int
        Identifiers of threads that only do what others ask for.
    """
    with progress.lock:
        stuck, waits = progress.stuck(), progress.waits
    active = [stream for stream in list(streams) if stream.words[waiters.ACTIVE] and stream.thread not in ours]
    others = [stream for stream in active if not (stuck and stream.thread == main)]
    known = stuck or any(stream.thread == main for stream in others)
    waits += sum(int(stream.words[waiters.WAITS]) for stream in active)
    return Standing(known and all(_waits(stream) for stream in others), waits)


def _waits(stream: Stream) -> bool:
    words = stream.words
    queued = words[waiters.OP] != 0 and words[waiters.STATUS] & waiters.STATE == waiters.WAITING
    return bool(queued and (words[waiters.UNTIL] == 0 or words[waiters.OP] == PARKED))
