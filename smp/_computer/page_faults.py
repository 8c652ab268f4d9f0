"""Page faults: how many a thread has had, and what one takes."""

from __future__ import annotations

import functools
import mmap
import time

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # not a Linux system: threads are not told apart

    def page_faults() -> int:
        """Return 0: the system does not count page faults by thread."""
        return 0
else:

    def page_faults() -> int:
        """Return the page faults of the calling thread so far, minor and major."""
        used = getrusage(RUSAGE_THREAD)
        return used.ru_minflt + used.ru_majflt


_REGION = 1 << 20  # bytes


@functools.cache  # so that what is said of a run stays the same
def seconds_of_a_fault(attempts: int = 3) -> float:
    """Measure what a first touch takes for each page fault, the clearing of the memory included; 0 if none is seen."""
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
