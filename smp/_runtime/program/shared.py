"""The interface between programs and memory that all processors share, for the kinds of machines that have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from smp._computer.perf_events import Counters

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells
from ..memory.threads import Threads

Buffer = bytes | memoryview


class SlotSet(NamedTuple):
    """A slot of each processor: rows of bytes, and the kind of each processor's boundary (see ``segments``)."""

    octets: NDArray[np.uint8]
    boundaries: NDArray[np.uint8]


class Slots(Protocol):
    """The slots of all processors."""

    @property
    def sets(self) -> Sequence[SlotSet]:
        """Return the sets of slots, which lie at equal distances."""

    def turn(self) -> int:
        """Return the number of the set that `next` returns."""

    def next(self) -> SlotSet:
        """Return the slots for the next collective, in which this processor writes its own before it arrives.

        All processors call this for the same collectives.  They may read the slots after all have arrived, and until
        they have left the collective and at least two more have begun.
        """

    def put(self, parts: Sequence[Buffer], kind: int = 0) -> int:
        """Write bytes, given in parts, into this processor's slot of the next set; return the number of the set."""

    def announce(self, turn: int, front: bytes, length: int) -> None:
        """Write the first bytes of ``length`` into this processor's slot of a set; it writes the others by itself.

        The kind is the number of these first bytes.
        """

    def of(self, turn: int, rank: int) -> tuple[int, memoryview]:
        """Return the kind and the bytes of one processor in a set."""


class NodeMemory(Protocol):
    """The memory that a processor shares with the others of its node, as this processor uses it.

    Attributes
    ----------
    threads : Threads
        Threads of this processor: its streams.
    """

    threads: Threads

    def faults(self) -> int:
        """Return the page faults of the calling thread so far; 0 if time is virtual or they are not counted."""

    def hardware(self) -> Counters:
        """Return counters of the calling thread and of the threads that it starts."""

    def operations(self) -> tuple[int, int, int]:
        """Return the reads and writes of cells since the last call, and the calls of loops that got cells."""


class SharedMemory(NodeMemory, Protocol):
    """The memory that a processor shares with all others, as this processor uses it.

    Attributes
    ----------
    slots : Slots
        Memory in which processors leave what they bring to a collective.
    fold : callable or None
        ``fold(plan, turn)`` folds slots by machine code (see ``protocols.folds``); None on an emulated machine.
    """

    fold: Callable[[int, int], int] | None

    @property
    def slots(self) -> Slots:
        """Return the slots of all processors."""

    def sync_here(self) -> NDArray[np.int64]:
        """Return the words of this processor, for compiled loops of the calling thread (see ``wait``)."""

    def touch(self, array: GlobalArray) -> None:
        """Touch this processor's share of the pages of a new array, so that they lie in its own memory."""

    def placement(self) -> float:
        """Return the time in ns in which a cache line passes to a neighbour's CPU.

        With two neighbours, it is the longer time.  The neighbours take part at about the same time.  NaN if none of
        them does, if processors take turns on a CPU, or if time is virtual.
        """

    def raise_flag(self, up: bool) -> None:
        """Raise this processor's flag, or lower it; it was the other way before."""

    def any_flag(self) -> bool:
        """Return True if the flag of any processor is up."""

    def cells(self, array: GlobalArray, n: int, dtype: np.dtype[Any], words: int, retries: int) -> Cells:
        """Return cells in the words of a new array."""
