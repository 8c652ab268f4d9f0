"""Records of the streams of an emulated machine, whose operations on cells and teams are interpreted.

The parent's threads are not streams of the emulator and use machine code, as on the host.  No stream runs while they
do, so a parent's thread that had to wait would wait for ever.  Such a wait raises `DeadlockError` instead, or ends at
once if it has a deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smp.errors import DeadlockError, Unsupported

from ..memory.segment import Segment
from ..memory.threads import Stream
from ..memory.waiting_threads import WaitingThreads
from ..protocols import wait, waiters
from ..protocols.entry_points import Core
from .emulator import Emulator


class InterpretedThreads(WaitingThreads):
    """`Threads` of an emulated machine: one object for the streams of all processors, and for the parent.

    Parameters
    ----------
    retries : int
        Number of looks before a wait traps.
    entries : object
        The runtime's entry points, of which each primitive is a step.
    """

    def __init__(self, segment: Segment, emulator: Emulator, retries: int, entries: Any) -> None:
        super().__init__(segment, -1, retries, entries)
        self._emulator = emulator
        self._parent = WaitingThreads(segment, -1, 0)
        self._next = 0

    def begin(self) -> None:
        """Prepare the records of the previous run for the streams of the next one, which take them in order."""
        for stream in self.streams[: self._next]:
            stream.words[: waiters.INDEX] = stream.words[waiters.RETRIED :] = 0
        self._next = 0
        self.rings = None

    def end_record(self) -> None:
        """Do nothing: other processors may go on, and `begin` ends the record of all."""

    def _present(self) -> list[Stream]:
        return self.streams[: self._next]

    def _now(self) -> int:
        return self._emulator.time()

    def own(self) -> Stream:
        running = self._emulator.running
        if running is None:
            return self._parent.own()
        if running.record is None:
            running.record = self._record(running.rank, running.index)
        stream: Stream = running.record
        if stream.in_use:
            raise Unsupported(
                "a handler of a signal cannot use cells in the middle of an operation on one of an emulated machine: "
                "let it set a variable at which the program looks"
            )
        return stream

    def _record(self, rank: int, number: int) -> Stream:
        """Return the next record. Taking it is not a step."""
        if self._next == len(self.streams):
            self.streams.append(self._parent._new(rank, number))
        stream = self.streams[self._next]
        self._next += 1
        stream.words[waiters.RANK], stream.words[waiters.STREAM] = rank, number
        if isinstance(self._core, Core):
            self._enter(stream.words, self._core)
        self._settle(stream, wait.EVER, False)
        return stream

    def in_a_loop(self, stream: Any) -> str:
        """Return what a stream of the emulator waits for, by its record."""
        if stream.record is None or not stream.record.words[waiters.OP]:
            return "barrier"
        return self._described(stream.record.words)

    def operate(self, own: Stream, address: int, op: int, limit: int, deadline: int) -> int:
        if self._emulator.running is not None:
            with self._emulator.operation():
                return super().operate(own, address, op, limit, deadline)
        status = self._parent.operate(own, address, op, 0, 1)  # with a deadline that is already over
        if status == wait.EXPIRED and deadline == 0:
            raise DeadlockError(
                "deadlock: this wait would not end, because no other thread can change the cell while no program runs; "
                "wait in a program, or use a try_* operation"
            )
        return status

    def tried(self, own: Stream, address: int, op: int) -> int:
        if self._emulator.running is None:
            return self._parent.tried(own, address, op)
        with self._emulator.operation():
            return super().tried(own, address, op)

    def peeked(self, own: Stream, address: int) -> int:
        if self._emulator.running is None:
            return self._parent.peeked(own, address)
        with self._emulator.operation():
            return super().peeked(own, address)

    def spawn(self, body: Callable[[], None]) -> None:
        running = self._emulator.running
        assert running is not None, "a pool is used by its processor"
        self._emulator.spawn(running.rank, body)

    def join_all(self) -> None:
        """Do nothing: a run ends only when all its streams have ended."""
