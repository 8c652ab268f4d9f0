"""The streams of one process that have joined a machine: a record for each of its threads that waits.

A thread joins at its first operation that may wait.  When the thread ends, its record goes to another thread.  A
process that is forked from this one has none of its records: its threads join again, as threads of the parent (rank
-1).  The operations of a stream on cells from Python go through this module: on the host to machine code
(`entry_points`), on an emulated machine to the interpreter.
"""

from __future__ import annotations

import collections
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import MachineError

from ..loops.system_calls import SINCE_START
from ..protocols import stream_slots, wait, waiters
from ..protocols.entry_points import Core, core
from .recording import Rings
from .segment import Segment
from .threads import NAMES, Named, Stream
from .watchdog import Watch

_ENTRIES = {
    waiters.INSIST: "insist",
    waiters.FINISH: "finish",
    waiters.TRIED: "tried",
    waiters.PEEKED: "peeked",
}
OTHERS = {stream_slots.STREAM_WAIT: "a free stream"}
_SLICE = 1_000_000_000  # ns after which a sleeper checks whether a signal has swallowed its wake-up
_ATTENTIVE_SLICE = (
    50_000_000  # ns after which the sleep of a main thread returns to Python, which can then handle signals
)


class _Mine(threading.local):
    stream: Stream | None = None
    holder: _Holder | None = None


class _Holder:
    """An object that a thread holds until it ends; when it is dropped, the thread's record becomes free."""

    def __init__(self, threads: WaitingThreads, stream: Stream) -> None:
        self._threads, self._stream = weakref.ref(threads), stream  # weak: `threads` holds this object, in `_mine`

    def __del__(self) -> None:
        threads = self._threads()
        if threads is not None:
            threads.leave(self._stream)


class WaitingThreads:
    """The threads of one process on the host; see `Threads`.

    Parameters
    ----------
    rank : int
        Rank of the processor; -1 for the parent.
    retries : int
        Number of looks before a wait traps.
    entries : optional
        The runtime's entry points: machine code (`entry_points.core`), or what replaces it.
    """

    def __init__(self, segment: Segment, rank: int, retries: int, entries: Any = None) -> None:
        self.rank, self.retries = rank, retries
        self._segment = weakref.ref(segment)  # weak, because the segment holds this object
        self._base, self._core = segment.address, core() if entries is None else entries
        self._mine = _Mine()
        self._free: collections.deque[Stream] = collections.deque()
        self.streams: list[Stream] = []
        self._threads: set[threading.Thread] = set()
        self._cells: weakref.WeakSet[Named] = weakref.WeakSet()
        self._watch: Watch | None = None
        self.refuse: Callable[[int], object] | None = None
        self.rings: Rings | None = None
        self._owner = os.getpid()
        _all.add(self)

    def begin_anew(self) -> None:
        """Forget the records, in a forked process: they belong to threads that this process does not have."""
        self.rank, self._owner = -1, os.getpid()
        self.streams, self._mine = [], _Mine()
        self._free.clear()
        self._threads.clear()

    def own(self) -> Stream:
        stream = self._mine.stream
        if stream is None:
            stream = self._mine.stream = self._join()
            self._mine.holder = _Holder(self, stream)
        return self._spare(stream) if stream.in_use else stream

    def _spare(self, interrupted: Stream) -> Stream:
        """Return a record for a handler."""
        for stream in interrupted.spares:
            if not stream.in_use:
                return stream
        stream = self._join()
        stream.is_spare, stream.words[waiters.ACTIVE] = True, 0
        interrupted.spares.append(stream)
        return stream

    def _join(self) -> Stream:
        try:
            stream = self._free.popleft()
        except IndexError:
            stream = self._new(self.rank, len(self.streams))
            self.streams.append(stream)
        attentive = threading.current_thread() is threading.main_thread()
        self._settle(stream, _ATTENTIVE_SLICE if attentive else _SLICE, attentive)
        stream.thread = threading.get_ident()
        return stream

    def _settle(self, stream: Stream, slice_ns: int, attentive: bool) -> None:
        words = stream.words
        words[waiters.RETRIES], words[waiters.TEAM] = self.retries, 0
        words[waiters.SLICE], words[waiters.ATTENTIVE], words[waiters.ACTIVE] = slice_ns, attentive, 1
        if self.rings is not None:
            self.rings.give(words)

    def _new(self, rank: int, number: int) -> Stream:
        base, segment = self._base, self._segment()
        assert segment is not None
        index = self._core.join(base)
        if index >= waiters.MOST:
            raise MachineError(f"more than {waiters.MOST - 1:,} threads wait on this machine; start fewer")
        table = int(segment.words(8 * wait.TABLE, 1)[0])
        words = segment.words(table + 8 * waiters.RECORD * index, waiters.RECORD)
        words[waiters.RANK], words[waiters.STREAM] = rank, number
        words[waiters.SHARED], words[waiters.TABLE] = base, base + table
        self._enter(words, core())
        words[waiters.INDEX] = index  # last: from here on, the record says whose it is
        return Stream(words)

    @staticmethod
    def _enter(words: NDArray[np.int64], entries: Core) -> None:
        """Store in a record where compiled loops find the operations on cells."""
        for field, entry in _ENTRIES.items():
            words[field] = entries.addresses[entry]

    def leave(self, stream: Stream) -> None:
        """Free a stream's record for another thread."""
        if self._owner != os.getpid() or stream not in self.streams:  # another process has the record
            return
        stream.thread = 0
        stream.words[waiters.ACTIVE] = 0
        self._free.append(stream)

    def know(self, cells: Named) -> None:
        """Note cells that this process has; from the first ones on, threads may wait here and need a watch."""
        self._cells.add(cells)
        if self.rings is not None:
            self.rings.kept.append(cells)
        self.watched()

    def known(self) -> list[Named]:
        """Return the cells that this process has."""
        return list(self._cells)

    def watched(self) -> None:
        """Start a watch in this process, if it is a processor's process and has none (see `watchdog`)."""
        if self._watch is None and self.rank >= 0:
            self._watch = Watch(self._base, self._core.watch, self.streams, self._described)

    def _described(self, words: NDArray[np.int64]) -> str:
        """Describe what a stream waits for; empty if that is not known here."""
        op = int(words[waiters.OP])
        if op not in NAMES:
            return OTHERS.get(op, "")
        cell = self._cell_at(int(words[waiters.WHERE]))
        return f"{NAMES[op]} of {cell}" if cell else "the end of a thread"

    def _cell_at(self, address: int) -> str:
        """Return the name of the cell at an address; empty if this process has no such cell."""
        return next((text for cells in self.known() if (text := cells._named(address))), "")

    def record(self) -> Rings:
        if self.rings is None:
            segment = self._segment()
            assert segment is not None
            self.rings = Rings(segment.words, self._cell_at, self._now)
            for stream in self._present():
                self.rings.give(stream.words)
        return self.rings

    def end_record(self) -> None:
        if self.rings is not None:
            self.rings.take_back()
            self.rings = None

    def _present(self) -> list[Stream]:
        """Return the streams that have joined."""
        return self.streams

    def _now(self) -> int:
        """Return the time of an event."""
        return time.clock_gettime_ns(SINCE_START)

    def operate(self, own: Stream, address: int, op: int, limit: int, deadline: int) -> int:
        if self.refuse is not None:
            self.refuse(op)
        try:
            if own.is_spare:
                own.words[waiters.ACTIVE] = 1
            status = self._core.operate(address, own.address, op, limit, deadline)
            while status == wait.CHANGING:  # a slice is over: Python handles its signals here
                status = self._core.finish(address, own.address, deadline)
        except BaseException:  # of a handler, which may also run after the last slice
            while own.words[waiters.OP] and self._core.finish(address, own.address, wait.OVER) == wait.CHANGING:
                pass
            raise
        finally:
            if own.is_spare:
                own.words[waiters.ACTIVE] = 0
        return status

    def tried(self, own: Stream, address: int, op: int) -> int:
        return self._core.tried(address, own.address, op)

    def state(self, address: int) -> int:
        return self._core.state(address)

    def peeked(self, own: Stream, address: int) -> int:
        return self._core.peeked(address, own.address)

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


_all: weakref.WeakSet[WaitingThreads] = weakref.WeakSet()


def _after_fork() -> None:
    for threads in list(_all):
        threads.begin_anew()


os.register_at_fork(after_in_child=_after_fork)
