"""The streams of an emulated machine, each with its record: what they do with cells and teams is interpreted.

The parent's threads, which are no streams of the emulator, use machine code as on the host.  Nobody else runs while
they do, so one that would have to wait would wait for ever: it is told so.
"""

from __future__ import annotations

from collections.abc import Callable

from smp.errors import DeadlockError

from ..memory.segment import Segment
from ..memory.threads import Stream
from ..memory.waiting_threads import WaitingThreads
from ..protocols import entry_points, wait, waiters
from .emulator import Emulator


class InterpretedThreads(WaitingThreads):
    """See `Threads`; one for the streams of all processors, and for the parent.

    Parameters
    ----------
    retries : int
        Looks before a wait traps.
    """

    def __init__(self, segment: Segment, emulator: Emulator, retries: int) -> None:
        super().__init__(segment, -1, retries, entry_points)
        self._emulator = emulator
        self._parent = WaitingThreads(segment, -1, 0)
        self._next = 0

    def begin(self) -> None:
        """Let the streams of the next run have the records of this one, in the same order."""
        for stream in self.streams[: self._next]:
            stream.words[: waiters.INDEX] = stream.words[waiters.RETRIED :] = 0
        self._next = 0

    def own(self) -> Stream:
        running = self._emulator.running
        if running is None:
            return self._parent.own()
        if running.record is None:
            running.record = self._record(running.rank, running.index)
        stream: Stream = running.record
        return stream

    def _record(self, rank: int, number: int) -> Stream:
        """The next record; to take it is no step."""
        if self._next == len(self.streams):
            self.streams.append(self._parent._new(rank, number))
        stream = self.streams[self._next]
        self._next += 1
        stream.words[waiters.RANK], stream.words[waiters.STREAM] = rank, number
        self._settle(stream, wait.EVER, False)
        return stream

    def operate(self, address: int, op: int, limit: int, deadline: int) -> int:
        if self._emulator.running is not None:
            return super().operate(address, op, limit, deadline)
        status = self._parent.operate(address, op, 0, 1)  # a deadline that is over
        if status == wait.EXPIRED and deadline == 0:
            raise DeadlockError(
                "deadlock: this wait would not end, for while no program runs nobody else can change the cell; do it "
                "in a program, or use try_*"
            )
        return status

    def tried(self, address: int, op: int) -> int:
        return super().tried(address, op) if self._emulator.running is not None else self._parent.tried(address, op)

    def peeked(self, address: int) -> int:
        return super().peeked(address) if self._emulator.running is not None else self._parent.peeked(address)

    def spawn(self, body: Callable[[], None]) -> None:
        running = self._emulator.running
        assert running is not None, "a pool is used by its processor"
        self._emulator.spawn(running.rank, body)

    def join_all(self) -> None:
        """Nothing: a run ends when all its streams have."""
