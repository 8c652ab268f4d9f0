"""The accesses of a machine's programs to the lines of its arrays.

    elements of an array        their lines, in their order
    a loop that writes          the lines of the elements that it has changed, in ascending order
    a loop that only reads      the lines of as many elements as it has read, from the processor's block on; for each
                                element of its chain, a line at random instead

The operations of a loop are charged as those of any loop, so the bytes that it moves take no further time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from smp.machines import MachineFile

from ...memory.arrays import GlobalArray
from ...memory.indices import selected, without_field
from ...memory.shared_elements import elements_of
from ...program.processor import share
from ...protocols import wait
from ..caches.memory import Caches, Copy
from ..clocked.emulator import ClockedEmulator
from ..port import Whole
from .copying import Copying

_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples are spread evenly


class Accesses:
    """The caches of one machine, and the accesses of its processors to lines.

    Parameters
    ----------
    file : MachineFile
        A machine whose memory is shared on a bus or by a directory.
    whole : bool
        Whether the words of the runtime go through the caches, too, and not only arrays and cells.
    """

    caches: Caches

    def __init__(self, file: MachineFile, whole: bool) -> None:
        self._file, self._whole = file, whole

    def open(self, processors: Whole) -> None:
        """Make the caches of a machine that is being opened."""
        segment, size = processors.segment, processors.size
        emulator, shared = cast("ClockedEmulator", processors.emulator), segment.words(0, wait.SHARED_WORDS)
        self._size = size
        self.caches = Caches(self._file, size, segment, 0 if self._whole else segment.start)
        self._copying = Copying(size, emulator, self.caches, lambda: bool(shared[wait.ABORT]))
        emulator.use_caches(self.caches.address)

    def clear(self) -> None:
        """Begin a new run, with empty caches."""
        self._copying.clear()

    def copy(self, rank: int, copy: Copy) -> None:
        """Take the time of a copy by a processor."""
        if copy.item and (copy.positions is None or len(copy.positions)):
            self._copying.copy(rank, copy)

    def elements(self, rank: int, array: GlobalArray, index: Any, writes: bool) -> None:
        """Take the time of a copy of the elements that an index selects."""
        found = selected(array.shape, without_field(index)[1])
        base, item = elements_of(array).block.offset, array.dtype.itemsize
        if found.positions is not None:
            self.copy(rank, Copy(writes, base, item, found.positions))
        else:
            self.copy(rank, Copy(writes, base + found.start * item, found.size * item))

    def loop(self, rank: int, arrays: Sequence[GlobalArray], run: Callable[[], Any]) -> Any:
        """Run a loop on arrays, take the time of its accesses, and return what it returns."""
        before = [elements_of(array).all.copy() for array in arrays]
        returned = run()
        changed = [_changed(old, elements_of(array).all) for old, array in zip(before, arrays, strict=True)]
        for array, positions in zip(arrays, changed, strict=True):
            self._lines(rank, array, positions, writes=True)
        if not any(map(len, changed)) and arrays[0].size:
            count, chain = returned if isinstance(returned, tuple) else (returned, 0)
            if isinstance(count, int | np.integer):
                self._lines(rank, arrays[0], self._assumed(rank, arrays[0].size, int(count), int(chain)), writes=False)
        return returned

    def _lines(self, rank: int, array: GlobalArray, positions: NDArray[np.intp], writes: bool) -> None:
        base, item = elements_of(array).block.offset, array.dtype.itemsize
        self.copy(rank, Copy(writes, base, item, positions, bytes=False))

    def _assumed(self, rank: int, size: int, count: int, chain: int) -> NDArray[np.intp]:
        """Return assumed positions of elements that a loop has read from a flat array."""
        start = share(size, rank, self._size).start
        positions: NDArray[np.intp] = (start + np.arange(count, dtype=np.intp)) % size
        spread = np.arange(1, chain + 1, dtype=np.uint64) * np.uint64(_SPREAD) >> np.uint64(32)
        positions[:chain] = (spread * np.uint64(size) >> np.uint64(32)).astype(np.intp)
        return positions


def _changed(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of the elements whose bytes have changed."""
    differs = _octets(before) != _octets(after)
    return np.flatnonzero(differs.any(axis=1)).astype(np.intp, copy=False)


def _octets(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize)
