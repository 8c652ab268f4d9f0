"""Notes that a processor with shared memory leaves for the parent: its board, and the abort word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..memory.cells import counters
from ..program.place import Place
from ..program.port import Diagnosis
from ..protocols import wait
from .last_seen import Board
from .layout import boards_at
from .memory import ProcessorMemory


class BoardDiagnosis(Board, Diagnosis):
    """Diagnosis by a board in shared memory (see `Diagnosis`); ``core`` has the entry points."""

    def __init__(self, memory: ProcessorMemory, rank: int, core: Any) -> None:
        super().__init__(memory.segment, boards_at(rank))
        self._memory, self._rank, self._core = memory, rank, core

    def place(self) -> Place:
        return self.seen()

    def fail(self) -> None:
        self._core.abort(self._memory.segment.address, wait.RAISED, self._rank)

    def cause(self) -> int:
        return int(self._memory.shared[wait.ABORT]) % 256

    def counters(self) -> NDArray[np.void]:
        return counters(self._memory.segment, self._rank)
