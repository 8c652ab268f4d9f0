"""The shared memory of a machine as one processor uses it: its words, streams, cells and pages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.page_faults import page_faults
from smp._computer.perf_events import Counters

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells, cells_on
from ..memory.segment import PAGE, Segment
from ..memory.shared_elements import elements_of
from ..program.processor import share
from ..protocols import wait, waiters
from ..protocols.entry_points import core
from ..protocols.placement import UNKNOWN
from .slots import Slots


class ProcessorMemory:
    """The shared memory of a machine as one processor uses it; see `SharedMemory`.

    Parameters
    ----------
    segment : Segment
        The machine's segment, with the threads of this process.
    retries : int
        Number of looks after which a waiting thread blocks.
    ask : callable
        ``ask(nbytes) -> offset`` asks the parent for a block of memory.
    entries : optional
        The runtime's entry points: machine code (`entry_points.core`), or a substitute for it.

    Attributes
    ----------
    shared, sync : int64 array
        The words that all processors share, and the words of this processor (see ``wait``).
    slots : Slots
        The slots of all processors.
    """

    def __init__(
        self, segment: Segment, rank: int, size: int, retries: int, ask: Callable[[int], int], entries: Any = None
    ) -> None:
        assert segment.threads is not None
        self._core: Any = core() if entries is None else entries
        self.fold: Callable[[int, int], int] | None = self._core.fold if entries is None else None
        self.segment, self.threads = segment, segment.threads
        self.ask, self._rank, self._size = ask, rank, size
        self.shared = segment.words(0, wait.SHARED_WORDS)
        self.sync = np.zeros(wait.PRIVATE_WORDS, np.int64)
        self.sync[[wait.SHARED, wait.SIZE, wait.RETRIES]] = segment.address, size, retries
        self.sync[wait.SLICE] = wait.MOMENT
        self.slots = Slots(segment, rank, size, self.sync, ask)

    def sync_here(self) -> NDArray[np.int64]:
        self.sync[wait.RECORD_AT] = self.threads.own().address
        return self.sync

    def touch(self, array: GlobalArray) -> None:
        block = elements_of(array).block
        self.segment.ask_for_huge_pages(block.offset, block.nbytes)
        octets: NDArray[np.uint8] = np.asarray(block)
        mine = share(octets.size, self._rank, self._size)
        octets[mine][::PAGE] = 0  # the octets are 0 already

    def faults(self) -> int:
        return page_faults()

    def hardware(self) -> Counters:
        return Counters()

    def operations(self) -> tuple[int, int, int]:
        reads = writes = loops = 0
        for stream in self.threads.streams:
            if (stream.reads or stream.writes or stream.loops) and stream.words[waiters.RANK] == self._rank:
                reads, writes, loops = reads + stream.reads, writes + stream.writes, loops + stream.loops
                stream.reads = stream.writes = stream.loops = 0
        return reads, writes, loops

    def placement(self) -> float:
        if self._size < 2 or not self.sync[wait.RETRIES]:  # if waits do not spin, processors share CPUs
            return math.nan
        found = core().probe(self.sync.ctypes.data, self._rank, self._size)
        return math.nan if found == UNKNOWN else found / 1e3

    def raise_flag(self, up: bool) -> None:
        self._core.raise_flag(self.sync.ctypes.data, 1 if up else -1)

    def any_flag(self) -> bool:
        return bool(self._core.any_flag(self.sync.ctypes.data))

    def cells(self, array: GlobalArray, n: int, dtype: np.dtype[Any], words: int, retries: int) -> Cells:
        return cells_on(elements_of(array).block, n, dtype, words, retries)

    def new_run(self) -> None:
        """Forget the previous run; the parent has cleared the barrier."""
        self.sync_here()
        self.sync[wait.ROUND :] = 0
        self.slots.new_run()
