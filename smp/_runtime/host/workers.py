"""The parent's side of a machine of worker processes: one call at a time, and the handling of failures.

    call ─▶ every worker          answers come back on the workers' lines, deaths as events
    first failure, or Ctrl-C      the abort word is set, and every wait in the machine ends
    from then on                  STOP interrupts the programs' plain Python code
    GRACE later                   each worker that has not answered yet is killed, and the machine is closed

A machine stays open if all its workers have answered, also after an exception.  A machine that has lost a worker is
closed.

Every 50 ms the parent also shows the lines that the processors have printed (see ``printed``).

Messages to workers are so short that sending never waits; a long call lies in the segment, and only its place is
sent.  Messages from workers are taken piece by piece.  So the parent waits for nothing but an answer, a death or a
deadline.
"""

from __future__ import annotations

import errno
import math
import os
import select
import signal
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from smp._computer.interrupt import HeldBack
from smp.errors import MachineClosed, MachineError, OutOfSharedMemory, ProgramError

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells, make_cells
from ..memory.segment import Block, Segment
from ..memory.shared_elements import array_on
from ..memory.threads import FEW, RETRIES
from ..memory.waiting_threads import WaitingThreads
from ..program.answers import Answer, Done, unpacked
from ..program.failures import Death, Failure, Untold, first
from ..program.place import Place
from ..program.records.account import NOTHING
from ..protocols import wait
from ..protocols.entry_points import core
from ..protocols.placement import PLACEMENT_WORDS, TURNS_AT
from ..shared_memory.last_seen import Board
from ..shared_memory.layout import boards_at, clear_messages, header, introduce
from .calls import GRACE, Calls
from .deadlock import ProgressCheck
from .pipe import Allocate, Ready
from .printed import Console
from .processes import Processes
from .surroundings import specification
from .worker import STOP

PRESSED = 2.0  # the same after a Ctrl-C; a second Ctrl-C ends this time at once
NUDGE = 0.2  # seconds between two signals to workers that have not stopped
START = 60.0  # seconds for the workers to start; a first import can be slow
_LIMITS = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC)
"""Errors of the system that mean that a limit is reached."""
SHORT = 1 << 14  # bytes of a call that is sent as it is: it fits into a socket that is empty


class Workers(Calls):
    """The workers of one machine.

    Parameters
    ----------
    kind : str
        Name of the kind of machine; the function ``smp.KIND`` opens one.
    processes : callable
        Returns the processes.
    cpus : sequence of int or None
        CPU of each worker; None for a worker that may move.
    spin : bool
        Whether waits spin before they block.

    Raises
    ------
    MachineError
        If the workers do not start.
    """

    first_touch = True
    account = NOTHING

    def __init__(self, kind: str, processes: Callable[[], Processes], cpus: Sequence[int | None], spin: bool) -> None:
        super().__init__(kind, [0] * len(cpus))
        core()  # on first use, compile it once here and not in every worker
        try:
            with HeldBack() as ctrl_c:
                self._workers = processes()
                self._come_up(cpus, spin, ctrl_c)
        except BaseException as error:
            self.close("it did not start", patience=0.0)
            if isinstance(error, OSError):
                way = "; use fewer, or raise the limits (ulimit)" if error.errno in _LIMITS else ""
                where = f": {error.filename}" if error.filename else ""
                raise MachineError(f"{self.size} processors cannot be started: {error.strerror}{where}{way}") from error
            raise

    def _come_up(self, cpus: Sequence[int | None], spin: bool, ctrl_c: HeldBack) -> None:
        deadline = time.monotonic() + START
        self._workers.prepare(ctrl_c, deadline)
        self.segment = Segment(header=header(self.size), pool=True)
        self.pages: str = self.segment.pages
        self._words = self.segment.words(0, wait.SHARED_WORDS)
        introduce(self._words, self.size)
        self._turns = self.segment.words(8 * TURNS_AT, PLACEMENT_WORDS - TURNS_AT)
        self.segment.threads = self._threads = WaitingThreads(self.segment, -1, RETRIES if spin else FEW)
        self._console = Console(self.segment, self.size)
        for rank, cpu in enumerate(cpus):
            Board(self.segment, boards_at(rank)).starts()
            spec = specification(rank, self.size, RETRIES if spin else 0, cpu)
            self._workers.start(rank, self.segment, spec)
        self._poll, self._sources = self._workers.polled()
        try:
            up, _ = self._collect(ctrl_c, deadline)
            self._processes = {os.getpid(), *(ready.pid for ready in up)}
        except ProgramError as error:
            raise MachineError(f"the processors did not start: {error}") from error

    def call(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], list[Block]]:
        """Have every worker run a pickled call; see `Processors`.

        Raises
        ------
        ProgramError, WaitTimeout
            The failure that came first.
        KeyboardInterrupt
            On Ctrl-C, after the workers have stopped.
        MachineClosed
            If the machine is closed.
        """
        with self._calling:
            self._must_be_open()
            return self._called(message, streams, ctrl_c, timeout, helpers)

    def _called(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], list[Block]]:
        what, block = self._handed_over(message)
        console = self._console
        self._words[: wait.OF_A_RUN] = self._turns[:] = 0
        clear_messages(self.segment, self.size)
        console.begin()
        try:
            with self._one_call():
                check = self._check(timeout, helpers)
                answers, blocks = self._collect(ctrl_c, None, ("run", what, streams, timeout is not None), check)
        finally:
            if not self.closed:
                self._words[wait.ABORT] = 0  # threads of this process may wait at cells between runs
            console.show()
            del block
        if console.error is not None:
            raise console.error
        return answers, blocks

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros."""
        return array_on(self.allocate(math.prod(shape) * dtype.itemsize), shape, dtype)

    def cells(self, n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None, at: int | None) -> Cells:
        """Make cells; there is one node."""
        return make_cells(self.allocate, n, dtype, full, padded, retries)

    def allocate(self, nbytes: int) -> Block:
        """Return a new block of zeroed memory."""
        self._must_be_open()
        return self.segment.allocate(nbytes)

    def _alive(self) -> Collection[int]:
        return self._workers.alive

    def _handed_over(self, message: bytes) -> tuple[bytes | tuple[int, int], Block | None]:
        """Return what to send for a message (itself, or its place in the segment), and its block if it has one."""
        if len(message) <= SHORT:
            return message, None
        block = self.segment.allocate(len(message), "a call with arguments")
        self.segment.bytes_at(block.offset, len(message))[:] = message
        return (block.offset, len(message)), block

    def _check(self, timeout: float | None, helpers: bool | None) -> ProgressCheck:
        streams, processes = self._threads.streams, self._processes
        return ProgressCheck(self.segment, self.size, streams, processes, self._seen, timeout, helpers)

    def _collect(
        self,
        ctrl_c: HeldBack,
        until: float | None,
        order: tuple[Any, ...] | None = None,
        check: ProgressCheck | None = None,
    ) -> tuple[list[Any], list[Block]]:
        """Send an order and gather one answer of each worker, or raise the failure that came first."""
        self._pending = set(range(self.size))
        answers: dict[int, Answer | Ready] = {}
        blocks: list[Block] = []
        failures: list[Failure] = []
        presses, nudge = 0, 0.0
        words, console = self._words, self._console
        poll, sources = self._poll, self._sources
        for rank in range(self.size) if order else ():
            self._workers.send(rank, order)
        while self._pending:
            left = math.inf if until is None else until - time.monotonic()
            if left <= 0:
                break
            if check is not None and until is None:
                stuck = check.look(blocks)
                if stuck is not None:
                    failures.append(stuck)
                    core().abort(self.segment.address, stuck.kind, -1)
                    until = time.monotonic() + GRACE
                    continue
                left = check.wait()
            elif check is not None:
                if time.monotonic() >= nudge:
                    self._nudge()
                    nudge = time.monotonic() + NUDGE
                left = min(left, max(0.0, nudge - time.monotonic()))
            if check is not None:
                left = min(left, console.look())
            for fd, _ in ctrl_c.poll(poll, None if left == math.inf else left * 1000 + 1):
                if self.closed:  # by a signal handler, during the poll
                    raise MachineClosed(f"this machine was closed while its program ran: {self.closed}")
                source = sources[fd]
                failure = self._event() if source is None else self._answer(source, answers, blocks, poll)
                if failure is not None:
                    failures.append(failure)
            if until is None and (failures or (check is not None and words[wait.ABORT])):
                until = time.monotonic() + GRACE
            if ctrl_c.presses > presses:
                until = time.monotonic() + (PRESSED if presses == 0 else 0.0)
                presses = ctrl_c.presses
                core().abort(self.segment.address, wait.INTERRUPTED, -1)
        return self._outcome(answers, failures, ctrl_c.interruption() if presses else None), blocks

    def _answer(
        self, rank: int, answers: dict[int, Answer | Ready], blocks: list[Block], poll: select.poll
    ) -> Failure | None:
        """Take what a worker sends; return the failure that it reports, if any."""
        try:
            message = self._workers.lines[rank].take()
        except Exception:  # the end of the line, or bytes that are no message
            poll.unregister(self._workers.lines[rank].fileno())
            self._kill(rank)  # dead, as the fork server reports; or of no use any more
            return None
        if message is None:  # not complete yet
            return None
        if isinstance(message, Allocate):
            try:
                block = self.segment.allocate(message.nbytes)
            except OutOfSharedMemory as error:
                self._workers.send(rank, ("block", str(error)))
            else:
                blocks.append(block)
                self._workers.send(rank, ("block", block.offset))
            return None
        if isinstance(message, tuple):
            message = unpacked(message)
        return self._took(rank, message, answers)

    def _event(self) -> Failure:
        """Take one event, the end of a worker, and return the failure."""
        event = self._workers.event()
        if event is None:
            raise MachineError("the process that starts the processors was killed, and the processors ended with it")
        what, rank, code = event
        self._workers.alive.discard(rank)
        self._pending.discard(rank)
        self._words[wait.DEATHS] = 1  # before the abort: a thread that sees the abort sees this too
        core().abort(self.segment.address, wait.DIED, rank)
        if what == "failed":
            raise MachineError(f"processor {rank} of {self.size} cannot be started: {code}")
        place, box = self._seen(rank), self._workers.box(rank)
        return Untold(rank, place, box) if what == "untold" else Death(rank, code, place, box)

    def _seen(self, rank: int) -> Place:
        return Board(self.segment, boards_at(rank)).seen()

    def _first(self, failures: Sequence[Failure]) -> Failure:
        return first(failures, int(self._words[wait.ABORT]))

    def _kill(self, rank: int) -> None:
        self._words[wait.DEATHS] = 1  # before the kill: the worker may hold the lock of a cell
        self._workers.signal((rank,), signal.SIGKILL)

    def _nudge(self) -> None:
        """Interrupt the plain Python code of workers that have not answered; waits see the abort word by themselves."""
        self._workers.signal(self._pending, STOP)

    def close(self, why: str, patience: float = GRACE) -> None:
        with HeldBack():
            if self.closed:
                return
            self.closed = why
            if hasattr(self, "_workers"):  # otherwise there are no processes yet
                if os.getpid() != self._owner:
                    self._workers.forget()
                else:
                    try:
                        self._workers.bury(patience, self._kill)
                    finally:
                        self._workers.close()
            if hasattr(self, "segment"):
                self.segment.close()
                core().abort(self.segment.address, wait.INTERRUPTED, -1)  # for threads that wait in this process
                del self.segment, self._words, self._turns, self._console  # the other memory belongs to its arrays
