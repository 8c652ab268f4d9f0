"""Memory for pointer chases, private (in small or huge pages) or of a global array, and the huge pages it really got.

    |..slack..|======= words =======|..slack..|      private: one mapping; the words begin on a huge page
               advised huge or not

A request for huge pages is only advice to the kernel. ``/proc/self/smaps`` shows if the kernel followed it. The advised
part is an area of its own there, since the slack around it is not advised.
"""

from __future__ import annotations

import contextlib
import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smp._runtime.memory.segment import Segment

HUGE = 2 << 20
"""Bytes of a huge page on most systems. If huge pages are larger, an array with this alignment gets none."""
SMAPS = Path("/proc/self/smaps")


class Pages:
    """Zeroed private memory, which is freed together with its last view.

    Parameters
    ----------
    nbytes : int
        Size in bytes, rounded up to whole words.
    huge : bool
        True to ask the kernel for huge pages, False to decline them.

    Attributes
    ----------
    words : int64 array
    address : int
        Address of the first word, a multiple of `HUGE`.
    """

    def __init__(self, nbytes: int, huge: bool) -> None:
        self.huge = huge
        self.length = -(-nbytes // HUGE) * HUGE
        memory = mmap.mmap(-1, self.length + HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        whole = np.frombuffer(memory, np.int64)
        slack = -int(whole.ctypes.data) % HUGE
        advice = getattr(mmap, "MADV_HUGEPAGE" if huge else "MADV_NOHUGEPAGE", None)
        if advice is not None:
            with contextlib.suppress(OSError):  # a kernel without huge pages gives small ones anyway
                memory.madvise(advice, slack, self.length)
        self.words: NDArray[np.int64] = whole[slack // 8 : slack // 8 + -(-nbytes // 8)]
        self.address = int(self.words.ctypes.data)


class GlobalPages:
    """Zeroed memory of a machine's segment, allocated like a global array and freed together with its last view.

    Parameters
    ----------
    segment : Segment
    nbytes : int
        Size in bytes, a multiple of 8.

    Attributes
    ----------
    words, address
        As in `Pages`, but the address of a small array is only aligned to a small page.
    """

    def __init__(self, segment: Segment, nbytes: int) -> None:
        self.length = nbytes
        self.words: NDArray[np.int64] = np.asarray(segment.allocate(nbytes)).view(np.int64)
        self.address = int(self.words.ctypes.data)


def huge_bytes(pages: Pages | GlobalPages, smaps: str | None = None) -> int:
    """Return the number of bytes that the kernel backs with huge pages; only touched memory has any.

    Parameters
    ----------
    pages : Pages or GlobalPages
    smaps : str, optional
        Text of ``/proc/self/smaps``. By default it is read now, which takes about 10 ms a GiB.
    """
    return huge_between(pages.address, pages.address + pages.length, read_smaps() if smaps is None else smaps)


def read_smaps() -> str:
    """Return the text of ``/proc/self/smaps``; empty if it cannot be read."""
    try:
        return SMAPS.read_text()
    except OSError:
        return ""


def huge_between(start: int, end: int, smaps: str) -> int:
    """Return the bytes in huge pages, private or shared, of the areas that lie between two addresses.

    Examples
    --------
    >>> huge_between(0x200000, 0x400000, "200000-400000 rw-p 0 00:00 0\\nRss: 9 kB\\nAnonHugePages: 2048 kB\\n")
    2097152
    """
    found, inside = 0, False
    for line in smaps.splitlines():
        name, *rest = line.split()
        low, dash, high = name.partition("-")
        if dash and not name.endswith(":"):
            inside = start <= int(low, 16) and int(high, 16) <= end
        elif inside and name in ("AnonHugePages:", "ShmemPmdMapped:", "Shared_Hugetlb:", "Private_Hugetlb:"):
            found += int(rest[0]) * 1024
    return found
