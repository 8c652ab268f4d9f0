"""One processor's connection to a machine that is made from a profile.

copies       measured as the code of the program, and what they take more because the others copy as well; or,
             if that code is not measured, what the profile says
loops        on global arrays: likewise
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...memory.arrays import GlobalArray
from ...memory.indices import selected, without_field
from ...program.port import Buffer
from ...protocols import wait
from ...shared_memory.port import SharedMemoryPort
from ..port import EmulatedPort, Whole
from ..virtual_time import SECOND
from .emulator import ComputerEmulator
from .settings import Settings

OF_A_SUPERSTEP = " of superstep "
"""Part of the description of each barrier of a superstep."""


class ComputerPort(EmulatedPort):
    """One processor's connection to its machine; see `Port`."""

    def __init__(self, processors: Whole, rank: int, settings: Settings) -> None:
        super().__init__(processors, rank)
        assert isinstance(processors.emulator, ComputerEmulator)
        self._emulator, self._settings = processors.emulator, settings
        self._watch, self._memory = processors.emulator.watch, settings.memory
        self._barriers, self._lines = settings.barriers, None
        if rank == 0 and processors.size > 1:
            self._lines = processors.emulator.words = settings.lines(processors.emulator)

    def new_run(self) -> None:
        super().new_run()
        if self.rank == 0:
            self._memory.begin()
            if self._lines is not None:
                self._lines.begin()

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        ran = self._watch.stop()
        try:
            return super().allocate(shape, dtype)
        finally:
            self._watch.go(ran)

    def clock(self) -> float:
        ran = self._watch.stop()
        now = self._emulator.picoseconds()
        self._watch.go(ran)
        return now / SECOND

    # Global arrays.

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        local = SharedMemoryPort.get(self, array, index, out)
        ran = self._watch.stop()
        self._emulator.pass_picoseconds(self._memory.copy(array, index, local.size, writes=False))
        self._watch.go(ran)
        return local

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        SharedMemoryPort.put(self, array, index, values)
        ran = self._watch.stop()
        count = selected(array.shape, without_field(index)[1]).size
        self._emulator.pass_picoseconds(self._memory.copy(array, index, count, writes=True))
        self._watch.go(ran)

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        returned = super().call(loop, arrays, args)
        ran = self._watch.stop()
        count = returned[0] if isinstance(returned, tuple) and returned else returned
        if isinstance(count, int | np.integer) and count > 0:
            self._emulator.pass_picoseconds(self._memory.loop(arrays, int(count)))
        self._watch.go(ran)
        return returned

    # Barriers.

    def arrive(self, description: str, vote: bool = False, block: Sequence[Buffer] | None = None) -> int:
        ran = self._watch.stop()
        try:
            self._arriving()
            return super().arrive(description, vote, block)
        finally:
            self._watch.go(ran)

    def leave(self, ticket: int, description: str, timeout: float | None = None) -> int:
        ran = self._watch.stop()
        try:
            found = super().leave(ticket, description, timeout)
            self._left(ticket, description)
            return found
        finally:
            self._watch.go(ran)

    def synchronise(self, description: str, timeout: float | None = None, vote: bool = False) -> int:
        ran = self._watch.stop()
        try:
            ticket = self._arriving()
            found = super().synchronise(description, timeout, vote)
            self._left(ticket, description)
            return found
        finally:
            self._watch.go(ran)

    def _arriving(self) -> int:
        """Note that this processor comes to a barrier; return the number of the barrier."""
        ticket = int(self.memory.sync[wait.ROUND]) if self._overdue is None else self._overdue
        self._barriers.arrive(ticket, self._emulator.picoseconds())
        return ticket

    def _left(self, ticket: int, description: str) -> None:
        """Let the time pass until a barrier is over."""
        over = self._barriers.over(ticket, OF_A_SUPERSTEP in description)
        self._emulator.pass_picoseconds(max(0, over - self._emulator.picoseconds()))
