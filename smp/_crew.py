"""The parent's side of the host machine: a crew of workers, one call at a time, and what happens when one fails.

    call ─▶ every worker          answers come back on the workers' lines, deaths on the nursery's channel
    first failure, or Ctrl-C      the abort word is set: every wait in the machine ends
    GRACE later                   whoever has not answered yet is killed, and the machine is over

A crew whose workers have all answered goes on, also after an exception; one that lost a worker does not.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from . import _wait
from ._board import Board
from ._core import core
from ._host import boards_at, header
from ._launch import Channel
from ._segments import Block, Segment
from .errors import MachineClosed, MachineError, OutOfSharedMemory
from ._failures import Death, Failure, Interrupted, Raised, Unmatched

GRACE = 0.5  # seconds for the others to notice a failure by themselves
START = 60.0  # seconds for the workers to come up; a first import can be slow
SPIN = 1000  # looks before a wait blocks, when each processor has a CPU: some 50 us


class Crew:
    """The workers of one machine.

    Parameters
    ----------
    cpus : sequence of int or None
        The CPU of each worker, None for one that may move.
    method : str
        "forkserver", "spawn" or "fork".
    spin : bool
        Whether waits spin before they block.
    """

    def __init__(self, cpus: Sequence[int | None], method: str, spin: bool) -> None:
        self.size = len(cpus)
        core()  # compiled here, once, if this is the first time ever: not in every worker
        self.channel = Channel(method)
        self.pids: list[int] = []
        self.lines: list[Connection] = []
        self.boxes: list[int] = []
        self.closed = ""  # why, once it is
        try:
            self.segment = Segment(header=header(self.size))
            self._sync = self.segment.words(0, _wait.SYNC_WORDS)
            self._sync[_wait.SIZE] = self.size
            self._sync[_wait.RETRIES] = SPIN if spin else 0
            for rank, cpu in enumerate(cpus):
                self._start(rank, cpu)
            self._collect(list(range(self.size)), time.monotonic() + START)
        except BaseException:
            self.close("it did not start")
            raise

    def _start(self, rank: int, cpu: int | None) -> None:
        ours, theirs = socket.socketpair()
        os.set_inheritable(ours.fileno(), False)
        box = os.memfd_create("smp-box", os.MFD_CLOEXEC)
        self.boxes.append(box)
        self.lines.append(Connection(ours.detach()))
        spec = {
            "rank": rank,
            "size": self.size,
            "cpu": cpu,
            "path": sys.path,
            "cwd": os.getcwd(),
            "numba": "numba" in sys.modules,
        }
        with theirs:
            self.pids.append(self.channel.start(spec, [theirs.fileno(), self.segment.fd, box]))

    def call(self, message: bytes) -> tuple[list[tuple[Any, ...]], list[Block]]:
        """Have every worker run a pickled call; return their answers, and the blocks made meanwhile.

        Raises
        ------
        Failure
            What failed first.
        KeyboardInterrupt
            After the workers have stopped.
        MachineClosed
            When there is no machine any more.
        """
        if self.closed:
            raise MachineClosed(f"this machine is closed: {self.closed}; open a new one with smp.host()")
        for word in (_wait.ABORT, _wait.ARRIVALS, _wait.SLEEPERS):
            self._sync[word] = 0
        whole = False
        try:
            answers, blocks = self._collect(list(range(self.size)), None, ("run", message))
            whole = True
        except Failure as failure:
            whole = failure.survivable
            raise
        finally:
            if not whole:
                self.close("a processor failed, or it was interrupted")
        return answers, blocks

    def _collect(
        self, waiting: list[int], until: float | None, order: Any = None
    ) -> tuple[list[tuple[Any, ...]], list[Block]]:
        """Send an order and gather one answer of each worker, or what failed first."""
        answers: dict[int, tuple[Any, ...]] = {}
        blocks: list[Block] = []
        failures: list[Failure] = []
        interrupt: KeyboardInterrupt | None = None
        poll, sources = self._poll()
        pending = set(waiting)
        while True:
            try:
                if order is not None:
                    order, outgoing = None, order
                    for rank in waiting:
                        self._send(rank, outgoing)
                while pending:
                    left = None if until is None else until - time.monotonic()
                    if left is not None and left <= 0:
                        self._kill(pending)
                        failures += [
                            Death(rank, None, self._board(rank), "") for rank in pending if not failures
                        ]
                        break
                    for fd, _ in poll.poll(None if left is None else left * 1000 + 1):
                        rank = sources[fd]
                        found = (
                            self._event(pending)
                            if rank is None
                            else self._answer(rank, answers, blocks, poll)
                        )
                        if rank in answers:
                            pending.discard(rank)
                        failures += found
                        if failures and until is None:
                            until = time.monotonic() + GRACE
                break
            except KeyboardInterrupt as error:
                first, interrupt = interrupt is None, error
                core().abort(self.segment.address, _wait.INTERRUPTED, -1)
                until = time.monotonic() + (GRACE if first else 0)
        if interrupt is not None:
            if pending:  # some had to be killed
                raise interrupt
            raise Interrupted
        if failures:
            raise self._first(failures, answers)
        return [answers[rank] for rank in sorted(answers)], blocks

    def _poll(self) -> tuple[select.poll, dict[int, int | None]]:
        poll = select.poll()
        sources: dict[int, int | None] = {self.channel.socket.fileno(): None}
        sources.update({line.fileno(): rank for rank, line in enumerate(self.lines)})
        for fd in sources:
            poll.register(fd, select.POLLIN)
        return poll, sources

    def _send(self, rank: int, message: Any) -> None:
        try:
            self.lines[rank].send(message)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has died: the nursery tells

    def _answer(
        self, rank: int, answers: dict[int, tuple[Any, ...]], blocks: list[Block], poll: select.poll
    ) -> list[Failure]:
        """Take one message of a worker."""
        try:
            message = self.lines[rank].recv()
        except (EOFError, OSError):
            poll.unregister(self.lines[rank].fileno())
            self.channel.kill(self.pids[rank])  # dead, and the nursery tells; or deaf, and no use any more
            return []
        if message[0] == "allocate":
            try:
                block = self.segment.allocate(message[1])
            except OutOfSharedMemory as error:
                self._send(rank, ("block", str(error)))
            else:
                blocks.append(block)
                self._send(rank, ("block", block.offset))
            return []
        answers[rank] = message
        if message[0] == "raised":
            return [Raised(rank, self.size, *message[1:])]
        return [Unmatched(rank)] if message[0] == "mismatch" else []

    def _event(self, pending: set[int]) -> list[Failure]:
        """Take one event of the nursery: a worker has ended."""
        event = self.channel.receive()
        if event is None:
            raise MachineError("the process that starts the workers was killed, and they with it")
        _, pid, code = event
        rank = self.pids.index(pid)
        pending.discard(rank)
        core().abort(self.segment.address, _wait.DIED, rank)
        return [Death(rank, code, self._board(rank), self._box(rank))]

    def _board(self, rank: int) -> Board:
        return Board(self.segment, boards_at(rank))

    def _box(self, rank: int) -> str:
        return os.pread(self.boxes[rank], 1 << 16, 0).decode(errors="replace")

    def _first(self, failures: list[Failure], answers: dict[int, tuple[Any, ...]]) -> Failure:
        """The failure that the abort word names, told with what the others were doing."""
        rank = int(self._sync[_wait.ABORT]) // 256 - 1
        for failure in failures:
            if failure.survivable and any(isinstance(other, Death) for other in failures):
                failure.survivable = False
        chosen = next((f for f in failures if f.rank == rank), failures[0])
        return chosen.told(answers, self.size)

    def _kill(self, ranks: set[int]) -> None:
        for rank in ranks:
            self.channel.kill(self.pids[rank])

    def close(self, why: str) -> None:
        """End the workers, and wait until they are gone; they get GRACE to go by themselves."""
        if self.closed:
            return
        self.closed = why
        handler = None
        try:
            handler = signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # a second Ctrl-C must not leave half of it
        except ValueError:
            pass  # not the main thread, which alone gets them
        try:
            self._bury()
        finally:
            self.channel.close()
            for line in self.lines:
                line.close()
            for box in self.boxes:
                os.close(box)
            if hasattr(self, "segment"):
                self.segment.close()
            if handler is not None:
                signal.signal(signal.SIGINT, handler)

    def _bury(self) -> None:
        left = set(self.pids)
        for rank in range(len(self.lines)):
            self._send(rank, ("close", None))
        poll = select.poll()
        poll.register(self.channel.socket.fileno(), select.POLLIN)
        deadline = time.monotonic() + (0.0 if "failed" in self.closed else GRACE)
        killed = False
        while left:
            wait = deadline - time.monotonic()
            if wait <= 0 and not killed:
                killed, deadline, wait = True, time.monotonic() + 5.0, 5.0
                for pid in left:
                    self.channel.kill(pid)
            if not poll.poll(max(wait, 0) * 1000 + 1):
                if killed:
                    return
                continue
            event = self.channel.receive()
            if event is None:
                return
            if event[0] == "ended":
                left.discard(event[1])
