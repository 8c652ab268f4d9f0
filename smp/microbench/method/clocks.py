"""The clocks of this computer, and the time that it takes to read them.

The clock rate is an estimate, since no hardware counter is read. It comes from the time of a chain of operations. Each
operation needs the result of the one before, and is assumed to last one cycle:

    x ^= a;  x += b;  x ^= a;  x += b; ...

The exclusive or and the addition of two registers last one cycle on today's x86-64 and ARM64 processors, and a
compiler cannot shorten a chain that mixes the two. (Additions of constants would not do: some processors fold
them while renaming registers.)
"""

import contextlib
import resource
import time
from dataclasses import dataclass

import numpy as np
import psutil
from numpy.typing import NDArray

from smp._computer.system import affinity, stolen_ns
from smp._runtime.loops.atomics import clock
from smp._runtime.loops.compiler import local

CHAIN = 32_768
"""Operations in one look at the clock rate, which takes about 10 us."""
LOOKS = 5


@dataclass(frozen=True)
class ClockRate:
    """The clock rate of the processor.

    Parameters
    ----------
    GHz : float
        Estimated rate.
    reported_GHz : float or None
        Rate that the operating system reports, which on a virtual machine is often the nominal rate.
    """

    GHz: float
    reported_GHz: float | None

    @property
    def source(self) -> str:
        """Origin of the estimate, together with the rate that the system reports."""
        reported = "none" if self.reported_GHz is None else f"{self.reported_GHz:.2f} GHz"
        return f"estimate (a chain of exclusive ors and additions, one cycle each); system reports {reported}"


@local
def _empty_windows(costs: NDArray[np.int64]) -> None:
    for i in range(costs.size):
        start = clock()
        costs[i] = clock() - start


@local
def _shortest_chain(operations: int, looks: int, a: int, b: int) -> tuple[int, int]:
    """Return the shortest time of a chain in ns, and its value, which keeps the compiler from dropping the chain."""
    shortest = 1 << 62
    x = a
    for _ in range(looks):
        start = clock()
        for _ in range(operations // 16):
            x = (x ^ a) + b
            x = (x ^ a) + b
            x = (x ^ a) + b
            x = (x ^ a) + b
            x = (x ^ a) + b
            x = (x ^ a) + b
            x = (x ^ a) + b
            x = (x ^ a) + b
        shortest = min(shortest, clock() - start)
    return shortest, x


def timer_cost() -> float:
    """Return the time in ns that an empty compiled window shows, as the median of 1,001 windows."""
    costs = np.zeros(1001, np.int64)
    _empty_windows(costs)
    return float(np.median(costs))


def estimate_GHz(timer_ns: float, looks: int = LOOKS) -> float:
    """Return the current clock rate, from the shortest of some looks of about 10 us each.

    Parameters
    ----------
    timer_ns : float
        Result of `timer_cost`.
    looks : int

    Returns
    -------
    float
        Clock rate in cycles per ns.
    """
    shortest, _ = _shortest_chain(CHAIN, looks, 0x5DEECE66D, 0x9E3779B97F4A)
    return CHAIN / (shortest - timer_ns)


def clock_rate() -> ClockRate:
    """Return the clock rate, estimated over some milliseconds, together with the rate that the system reports."""
    reported = None
    with contextlib.suppress(OSError, NotImplementedError, AttributeError):  # psutil finds no rate
        frequency = psutil.cpu_freq()
        reported = frequency.current / 1000 if frequency and frequency.current else None
    return ClockRate(estimate_GHz(timer_cost(), looks=200), reported)


class HostClock:
    """The clocks and counters of this computer, for `rounds.measure_points`.

    Making one takes a few ms. The first use ever compiles two loops. Its counters are those of the thread that uses it.
    """

    def __init__(self) -> None:
        self.timer_ns = timer_cost()
        self._usage = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)

    def wall(self) -> int:
        """Return the time of CLOCK_MONOTONIC in ns, the clock that compiled loops read."""
        return time.monotonic_ns()

    def cpu(self) -> int:
        """Return the CPU time of this thread in ns."""
        return time.thread_time_ns()

    def stolen(self) -> int:
        """Return the time stolen from this thread's CPUs in ns; 0 if the system does not count it."""
        return stolen_ns(affinity()) or 0

    def switches(self) -> int:
        """Return the number of context switches of this thread, voluntary or not."""
        usage = resource.getrusage(self._usage)
        return usage.ru_nvcsw + usage.ru_nivcsw

    def rate(self) -> float:
        """Return the current clock rate in GHz; costs about 50 us."""
        return estimate_GHz(self.timer_ns)
