"""Counts a thread's page faults, and measures the time that one of them takes."""

from __future__ import annotations

import functools
import mmap
import time

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # not a Linux system: faults are not counted by thread

    def page_faults() -> int:
        """Return 0: the system does not count page faults by thread."""
        return 0
else:

    def page_faults() -> int:
        """Return the number of page faults of the calling thread so far, minor and major."""
        used = getrusage(RUSAGE_THREAD)
        return used.ru_minflt + used.ru_majflt


_REGION = 1 << 20  # bytes


@functools.cache  # so that a run gets the same description every time
def seconds_of_a_fault(attempts: int = 3) -> float:
    """Measure the seconds per page fault when memory is first touched, including the clearing of the memory.

    Return 0 if no page fault is seen.
    """
    found = []
    for _ in range(attempts):
        with mmap.mmap(-1, _REGION, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as region:
            faults, began = page_faults(), time.perf_counter()
            for at in range(0, _REGION, mmap.PAGESIZE):
                region[at] = 1
            seconds, faults = time.perf_counter() - began, page_faults() - faults
        if faults:
            found.append(seconds / faults)
    return min(found, default=0.0)
