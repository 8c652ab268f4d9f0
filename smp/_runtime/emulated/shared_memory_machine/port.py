"""One processor's connection to a machine with caches: its copies are accesses to lines.

    copy_in, copy_out           the lines of the elements, in their order, and the time of their bytes
    copy_out_by                 the lines that the loop has changed, in ascending order
    copy_in_by                  the lines of as many elements as the loop has read, from this processor's block on;
                                for each element of its chain, a line at random instead
    collectives                 the lines of the blocks that a processor writes and reads

The operations of a loop are charged as those of any loop.  The values themselves are copied at once: a superstep reads
nothing that is written in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...memory.arrays import GlobalArray
from ...memory.indices import selected, without_field
from ...memory.shared_elements import elements_of
from ...program.processor import share
from ...protocols import wait
from ...shared_memory.layout import SETS, SLOT
from ..caches.memory import Caches, Copy
from ..clocked.emulator import ClockedEmulator
from ..port import EmulatedPort, Whole
from .copying import Copying

_FAR = (1 << 32) + SLOT  # distance between the blocks of a collective, which lie beyond the memory of arrays
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples are spread evenly


class Shared:
    """The caches of one machine, and the copies through them."""

    def __init__(self, caches: Callable[[Whole], Caches]) -> None:
        self._make = caches

    def connect(self, processors: Whole, rank: int) -> CachedPort:
        """Return the port of a processor."""
        if rank == 0:
            emulator, shared = (
                cast("ClockedEmulator", processors.emulator),
                processors.segment.words(0, wait.SHARED_WORDS),
            )
            self.caches = self._make(processors)
            self.copying = Copying(processors.size, emulator, self.caches, lambda: bool(shared[wait.ABORT]))
            emulator.use_caches(self.caches.address)
        return CachedPort(processors, rank, self)


class CachedPort(EmulatedPort):
    """One processor's connection to a machine with caches; see `Port`."""

    def __init__(self, processors: Whole, rank: int, shared: Shared) -> None:
        super().__init__(processors, rank)
        self._shared = shared
        self._blocks_at = processors.segment.size

    def new_run(self) -> None:
        super().new_run()
        if self.rank == 0:
            self._shared.copying.clear()

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        local = super().get(array, index, out)
        self._access(array, index, False)
        return local

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        super().put(array, index, values)
        self._access(array, index, True)

    def _access(self, array: GlobalArray, index: Any, writes: bool) -> None:
        """Take the time of the accesses to selected elements."""
        found = selected(array.shape, without_field(index)[1])
        base, item = elements_of(array).block.offset, array.dtype.itemsize
        if found.positions is not None:
            self._copy(Copy(writes, base, item, found.positions))
        else:
            self._copy(Copy(writes, base + found.start * item, found.size * item))

    def _copy(self, copy: Copy) -> None:
        if copy.item and (copy.positions is None or len(copy.positions)):
            self._shared.copying.copy(self.rank, copy)

    # Loops on global arrays.

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        before = [elements_of(array).all.copy() for array in arrays]
        returned = super().call(loop, arrays, args)
        changed = [_changed(old, elements_of(array).all) for old, array in zip(before, arrays, strict=True)]
        for array, positions in zip(arrays, changed, strict=True):
            self._lines(array, positions, writes=True)
        if not any(map(len, changed)):
            count, chain = returned if isinstance(returned, tuple) else (returned, 0)
            if isinstance(count, int | np.integer) and count > 0 and arrays[0].size:
                self._lines(arrays[0], self._assumed(arrays[0].size, int(count), int(chain)), writes=False)
        return returned

    def _lines(self, array: GlobalArray, positions: NDArray[np.intp], writes: bool) -> None:
        copy = Copy(writes, elements_of(array).block.offset, array.dtype.itemsize, positions, bytes=False)
        self._copy(copy)

    def _assumed(self, size: int, count: int, chain: int) -> NDArray[np.intp]:
        """Return assumed positions of elements that a loop has read from a flat array."""
        positions: NDArray[np.intp] = (share(size, self.rank, self.size).start + np.arange(count, dtype=np.intp)) % size
        spread = np.arange(1, chain + 1, dtype=np.uint64) * np.uint64(_SPREAD) >> np.uint64(32)
        positions[:chain] = (spread * np.uint64(size) >> np.uint64(32)).astype(np.intp)
        return positions

    # Collectives.

    def priced(self, name: str, read: int, written: int) -> None:
        """Let a collective that has just ended take the time of the blocks that this processor wrote and read."""
        self._blocks(True, np.array([self.rank]), written)
        self._blocks(False, np.arange(self.size), -(-read // self.size))

    def _blocks(self, writes: bool, of: NDArray[np.intp], nbytes: int) -> None:
        """Access the blocks of the given processors in the last collective, each with a number of bytes."""
        caches, turn = self._shared.caches, (int(self.memory.sync[wait.ROUND]) - 1) % SETS
        starts = (self._blocks_at + (turn * self.size + of) * _FAR) // caches.line
        lines = starts[:, np.newaxis] + np.arange(-(-nbytes // caches.line))
        self._copy(Copy(writes, 0, caches.line, lines.reshape(-1).astype(np.intp, copy=False), bytes=False))
        self._processors.emulator.pass_picoseconds(caches.time_of_bytes(writes, nbytes * len(of)))


def _changed(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of the elements whose bytes have changed."""
    differs = _octets(before) != _octets(after)
    return np.flatnonzero(differs.any(axis=1)).astype(np.intp, copy=False)


def _octets(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize)
