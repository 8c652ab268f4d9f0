"""The threads of one process as streams of a machine: the record of each, and what a machine provides to them.

A thread has a record from its first operation that may wait on; its fields are those of ``waiters``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..loops.bits import ADD, ADD_BOOL, ADD_FLOAT32, ADD_FLOAT64
from ..protocols import cell, waiters

RETRIES = 1024
"""Looks of a wait before it traps, when there is a CPU for each thread that can run; the Tera's own limit."""
FEW = 16
"""The same when there are more threads than CPUs: whoever is waited for may need this one."""
NAMES = {
    cell.READFE: "readfe",
    cell.READFF: "readff",
    cell.WRITEEF: "writeef",
    cell.WRITEFF: "writeff",
    ADD: "fetch_add",
    ADD_BOOL: "fetch_add",
    ADD_FLOAT64: "fetch_add",
    ADD_FLOAT32: "fetch_add",
}
"""The operations on cells that wait, by their numbers."""


class Stream:
    """One stream and its record.

    Attributes
    ----------
    words : int64 array
        The record (see `waiters`).
    address : int
        Where it lies in this process.
    reads, writes, loops : int
        Operations on cells from Python that give no value, and that give one; compiled loops that got cells.
    """

    def __init__(self, words: NDArray[np.int64]) -> None:
        self.words, self.address = words, int(words.ctypes.data)
        self.thread = 0  # the Python thread that it is now
        self._bits = words[waiters.BITS : waiters.BITS + 1].view(np.uint8)
        self._views: dict[np.dtype[Any], NDArray[Any]] = {}
        self.reads = self.writes = self.loops = 0

    def value(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The value that goes into an operation and comes out of it, as an array of one element."""
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self._bits[: dtype.itemsize].view(dtype)
        return view


class Named(Protocol):
    """Something with words of shared memory on which streams wait."""

    def _named(self, address: int) -> str:
        """What the word at an address is called, if it is one of these."""


class Threads(Protocol):
    """What a kind of machine provides to the threads of one process that wait on shared words."""

    retries: int
    streams: list[Stream]

    def know(self, cells: Named) -> None:
        """Note cells that this process has."""

    def watched(self) -> None:
        """Have somebody tell what waits in this process."""

    def own(self) -> Stream:
        """The calling thread's stream."""

    def operate(self, address: int, op: int, limit: int, deadline: int) -> int:
        """Do an operation on a cell, its value in BITS; return the status."""

    def tried(self, address: int, op: int) -> int:
        """Look once."""

    def peeked(self, address: int) -> int:
        """Whether a cell is full, its value in BITS."""

    def state(self, address: int) -> int:
        """The state word of a cell."""

    def spawn(self, body: Callable[[], None]) -> None:
        """Begin a further thread of this processor."""

    def join_all(self) -> None:
        """Wait until all that were spawned have ended."""

    def acquire(self, own: Stream) -> int:
        """Get a stream of the thread's team; return the status."""

    def release(self, own: Stream) -> None:
        """Give it back."""

    def retire(self, own: Stream) -> None:
        """Take a free stream away from the team."""

    def park(self, own: Stream, deadline: int) -> int:
        """Sleep until `unpark`; return the status."""

    def unpark(self, stream: Stream) -> None:
        """Wake a stream that is parked, or about to be."""
