"""One processor's connection to an emulated machine: the port of shared memory, in virtual time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smp._computer.perf_events import Counters

from ..memory.arrays import GlobalArray
from ..memory.overlaps import Overlaps
from ..memory.races import COPY_OUT, READ
from ..memory.segment import Block, Segment
from ..memory.shared_elements import array_on, elements_of
from ..program.port import Mismatch, Output
from ..protocols import wait
from ..shared_memory.memory import ProcessorMemory
from ..shared_memory.networks import SleepingNetwork
from ..shared_memory.port import SharedMemoryPort
from ..source.lines import Instruction
from .emulator import Emulator
from .networks.kinds import Kind
from .networks.queues import Queues
from .virtual_time import SECOND

RETRIES = 2
"""Number of looks before a wait blocks. It is small so that schedules stay short."""


class EmulatedSegment(Segment):
    """The memory of an emulated machine, whose processors use it in turn."""

    emulator: Callable[[], Emulator | None] = staticmethod(
        lambda: None
    )  # weak: the collector does not look into arrays

    @property
    def rank(self) -> int | None:
        emulator = self.emulator()
        return None if emulator is None else emulator.rank

    @rank.setter
    def rank(self, rank: int | None) -> None:
        """Do nothing: the emulator knows whose turn it is."""


class EmulatedMemory(ProcessorMemory):
    """The memory of an emulated machine as one processor uses it."""

    def sync_here(self) -> NDArray[np.int64]:
        return self.sync  # waits at the barrier need no note: the emulator knows the waiting streams

    def touch(self, array: GlobalArray) -> None:
        """Do nothing: all processors are in this process."""

    def faults(self) -> int:
        return 0  # they take no virtual time

    def hardware(self) -> Counters:
        return Counters(_no_counter)

    def placement(self) -> float:
        return math.nan


def _no_counter(attributes: bytes) -> int:
    raise OSError(0, "virtual time has no hardware counters")


class Whole(Protocol):
    """The machine as its ports use it."""

    size: int
    segment: EmulatedSegment
    emulator: Emulator
    entries: Any
    network: Kind
    queues: Queues
    overlaps: Overlaps
    ports: list[EmulatedPort]

    def own_block(self, nbytes: int) -> int:
        """Allocate a block for a processor, which lives until the run ends; return its offset."""

    def allocation(
        self, k: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> tuple[Block, tuple[int, ...], np.dtype[Any]]:
        """Return the block of the k-th allocation of this run, with the shape and dtype that made it."""

    def charge_copy(self, nbytes: int) -> None:
        """Advance virtual time by the price of a copy of the given number of bytes."""

    def refuse_wait(self, op: int) -> None:
        """Raise an error for an operation on a cell that may wait, if a handler of a message calls it."""


class EmulatedPort(SharedMemoryPort):
    """One processor's connection to its emulated machine."""

    def __init__(self, processors: Whole, rank: int) -> None:
        entries = processors.entries
        memory = EmulatedMemory(processors.segment, rank, processors.size, RETRIES, processors.own_block, entries)
        memory.sync[wait.SLICE] = wait.EVER  # sleeps have no time limit, so that a lost wake-up shows
        super().__init__(memory, rank, processors.size, Output(), entries)
        self._processors = processors

    def clock(self) -> float:
        return self._processors.emulator.picoseconds() / SECOND

    def now(self) -> int:
        return self._processors.emulator.time()

    def work(self, cycles: float, seconds: float) -> None:
        emulator = self._processors.emulator
        emulator.compute(emulator.of_cycles(cycles) + round(seconds * SECOND))

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Return an array on the block of this processor's next allocation, the k-th of the run.

        The first processor that comes to the k-th allocation makes its block, without a step.
        """
        self.doing = f"allocation of {dtype}{list(shape)}"
        self._refuse_inside(self.doing)
        self.diagnosis.here()
        block, first_shape, first_dtype = self._processors.allocation(self._taken, shape, dtype)
        self._taken += 1
        if (first_shape, first_dtype) != (shape, dtype):
            self.core.abort(self.memory.segment.address, wait.MISMATCHED, -1)
            raise Mismatch(self.doing)
        return array_on(block, shape, dtype)

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        local = super().get(array, index, out)
        self._look(array, index, READ)
        self._processors.charge_copy(local.nbytes)
        return local

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        super().put(array, index, values)
        self._look(array, index, COPY_OUT)
        self._processors.charge_copy(np.asarray(values).nbytes)

    def expect(self, array: GlobalArray, index: Any, values: NDArray[Any], step: int, called: Instruction) -> None:
        self._processors.overlaps.write(elements_of(array).all, index, values, self.rank, step, called)

    def _look(self, array: GlobalArray, index: Any, kind: int) -> None:
        witness = self.memory.segment.witness
        if witness is not None:
            witness.copied(elements_of(array).all, index, kind)

    def _make_network(self) -> SleepingNetwork:
        made, queues = self._processors.network.of_a_processor(), self._processors.queues
        return made(self.memory, self.rank, queues, self.diagnosis.here, self._aborted)

    def packets_left(self) -> bool:
        """See `Port.packets_left`; this look at the queues is not a step, which would be one more in each schedule."""
        waiting = self._processors.queues.packets_left(self.rank)
        return waiting or (self._network is not None and self._network.loops.kept() is not None)

    def _watch_cells(self) -> None:
        self.memory.threads.refuse = self._processors.refuse_wait

    def on_a_stream(self) -> bool:
        running = self._processors.emulator.running
        return running is not None and running.index > 0

    def new_run(self) -> None:
        super().new_run()
        if self.rank == 0:
            self._processors.overlaps.begin()
        self._taken = 0
