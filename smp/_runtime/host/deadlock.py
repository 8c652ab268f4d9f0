"""Detection of deadlocks: the parent looks at the records of all streams to see if a run can still go on.

    look                 all streams wait, without a deadline                    │ remember how often each has waited
    look again, later    the same waits go on: no stream ran between the looks   │ ask the watches (see ``watchdog``)
    look once more       every watch has answered that no thread of its process  │ no processor can change anything any
                         runs, and the same waits still go on                    │ more

A wait at the barrier counts only while not all processors have arrived.  After the third look, the run is deadlocked,
unless something else can change a cell (see ``helpers``):

    a thread or a process that may      the run goes on, with a warning
    an open thread                      the run goes on for another OPEN seconds

A run with a time limit ends when that time is over, with the same table of what each stream waits for.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Collection, Sequence

from ..memory.segment import Block, Segment
from ..memory.watchdog import Waiter
from ..program.failures import Deadlock, TimedOut
from ..program.place import Place
from ..program.who_waits import Row, deadlock_text, table_of
from ..protocols.entry_points import core
from ..shared_memory.waits import Records, Waits, answers_of
from . import helpers as _helpers
from .silence import Silence

TICK, SOON = 0.25, 0.05
"""Seconds between two looks, and after a look that found all streams waiting."""
OPEN = 1.0
"""Seconds that open threads (see ``helpers``) get to change a cell."""
ANSWER = 0.2
"""Seconds that the watches get to note where their threads are, when the time of the run is over."""


class ProgressCheck:
    """Checks that one run can still go on and that its time is not over.

    Parameters
    ----------
    segment : Segment
    size : int
        Number of processors.
    streams : sequence of Waiter
        The parent's own streams.
    processes : collection of int
        Process ids of the machine.
    seen : callable
        Returns where a processor was last seen, by its rank.
    timeout : float or None
        Seconds that the run may take; None for no limit.
    helpers : bool or None
        Whether threads or processes other than the processors may change cells; None to find out.
    silence : Silence
        Gives hints about processors that do not go on.
    """

    def __init__(
        self,
        segment: Segment,
        size: int,
        streams: Sequence[Waiter],
        processes: Collection[int],
        seen: Callable[[int], Place],
        timeout: float | None,
        helpers: bool | None,
        silence: Silence,
    ) -> None:
        self._segment, self._streams, self._processes = segment, streams, processes
        self._waits = Waits(segment, size, seen)
        self._timeout, self._helpers, self._silence = timeout, helpers, silence
        self._before = b""
        self._asked = 0  # the number with which the watches were asked last; 0 if they need not answer
        self._asked_where = 0  # the same, when the run's time was over
        self._certain_since = 0.0  # 0 while it is not certain that no processor can go on
        self._warned = False
        now = time.monotonic()
        self._end = math.inf if timeout is None else now + timeout
        self._next = min(now + TICK, self._end)

    def wait(self) -> float:
        """Return the seconds until the next look."""
        return max(0.0, self._next - time.monotonic())

    def look(self, private: Collection[Block]) -> Deadlock | TimedOut | None:
        """Look at the run if it is time to; return the failure that has to end it, if there is one.

        Parameters
        ----------
        private : collection of Block
            Blocks that processors have made in this run, which the parent's threads do not have.
        """
        now = time.monotonic()
        if now < self._next:
            return None
        if now >= self._end:
            return self._overdue(now)
        records = self._waits.running()
        waits = self._waits.named(records)
        self._silence.look(self._what_they_do, waits != b"")
        same = waits != b"" and waits == self._before
        asked, self._asked, self._before = self._asked, 0, waits
        self._next = min(now + (SOON if waits else TICK), self._end)
        if not same:
            self._certain_since = 0.0
        elif asked and (answers_of(records) == asked).all():
            self._certain_since = self._certain_since or now
            return self._stuck(records, asked, private)
        else:
            self._asked = core().rouse(self._segment.address)
        return None

    def _what_they_do(self) -> list[Row]:
        """Ask the watches where their threads are, and return a row for each stream."""
        asked, end = core().rouse(self._segment.address), time.monotonic() + ANSWER
        while not (abs(answers_of(records := self._waits.running())) == asked).all() and time.monotonic() < end:
            time.sleep(ANSWER / 10)
        return self._waits.rows(records, asked)

    def _stuck(self, records: Records, asked: int, private: Collection[Block]) -> Deadlock | None:
        """Return the deadlock, unless something else may change a cell, or still has time to."""
        if self._helpers:
            return None
        text = deadlock_text(self._waits.rows(records, asked))
        if self._helpers is not None:
            return Deadlock(text)
        threads = _helpers.Threads([], [])
        if not self._waits.all_private(records, private):
            threads = _helpers.threads(self._segment, self._streams)
        names = [f"thread {name!r}" for name in threads.helpers]
        names += _helpers.processes(self._segment, self._processes)
        if names:
            self._warn(names, text)
            self._next = min(time.monotonic() + TICK, self._end)
            return None
        if self._waits.named(self._waits.running()) != self._before:  # a helper has changed a cell, and ended since
            return None
        if threads.open and time.monotonic() < self._certain_since + OPEN:
            return None
        return Deadlock(text + _advice(threads.open))

    def _warn(self, names: Sequence[str], text: str) -> None:
        if not self._warned:
            warnings.warn(
                f"no processor can go on unless {' or '.join(names)} changes a cell; the run waits for that; "
                f"with machine.run(..., timeout=seconds) or helpers=False it would end: {text}",
                stacklevel=9,  # the caller of machine.run
            )
        self._warned = True

    def _overdue(self, now: float) -> TimedOut | None:
        """Ask the watches where their threads are; once they answer or are late, return the end of the run's time."""
        if not self._asked_where:
            self._asked_where = core().rouse(self._segment.address)
        records = self._waits.running()
        if now < self._end + ANSWER and not (abs(answers_of(records)) == self._asked_where).all():
            self._next = now + SOON / 10
            return None
        assert self._timeout is not None
        return TimedOut(self._timeout, table_of(self._waits.rows(records, self._asked_where)))


def _advice(threads: Sequence[str]) -> str:
    """Return advice for the case that one of these threads was meant to change a cell."""
    if not threads:
        return ""
    names = ", ".join(repr(name) for name in threads)
    return (
        f"\nThis process has other threads ({names}); none of them is seen to hold cells of this machine. If one "
        "changes a cell later, call machine.run(..., helpers=True)"
    )
