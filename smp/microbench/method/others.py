"""Measure the share of the CPUs that other processes take while this program measures.

    all time of the CPUs  =  idle  +  this program's processes  +  others, the hypervisor among them

A stream that sleeps, or takes turns on a CPU, is off the CPU anyway, so its own CPU time does not show that other
processes kept it waiting.  Time that is neither idle nor used by this program does show it.  The system counts idle
time in ticks, so a share is taken over some tenths of a second.
"""

from __future__ import annotations

import contextlib
import time
from typing import NamedTuple

import numpy as np
import psutil
from numpy.typing import NDArray

from smp._computer.system import affinity, idle_ns
from smp._runtime.host.launcher import fork_servers

STRETCH_NS = 200_000_000
"""Shortest time over which a share is taken; one tick of each of two CPUs is 5% of it."""


class Reading(NamedTuple):
    """One reading in ns: the clock, the idle time of some CPUs so far, and the CPU time of some processes so far."""

    wall_ns: int
    idle_ns: int
    own_ns: int


class Others:
    """Reads the idle time of this thread's CPUs, and the CPU time of this process and of the machines it has open."""

    def __init__(self) -> None:
        self._cpus, self._readings = affinity(), list[Reading]()
        self._machines: list[psutil.Process] = []
        for pid in fork_servers():
            with contextlib.suppress(psutil.Error):  # the server has ended meanwhile
                server = psutil.Process(pid)
                self._machines += [server, *server.children(recursive=True)]

    def note(self) -> None:
        """Take a reading; it ends one stretch of time and begins the next."""
        idle = idle_ns(self._cpus)
        if idle is not None:
            self._readings.append(Reading(time.monotonic_ns(), idle, self._own_ns()))

    def shares(self) -> NDArray[np.float64]:
        """Return the share taken by others between each `note` and the next; empty if the system does not count it."""
        return shares(self._readings, len(self._cpus))

    def _own_ns(self) -> int:
        found = time.process_time_ns()
        for process in self._machines:
            with contextlib.suppress(psutil.Error):  # the process has ended
                used = process.cpu_times()
                found += int(1e9 * (used.user + used.system))
        return found


def shares(readings: list[Reading], cpus: int) -> NDArray[np.float64]:
    """Return the share of some CPUs' time, 0 to 1, that others have taken between each reading and the next.

    Stretches shorter than `STRETCH_NS` are judged together with the stretches around them.

    Examples
    --------
    >>> [float(share) for share in shares([Reading(0, 0, 0), Reading(10**9, 5 * 10**8, 5 * 10**8)], cpus=2)]
    [0.5]
    """
    made = np.asarray(readings, np.int64).reshape(-1, 3)
    last, found = len(made) - 1, []
    for first in range(last):
        begin, end = first, first + 1
        while made[end, 0] - made[begin, 0] < STRETCH_NS and (begin > 0 or end < last):
            begin, end = max(0, begin - 1), min(last, end + 1)
        wall, idle, own = made[end] - made[begin]
        found.append(1.0 - (idle + own) / max(1, cpus * wall))
    return np.clip(np.array(found, np.float64), 0.0, 1.0)
