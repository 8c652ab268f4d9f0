"""The threads of one process as streams of a machine: their records, and what a machine provides to them.

A thread gets a record at its first operation that may wait.  The fields of a record are those of ``waiters``.

A handler of a signal runs in the middle of whatever the main thread does, also of an operation that waits.  The record
then belongs to that operation: other threads may read and replace the value in it.  So an operation takes its record,
and operations of the handler get a spare one:

    own = threads.own()
    own.in_use = True
    try:
        ...
    finally:                    without a call, because the exception of a handler may come at the beginning of one
        own.in_use = False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..loops.bits import ADD, ADD_BOOL, ADD_FLOAT32, ADD_FLOAT64
from ..protocols import cell, waiters
from .cell_values import store
from .recording import Rings

RETRIES = 1024
"""Number of looks before a wait traps, if there is a CPU for each thread that can run; the Tera's own limit."""
FEW = 16
"""The same if there are more threads than CPUs: the awaited thread may need this thread's CPU."""
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
"""Names of the operations on cells that may wait, by their numbers."""


class Stream:
    """One stream and its record.

    Attributes
    ----------
    words : int64 array
        The record (see `waiters`).
    address : int
        Address of the record in this process.
    in_use : bool
        Whether an operation has the record.
    spares : list of Stream
        Records of handlers that have interrupted an operation.
    is_spare : bool
        Whether it is such a record, which is active only while a handler waits.
    reads, writes, loops : int
        Number of operations on cells from Python without a value, number of those with a value, and number of compiled
        loops that were given cells.
    """

    def __init__(self, words: NDArray[np.int64]) -> None:
        self.words, self.address = words, int(words.ctypes.data)
        self.thread = 0  # id of the Python thread that is this stream now
        self._bits = words[waiters.BITS : waiters.BITS + 1].view(np.uint8)
        self._views: dict[np.dtype[Any], NDArray[Any]] = {}
        self.in_use = False
        self.spares: list[Stream] = []
        self.is_spare = False
        self.reads = self.writes = self.loops = 0

    def value(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the value that goes into an operation and comes out of it, as an array of one element."""
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self._bits[: dtype.itemsize].view(dtype)
        return view

    def bring(self, value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Count an operation and store the value that it brings, if it is not None; return the place of its result."""
        bits = self.value(dtype)
        if value is None:
            self.reads += 1
        else:
            self.writes += 1
            store(value, bits)
        return bits


class Named(Protocol):
    """Something with words of shared memory on which streams wait."""

    def _named(self, address: int) -> str:
        """Return the name of the word at an address; empty if it is none of these words."""


class Threads(Protocol):
    """The operations that a kind of machine provides to the threads of one process that wait on shared words.

    Attributes
    ----------
    refuse : callable or None
        Called with an operation that `operate` is about to do; raises an error where it is not allowed.
    rings : Rings or None
        The events of the streams, while a run is recorded.
    """

    retries: int
    streams: list[Stream]
    refuse: Callable[[int], object] | None
    rings: Rings | None

    def know(self, cells: Named) -> None:
        """Note cells that this process has."""

    def watched(self) -> None:
        """Let a watch report what the threads of this process wait for."""

    def own(self) -> Stream:
        """Return the calling thread's stream, with a record that no operation has."""

    def operate(self, own: Stream, address: int, op: int, limit: int, deadline: int) -> int:
        """Do an operation on a cell, with its value in BITS of ``own``; return the status."""

    def tried(self, own: Stream, address: int, op: int) -> int:
        """Do an operation on a cell if it need not wait, with its value in BITS of ``own``; return the status."""

    def peeked(self, own: Stream, address: int) -> int:
        """Return 1 if a cell is full, else 0; its value is then in BITS of ``own``."""

    def state(self, address: int) -> int:
        """Return the state word of a cell."""

    def record(self) -> Rings:
        """Let the streams of this processor note events from now on."""

    def end_record(self) -> None:
        """Let the streams of this processor note no further events."""

    def spawn(self, body: Callable[[], None]) -> None:
        """Start another thread of this processor."""

    def join_all(self) -> None:
        """Wait until all threads that were spawned have ended."""

    def acquire(self, own: Stream) -> int:
        """Get a stream of the thread's team; return the status."""

    def release(self, own: Stream) -> None:
        """Release the stream."""

    def retire(self, own: Stream) -> None:
        """Take a free stream away from the team."""

    def park(self, own: Stream, deadline: int) -> int:
        """Sleep until `unpark`; return the status."""

    def unpark(self, stream: Stream) -> None:
        """Wake a stream that is parked, or about to be."""
