"""One processor's connection to a machine with caches: its copies and collectives are accesses to lines.

The values themselves are copied at once: a superstep reads nothing that is written in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...memory.arrays import GlobalArray
from ...protocols import wait
from ...shared_memory.layout import SETS, SLOT
from ..caches.memory import Copy
from ..port import EmulatedPort, Whole
from .accesses import Accesses

_FAR = (1 << 32) + SLOT  # distance between the blocks of a collective, which lie beyond the memory of arrays


class CachedPort(EmulatedPort):
    """One processor's connection to a machine with caches; see `Port`."""

    def __init__(self, processors: Whole, rank: int, accesses: Accesses) -> None:
        super().__init__(processors, rank)
        self._accesses, self._blocks_at = accesses, processors.segment.size
        if rank == 0:
            accesses.open(processors)

    def new_run(self) -> None:
        super().new_run()
        if self.rank == 0:
            self._accesses.clear()

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        local = super().get(array, index, out)
        self._accesses.elements(self.rank, array, index, writes=False)
        return local

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        super().put(array, index, values)
        self._accesses.elements(self.rank, array, index, writes=True)

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        run = super().call
        return self._accesses.loop(self.rank, arrays, lambda: run(loop, arrays, args))

    def priced(self, name: str, read: int, written: int, began: float, nbytes: int | None) -> None:
        """Let a collective that has just ended take the time of the blocks that this processor wrote and read."""
        self._blocks(True, np.array([self.rank]), written)
        self._blocks(False, np.arange(self.size), -(-read // self.size))

    def _blocks(self, writes: bool, of: NDArray[np.intp], nbytes: int) -> None:
        """Access the blocks of the given processors in the last collective, each with a number of bytes."""
        caches, turn = self._accesses.caches, (int(self.memory.sync[wait.ROUND]) - 1) % SETS
        starts = (self._blocks_at + (turn * self.size + of) * _FAR) // caches.line
        lines = starts[:, np.newaxis] + np.arange(-(-nbytes // caches.line))
        positions = lines.reshape(-1).astype(np.intp, copy=False)
        self._accesses.copy(self.rank, Copy(writes, 0, caches.line, positions, bytes=False))
        self._processors.emulator.pass_picoseconds(caches.time_of_bytes(writes, nbytes * len(of)))
