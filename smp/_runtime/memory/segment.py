"""The shared memory of one machine: one large anonymous segment, whose memory is provided when it is touched.

    ┌────────────┬──────────────────┬──────────────────────────────────────────────┐
    │ sync words │ boards and slots │ blocks of global arrays, page-aligned        │
    └────────────┴──────────────────┴──────────────────────────────────────────────┘
    0            page               HEADER(p)                        physical memory

The segment is a memfd, a file without a name.  When the last process that maps it dies, however it dies, the kernel
frees it.  Every process maps the whole segment when it starts, so an array is a pair (offset, shape), and making one
sends nothing.
Only the parent allocates blocks.  A block and its memory are freed when the last array on it is dropped.

If the system has set aside a pool of huge pages that holds as much as the rest of the memory, the segment can be in
the pool.  Touching a page that the pool cannot provide would be fatal.  All pages of the segment are therefore
reserved when it is made, and belong to the machine until it ends.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import io
import mmap
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.huge_pages import HUGE, Pages, granted_to_shared_memory, pool_bytes
from smp._computer.interrupt import HeldBack
from smp._computer.limits import address_space, available_memory, physical_memory
from smp.errors import MachineError, OutOfSharedMemory

if TYPE_CHECKING:
    from .threads import Threads
    from .witness import Witness

PAGE = mmap.PAGESIZE
MOMENT = 0.1
"""Seconds for which a look at the memory that is left holds. A look takes as long as making twenty small arrays."""
PART = 64
"""Until then, small blocks get one such part of what was left without another look."""

attached: dict[int, weakref.ref[Segment]] = {}
"""The segments that this process maps, by the inode of their memfd, which is the same in every process."""


def segment_of(inode: int) -> Segment | None:
    """Return the segment with the given inode; None if this process does not map it."""
    found = attached.get(inode)
    return found() if found is not None else None


class Block:
    """A range of bytes of a segment. Arrays on it keep it alive, and it is freed with the last of them."""

    def __init__(self, segment: Segment, offset: int, nbytes: int) -> None:
        self.offset, self.nbytes = offset, nbytes
        self.segment = segment

    @property
    def __array_interface__(self) -> dict[str, Any]:
        address = self.segment.address + self.offset
        return {"version": 3, "typestr": "|u1", "shape": (self.nbytes,), "data": (address, False)}


class Segment:
    """One machine's shared memory as this process sees it.

    Parameters
    ----------
    fd : int or None
        An inherited memfd to attach to; None makes a new segment, whose blocks this process allocates.
    header : int
        Number of bytes at the start that are not for arrays; only for a new segment.
    pool : bool
        True if a new segment may be in the system's pool of huge pages.

    Attributes
    ----------
    pages : {"small", "transparent", "pool"}
        Kind of pages that large blocks of a new segment are in; see `Pages`.
    start : int
        Offset of the first block of a new segment.
    allocations : int
        Number of blocks that were allocated so far.
    ended : bool
        Whether the processors of the machine have ended.
    """

    def __init__(self, fd: int | None = None, header: int = PAGE, pool: bool = False) -> None:
        self.owner = os.getpid() if fd is None else 0
        pooled = _in_the_pool(header) if pool and fd is None else None
        # A file object, because it closes itself when it is dropped.
        self.file, self._map = pooled or _in_ordinary_memory(fd, header)
        self.pages: Pages = "pool" if pooled else "transparent" if granted_to_shared_memory() else "small"
        about = os.fstat(self.file.fileno())
        self.size, self.id, self.start = about.st_size, about.st_ino, header
        self.address = int(np.frombuffer(self._map, np.uint8, 1).ctypes.data)
        self.ended = False
        self.rank: int | None = None  # rank of the processor that this process is; None in the parent
        self.threads: Threads | None = None  # the threads of this process
        self.witness: Witness | None = None  # records how its arrays are used
        self._free: list[tuple[int, int]] = [(header, self.size - header)]  # (offset, bytes), ascending
        self._blocks: dict[int, weakref.ref[Block]] = {}  # without callbacks: a Ctrl-C during a callback would be lost
        self.allocations = self._taken = 0
        self._granted, self._until = 0, 0.0  # bytes that may be allocated without a look, and until when
        self._lock = threading.Lock()
        self._returned: collections.deque[tuple[int, int]] = collections.deque()
        for inode in [inode for inode, other in attached.items() if other() is None]:
            attached.pop(inode, None)
        attached[self.id] = weakref.ref(self)

    def words(self, offset: int, count: int) -> NDArray[np.int64]:
        """View ``count`` int64 words at a byte offset."""
        return np.frombuffer(self._map, np.int64, count, offset)

    def bytes_at(self, offset: int, count: int) -> memoryview:
        """View ``count`` bytes at an offset."""
        return memoryview(self._map)[offset : offset + count]

    def block(self, offset: int, nbytes: int) -> Block:
        """Return the block at an offset: in the parent the one that was allocated, elsewhere a view of it.

        Raises
        ------
        MachineError
            In the parent, if it has been freed since.
        """
        if self.owner != os.getpid():
            return Block(self, offset, nbytes)
        known = self._blocks[offset]() if offset in self._blocks else None
        if known is None or known.nbytes != nbytes:
            raise MachineError(
                "a global array that no longer exists was sent here: an array that processors make ends with the run, "
                "unless the program returns it; an array of the machine ends with the last reference to it"
            )
        return known

    def blocks(self) -> list[tuple[int, int]]:
        """Return the offset and the length of each block that is allocated, in order."""
        found = ((offset, block()) for offset, block in sorted(self._blocks.items()))
        return [(offset, block.nbytes) for offset, block in found if block is not None and block.nbytes]

    def allocate(self, nbytes: int, what: str = "a global array") -> Block:
        """Allocate a block of zeroed memory; except in the pool, none of its memory has been touched.

        Raises
        ------
        OutOfSharedMemory
            If the block does not fit into the memory that is left, given what the machine's arrays hold already.
        """
        length = max(PAGE, -(-nbytes // PAGE) * PAGE)
        align = HUGE if length >= HUGE else PAGE
        with self._lock:
            self._take_back()
            if length > self._granted or time.monotonic() > self._until:
                self._grant(length, f"{what} of {nbytes:,} bytes")
            start = self._run_of(length, align)
            self._granted -= length
            block = Block(self, start, nbytes)
            self._taken += length
            self.allocations += 1
            self._blocks[start] = weakref.ref(block)
            weakref.finalize(block, self._give_back, start, length).atexit = False
        self.ask_for_huge_pages(start, length)
        return block

    def _grant(self, length: int, what: str) -> None:
        """Look whether a block fits into the memory that is left, and grant a small part of the rest to later ones."""
        left = self._left()
        if length > left:
            limited = "" if address_space() is None else ", or raise the limit on address space (ulimit -v)"
            raise OutOfSharedMemory(
                f"{what} does not fit: {left:,} bytes are left, and this machine's arrays hold {self._taken:,}; "
                f"free some arrays, or use smaller ones{limited}"
            )
        self._granted, self._until = length + (left - length) // PART, time.monotonic() + MOMENT

    def _left(self) -> int:
        """Return the number of bytes that can still be allocated."""
        space = sum(length for _, length in self._free)
        if self.pages == "pool":
            return space
        untouched = max(0, self._taken - os.fstat(self.file.fileno()).st_blocks * 512)
        return max(0, min(space, available_memory() - untouched))

    def _run_of(self, length: int, align: int) -> int:
        """Take ``length`` bytes from the first free run that is long enough; return their offset."""
        for k, (offset, space) in enumerate(self._free):
            start = -(-offset // align) * align
            if start + length <= offset + space:
                before, after = (offset, start - offset), (start + length, offset + space - start - length)
                self._free[k : k + 1] = [run for run in (before, after) if run[1] > 0]
                return start
        raise OutOfSharedMemory(f"there is no free run of {length:,} bytes in a segment of {self.size:,} bytes")

    def ask_for_huge_pages(self, offset: int, nbytes: int) -> None:
        """Ask for huge pages in this process's own mapping of a large block."""
        if nbytes >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):
                self._map.madvise(mmap.MADV_HUGEPAGE, offset, nbytes // PAGE * PAGE)

    def _give_back(self, offset: int, length: int) -> None:
        """Free a block's memory.

        This runs whenever the last reference to the block goes, even in the middle of `allocate`.
        """
        if os.getpid() != self.owner:  # a forked copy of the parent must not free the memory
            return
        with HeldBack(finalizing=True):
            if self.pages != "pool":
                with contextlib.suppress(OSError, ValueError):
                    self._map.madvise(mmap.MADV_REMOVE, offset, length)
            elif not self.file.closed:  # once it is closed, no other block follows in this place
                np.frombuffer(self._map, np.uint8, length, offset).fill(0)
            self._returned.append((offset, length))

    def _take_back(self) -> None:
        """Enter the freed blocks into the list of free runs."""
        while self._returned:
            offset, length = self._returned.popleft()
            del self._blocks[offset]
            self._taken -= length
            k = bisect.bisect(self._free, (offset, length))
            self._free.insert(k, (offset, length))
            for i in (k, k - 1):  # join with the run after it, then with the run before it
                if 0 <= i < len(self._free) - 1 and sum(self._free[i]) == self._free[i + 1][0]:
                    self._free[i : i + 2] = [(self._free[i][0], self._free[i][1] + self._free[i + 1][1])]

    def close(self) -> None:
        """Close the descriptor; the memory is freed with the last array on it."""
        self.ended = True
        self.file.close()


def _in_ordinary_memory(fd: int | None, header: int) -> tuple[io.FileIO, mmap.mmap]:
    """Map an inherited memfd, or a new one that reserves address space for all of the computer's memory.

    If the address space of a process is limited, a new one reserves half of what is left.
    """
    file = io.FileIO(os.memfd_create("smp") if fd is None else fd, "r+")
    if fd is None:
        total, space = physical_memory(), address_space()
        total = header + (total if space is None else min(total, space // 2))
        os.ftruncate(file.fileno(), total // HUGE * HUGE + HUGE)
    size = os.fstat(file.fileno()).st_size
    try:
        return file, mmap.mmap(file.fileno(), size, mmap.MAP_SHARED | getattr(mmap, "MAP_NORESERVE", 0))
    except OSError as error:
        raise MachineError(
            f"cannot reserve {size / 2**30:.0f} GiB of address space for shared memory ({error.strerror}); "
            "raise the limit on virtual memory (ulimit -v)"
        ) from error


def _in_the_pool(header: int) -> tuple[io.FileIO, mmap.mmap] | None:
    """Map a new memfd in huge pages of the pool, all of them reserved.

    Return None if the pool would hold less than the available memory, or if the pages cannot be reserved.
    """
    size = -(-(header + available_memory()) // HUGE) * HUGE
    if size > pool_bytes():
        return None
    try:
        file = io.FileIO(os.memfd_create("smp", os.MFD_CLOEXEC | os.MFD_HUGETLB | os.MFD_HUGE_2MB), "r+")
        os.ftruncate(file.fileno(), size)
        return file, mmap.mmap(file.fileno(), size, mmap.MAP_SHARED)
    except OSError:  # another process took the pages first, or this kernel has no such files
        return None
