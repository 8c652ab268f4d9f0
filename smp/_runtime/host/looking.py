"""How the CPUs lie while something is timed in this process: looks before and after, and one more try where they moved.

    look │ timed │ look        both in the main state, or not known: it counts
    look │ timed │ look        otherwise: it is timed again, while there is time for that

A look is the hand-over of a line between neighbouring CPUs (`protocols.placement`), by a thread on each: about 1 ms.
The states last for seconds, so one that was taken a moment ago is good for both sides of a short timing.
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
"""Of a look: a thread that came late to its CPU costs one."""
MEETING_S = 1.0
"""How long the threads of a look wait for one another."""
FRESH_S = 0.02
"""How long a look is good for."""
REFRESH_S, FEW = 0.5, 50
"""How long the states are taken for known, from so many readings on."""
SHARE, GRACE_S = 0.5, 2.0
"""What goes into timing again: at most so much of all time, and these seconds."""

Timed = TypeVar("Timed")


def look(cpus: Sequence[int] | None = None) -> float:
    """Return the hand-over of a line between neighbours of some CPUs, the farthest, in ns.

    Parameters
    ----------
    cpus : sequence of int, optional
        By default those that this process may use, at most 8.

    Returns
    -------
    float
        NaN where there are fewer than two, where threads cannot be kept on a CPU, or where none of a few tries met its
        neighbour.
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
    """What a thread on each CPU finds, in picoseconds."""
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
    """Times things while the CPUs lie as they mostly do.

    Parameters
    ----------
    looking : callable, optional
        Returns a reading in ns, NaN where it is not known; by default `look`.
    clock : callable, optional
        Seconds.

    Attributes
    ----------
    log : PlacementLog
    again : int
        How often something was timed once more because the CPUs had moved.
    elsewhere : int
        How many were left as they were, since the time for that was over.
    """

    def __init__(self, looking: Callable[[], float] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.log, self.again, self.elsewhere = PlacementLog(), 0, 0
        self._looking, self._clock, self._cpus = looking or look, clock, min(len(usable_cpus()), MOST_CPUS)
        self._began, self._spent = clock(), 0.0
        self._seen = -math.inf, math.nan
        self._states, self._known = Placement(), -math.inf

    def now(self) -> float:
        """Return how the CPUs lie: a look, or that of a moment ago."""
        at, ns = self._seen
        if self._clock() - at > FRESH_S:
            ns = self._looking()
            self._seen = self._clock(), ns
            self.log.note(self._cpus, self._seen[0], ns)
        return ns

    def time(self, work: Callable[[], Timed]) -> Timed:
        """Do a piece of work; do it again while the CPUs lay otherwise than mostly, and there is time for that.

        Returns
        -------
        object
            What the last try returned.
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
        """Return whether two readings are of the main state; one that is not known says nothing."""
        known = [ns for ns in (before, after) if not math.isnan(ns)]
        if self._clock() - self._known > REFRESH_S or self._states.count < FEW:
            self._states, self._known = self.log.placement(self._cpus), self._clock()
        return bool(self._states.is_main(known, known).all()) if known else True

    def said(self) -> str:
        """Say what was timed again, and what was not; nothing where the CPUs never moved."""
        states = self.log.placement(self._cpus).states
        if not (self.again or self.elsewhere):
            return ""
        levels = " and ".join(f"{state.ns:.0f} ns ({state.share:.0%} of the time)" for state in states)
        left = f"; {self.elsewhere} are of another state, since the time for that was over" if self.elsewhere else ""
        times = "timing was" if self.again == 1 else "timings were"
        return f"the host moved the CPUs: a line changes them in {levels}; {self.again} {times} taken again{left}"
