"""The streams of one process that have joined a machine: a record for each of its threads that waits.

A thread joins at its first operation that may wait, and its record goes to another thread when it ends.  A process that
is forked from this one has none of its records: its threads join anew, as the parent's do (rank -1).  What a stream
does with cells from Python goes through here: on the host into machine code (`_core`), emulated into the interpreter.
"""

from __future__ import annotations

import collections
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _cell, _records, _team, _wait
from ._bits import ADD, ADD_BOOL, ADD_FLOAT32, ADD_FLOAT64
from ._core import core
from ._segments import Segment
from ._watch import Watch
from .errors import MachineError

if TYPE_CHECKING:
    from .cells import Cells

RETRIES = 1024
"""Looks of a wait before it traps, when there is a CPU for each thread that can run; the Tera's own limit."""
FEW = 16
"""The same when there are more threads than CPUs: whoever is waited for may need this one."""
NAMES = {
    _cell.READFE: "readfe",
    _cell.READFF: "readff",
    _cell.WRITEEF: "writeef",
    _cell.WRITEFF: "writeff",
    ADD: "fetch_add",
    ADD_BOOL: "fetch_add",
    ADD_FLOAT64: "fetch_add",
    ADD_FLOAT32: "fetch_add",
}
"""The operations on cells that wait, by their numbers."""
_ENTRIES = {
    _records.OPERATE: "operate",
    _records.FINISH: "finish",
    _records.TRIED: "tried",
    _records.PEEKED: "peeked",
}
OTHERS = {_team.STREAM_WAIT: "a free stream"}
_SLICE = 1_000_000_000  # ns: a sleeper's looks after a wake-up that a signal has eaten
_ATTENTIVE_SLICE = 50_000_000  # ns: after which Python may handle its signals


class Stream:
    """One stream and its record.

    Attributes
    ----------
    words : int64 array
        The record (see `_records`).
    address : int
        Where it lies in this process.
    """

    def __init__(self, words: NDArray[np.int64]) -> None:
        self.words, self.address = words, int(words.ctypes.data)
        self.thread = 0  # the Python thread that it is now
        self._bits = words[_records.BITS : _records.BITS + 1].view(np.uint8)
        self._views: dict[np.dtype[Any], NDArray[Any]] = {}

    def value(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The value that goes into an operation and comes out of it, as an array of one element."""
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self._bits[: dtype.itemsize].view(dtype)
        return view


class _Mine(threading.local):
    stream: Stream | None = None
    holder: _Holder | None = None


class _Holder:
    """Held by a thread, and dropped when it ends: then its record is free."""

    def __init__(self, roster: HostRoster, stream: Stream) -> None:
        self._roster, self._stream = weakref.ref(roster), stream  # which holds this one, by way of its thread

    def __del__(self) -> None:
        roster = self._roster()
        if roster is not None:
            roster.leave(self._stream)


class Roster(Protocol):
    """What a kind of machine provides to the streams of one process."""

    retries: int

    def know(self, cells: Cells) -> None:
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


class HostRoster:
    """The streams of one process of the host.

    Parameters
    ----------
    rank : int
        The processor; -1 for the parent.
    retries : int
        Looks before a wait traps.
    entries : optional
        The runtime's entry points: machine code (`_core.core`), or what stands in for it.
    """

    def __init__(self, segment: Segment, rank: int, retries: int, entries: Any = None) -> None:
        self.rank, self.retries = rank, retries
        self._segment = weakref.ref(segment)  # which holds this
        self._base, self._core = segment.address, core() if entries is None else entries
        self._mine = _Mine()
        self._free: collections.deque[Stream] = collections.deque()
        self.streams: list[Stream] = []
        self._threads: set[threading.Thread] = set()
        self._cells: weakref.WeakSet[Cells] = weakref.WeakSet()
        self._watch: Watch | None = None
        self._owner = os.getpid()
        _rosters.add(self)

    def begin_anew(self) -> None:
        """Forget the records, in a forked process: they are those of threads that it does not have."""
        self.rank, self._owner = -1, os.getpid()
        self.streams, self._mine = [], _Mine()
        self._free.clear()
        self._threads.clear()

    def own(self) -> Stream:
        stream = self._mine.stream
        if stream is None:
            stream = self._mine.stream = self._join()
            self._mine.holder = _Holder(self, stream)
        return stream

    def _join(self) -> Stream:
        try:
            stream = self._free.popleft()
        except IndexError:
            stream = self._new(self.rank, len(self.streams))
            self.streams.append(stream)
        attentive = self.rank < 0 and threading.current_thread() is threading.main_thread()
        self._settle(stream, _ATTENTIVE_SLICE if attentive else _SLICE, attentive)
        stream.thread = threading.get_ident()
        return stream

    def _settle(self, stream: Stream, slice_ns: int, attentive: bool) -> None:
        words = stream.words
        words[_records.RETRIES], words[_records.TEAM] = self.retries, 0
        words[_records.SLICE], words[_records.ATTENTIVE], words[_records.ACTIVE] = slice_ns, attentive, 1

    def _new(self, rank: int, number: int) -> Stream:
        base, segment = self._base, self._segment()
        assert segment is not None
        index = self._core.join(base)
        if index >= _records.MOST:
            raise MachineError(f"more than {_records.MOST - 1:,} threads of this machine wait; start fewer")
        table = int(segment.words(8 * _wait.TABLE, 1)[0])
        words = segment.words(table + 8 * _records.RECORD * index, _records.RECORD)
        words[_records.INDEX], words[_records.RANK], words[_records.STREAM] = index, rank, number
        words[_records.SHARED], words[_records.TABLE] = base, base + table
        for field, entry in _ENTRIES.items():
            words[field] = core().addresses[entry]
        return Stream(words)

    def leave(self, stream: Stream) -> None:
        """Let a stream's record go to another thread."""
        if self._owner != os.getpid() or stream not in self.streams:  # another process has it
            return
        stream.thread = 0
        stream.words[_records.ACTIVE] = 0
        self._free.append(stream)

    def know(self, cells: Cells) -> None:
        """Note cells that this process has; from the first on, something may wait here that must be told about."""
        self._cells.add(cells)
        self.watched()

    def watched(self) -> None:
        """Have a watch in this process, if it is a processor's (see `_watch`)."""
        if self._watch is None and self.rank >= 0:
            self._watch = Watch(self._base, self._core.watch, self.streams, self._described)

    def _described(self, words: NDArray[np.int64]) -> str:
        """What a stream waits for, where that is a cell known here."""
        op, where = int(words[_records.OP]), int(words[_records.WHERE])
        found = (text for cells in list(self._cells) if (text := cells._named(where)))
        if op not in NAMES:
            return OTHERS.get(op, "")
        cell = next(found, "")
        return f"{NAMES[op]} of {cell}" if cell else "the end of a thread"

    def operate(self, address: int, op: int, limit: int, deadline: int) -> int:
        own = self.own()
        status = self._core.operate(address, own.address, op, limit, deadline)
        while status == _wait.CHANGING:  # a slice is over: here Python handles its signals
            try:
                status = self._core.finish(address, own.address, deadline)
            except BaseException:
                while self._core.finish(address, own.address, 1) == _wait.CHANGING:
                    pass
                raise
        return status

    def tried(self, address: int, op: int) -> int:
        return self._core.tried(address, self.own().address, op)

    def state(self, address: int) -> int:
        return self._core.state(address)

    def peeked(self, address: int) -> int:
        return self._core.peeked(address, self.own().address)

    def spawn(self, body: Callable[[], None]) -> None:
        def run() -> None:
            try:
                body()
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, name=f"smp stream of processor {self.rank}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def join_all(self) -> None:
        """Wait until the threads that were spawned have ended."""
        for thread in list(self._threads):
            thread.join()

    def acquire(self, own: Stream) -> int:
        return self._core.acquire(own.address)

    def release(self, own: Stream) -> None:
        self._core.release(own.address)

    def retire(self, own: Stream) -> None:
        self._core.retire(own.address)

    def park(self, own: Stream, deadline: int) -> int:
        return self._core.park(own.address, deadline)

    def unpark(self, stream: Stream) -> None:
        self._core.unpark(stream.address)


_rosters: weakref.WeakSet[HostRoster] = weakref.WeakSet()


def _after_fork() -> None:
    for roster in list(_rosters):
        roster.begin_anew()


os.register_at_fork(after_in_child=_after_fork)
