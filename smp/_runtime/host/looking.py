"""Timing with a check of the CPUs' placement: looks before and after, and another try if the host has moved the CPUs.

    look │ timed │ look        both in the main state, or not known: the timing counts
    look │ timed │ look        otherwise: it is timed again, while there is time for that

A look takes about 1 ms: it times the hand-off of a cache line between neighbouring CPUs (`protocols.placement`), with
a thread on each.  The readings form a few states, one for each way in which the host has placed the CPUs; the main
state is usually the most frequent (`models.placement`).  The states last for seconds, so a look that was taken a
moment ago is good for both sides of a short timing.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from smp._computer.limits import usable_cpus
from smp.models.placement import Placement
from smp.models.placement_log import PlacementLog

from ..protocols.entry_points import core
from ..protocols.placement import PLACEMENT_WORDS, UNKNOWN
from ..protocols.wait import PRIVATE_WORDS, SHARED

MOST_CPUS = 8
TRIES = 3
"""Number of tries of a look: a thread that comes late to its CPU costs one."""
MEETING_S = 1.0
"""Seconds that the threads of a look wait for one another."""
FRESH_S = 0.02
"""Seconds for which a look remains valid."""
REFRESH_S, FEW = 0.5, 50
"""Seconds after which the states are computed again; with fewer readings than FEW, they are computed every time."""
SHARE, GRACE_S = 0.5, 2.0
"""Most time that is spent on timing again: this share of all time, plus these seconds."""

Timed = TypeVar("Timed")


def look(cpus: Sequence[int] | None = None) -> float:
    """Return the longest time, in ns, of a hand-off of a cache line between two neighbours in a list of CPUs.

    Parameters
    ----------
    cpus : sequence of int, optional
        Numbers of the CPUs; by default those that this process may use, at most 8.

    Returns
    -------
    float
        NaN if there are fewer than two CPUs, if threads cannot be kept on a CPU, or if in each of a few tries a
        thread met no neighbour.
    """
    chosen = usable_cpus()[:MOST_CPUS] if cpus is None else list(cpus)
    if len(chosen) < 2 or not hasattr(os, "sched_setaffinity"):
        return math.nan
    for _ in range(TRIES):
        found = _probed(chosen)
        if min(found) != UNKNOWN:
            return max(found) / 1e3
    return math.nan


def _probed(cpus: Sequence[int]) -> list[int]:
    """Return the reading of a thread on each CPU, in picoseconds."""
    probe, shared = core().probe, np.zeros(PLACEMENT_WORDS, np.int64)
    own = np.zeros((len(cpus), PRIVATE_WORDS), np.int64)
    own[:, SHARED] = shared.ctypes.data
    found = [UNKNOWN] * len(cpus)

    def at(rank: int) -> None:
        try:
            os.sched_setaffinity(0, {cpus[rank]})  # of this thread
            ready.wait(MEETING_S)
        except (OSError, threading.BrokenBarrierError):  # the CPU is gone, or the thread of another came too late
            return ready.abort()
        found[rank] = probe(own[rank].ctypes.data, rank, len(cpus))

    ready = threading.Barrier(len(cpus))
    threads = [threading.Thread(target=at, args=(rank,), daemon=True) for rank in range(len(cpus))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class Looker:
    """Times work while the CPUs are in their main state of placement.

    Parameters
    ----------
    looking : callable, optional
        Returns a reading in ns, NaN if it is not known; by default `look`.
    clock : callable, optional
        Returns seconds.

    Attributes
    ----------
    log : PlacementLog
        All readings.
    again : int
        Number of times that work was timed once more because the CPUs had moved.
    elsewhere : int
        Number of timings that were kept although they are of another state, since the time for timing again was over.
    """

    def __init__(self, looking: Callable[[], float] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.log, self.again, self.elsewhere = PlacementLog(), 0, 0
        self._looking, self._clock, self._cpus = looking or look, clock, min(len(usable_cpus()), MOST_CPUS)
        self._began, self._spent = clock(), 0.0
        self._seen = -math.inf, math.nan
        self._states, self._known = Placement(), -math.inf

    def now(self) -> float:
        """Return a reading of the CPUs' placement, in ns: a new look, or one that was taken a moment ago."""
        at, ns = self._seen
        if self._clock() - at > FRESH_S:
            ns = self._looking()
            self._seen = self._clock(), ns
            self.log.note(self._cpus, self._seen[0], ns)
        return ns

    def time(self, work: Callable[[], Timed]) -> Timed:
        """Do a piece of work; do it again if the CPUs were not in their main state, while there is time for that.

        Returns
        -------
        object
            The result of the last try.
        """
        while True:
            before, began = self.now(), self._clock()
            done = work()
            if self.usual(before, self.now()):
                return done
            self._spent += self._clock() - began
            if self._spent > SHARE * (self._clock() - self._began) + GRACE_S:
                self.elsewhere += 1
                return done
            self.again += 1

    def usual(self, before: float, after: float) -> bool:
        """Return True if two readings are of the main state; a reading that is not known does not matter."""
        known = [ns for ns in (before, after) if not math.isnan(ns)]
        if self._clock() - self._known > REFRESH_S or self._states.count < FEW:
            self._states, self._known = self.log.placement(self._cpus), self._clock()
        return bool(self._states.is_main(known, known).all()) if known else True

    def said(self) -> str:
        """Return a text on what was timed again and what was not; empty if the CPUs never moved."""
        states = self.log.placement(self._cpus).states
        if not (self.again or self.elsewhere):
            return ""
        levels = " and ".join(f"{state.ns:.0f} ns ({state.share:.0%} of the time)" for state in states)
        left = f"; {self.elsewhere} of another state were kept for lack of time" if self.elsewhere else ""
        times = "timing was" if self.again == 1 else "timings were"
        return f"the host moved the CPUs: a hand-off of a line takes {levels}; {self.again} {times} taken again{left}"
