"""What other processes take of the CPUs while streams are measured that sleep and take turns.

    all time of the CPUs  =  idle  +  this program's processes  +  others, the hypervisor among them

A stream's own CPU time does not show that others kept it waiting, because it sleeps anyway.  The time that is neither
idle nor ours does.  The system counts idle time in ticks, so a share is taken over some tenths of a second.
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
"""The shortest time that a share is taken over: a tick of each of two CPUs is 5% of it."""


class Reading(NamedTuple):
    """Times in ns: the clock's, and all that some CPUs have been idle and some processes have run."""

    wall_ns: int
    idle_ns: int
    own_ns: int


class Others:
    """Reads the CPUs that this thread may use, and the CPU time of this process and of its machines open now."""

    def __init__(self) -> None:
        self._cpus, self._readings = affinity(), list[Reading]()
        self._machines: list[psutil.Process] = []
        for pid in fork_servers():
            with contextlib.suppress(psutil.Error):  # it has retired meanwhile
                server = psutil.Process(pid)
                self._machines += [server, *server.children(recursive=True)]

    def note(self) -> None:
        """Read now: a stretch begins or ends."""
        idle = idle_ns(self._cpus)
        if idle is not None:
            self._readings.append(Reading(time.monotonic_ns(), idle, self._own_ns()))

    def shares(self) -> NDArray[np.float64]:
        """Return what others have taken between each `note` and the next; empty where the system does not count."""
        return shares(self._readings, len(self._cpus))

    def _own_ns(self) -> int:
        found = time.process_time_ns()
        for process in self._machines:
            with contextlib.suppress(psutil.Error):  # one that has ended
                used = process.cpu_times()
                found += int(1e9 * (used.user + used.system))
        return found


def shares(readings: list[Reading], cpus: int) -> NDArray[np.float64]:
    """Return the share of the time of some CPUs that others have taken between each reading and the next, 0 to 1.

    Stretches shorter than `STRETCH_NS` are judged together with those around them.

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
