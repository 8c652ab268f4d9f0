"""The parent's side of a machine of worker processes: one call at a time, and the handling of failures.

    call ─▶ every worker          answers come back on the workers' lines, deaths as events
    first failure, or Ctrl-C      the abort word is set, and every wait in the machine ends
    from then on                  STOP interrupts the programs' plain Python code
    GRACE later                   each worker that has not answered yet is killed, and the machine is closed

A machine stays open if all its workers have answered, also after an exception.  A machine that has lost a worker is
closed.  Its memory stays until `Workers.close`, so that `Workers.restart` can give the same memory to new workers.

Every 50 ms the parent also shows the lines that the processors have printed (see ``printed``).

Messages to workers are so short that sending never waits; a long call lies in the segment, and only its place is
sent.  Messages from workers are taken piece by piece.  So the parent waits for nothing but an answer, a death or a
deadline.
"""

from __future__ import annotations

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
from smp._computer.limits import remedy
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
from ..shared_memory.restart import make_ready
from .calls import GRACE, Calls
from .deadlock import ProgressCheck
from .pinning import Pinned
from .pipe import Allocate, Ready
from .printed import Console
from .processes import Processes
from .silence import Silence
from .surroundings import outputs_taken, specification
from .worker import STOP

PRESSED = 2.0  # the same after a Ctrl-C; a second Ctrl-C ends this time at once
NUDGE = 0.2  # seconds between two signals to workers that have not stopped
START, EACH = 60.0, 1.0  # seconds for the workers to start, and more for each; a first import can be slow
SHORT = 1 << 14  # bytes of a call that is sent as it is: it fits into a socket that is empty


class Workers(Calls):
    """The workers of one machine.

    Parameters
    ----------
    kind : str
        Name of the kind of machine; the function ``smp.KIND`` opens one.
    processes : callable
        Returns the processes.
    size : int
        Number of workers.
    pinned : callable
        Returns the CPUs of the workers, and whether waits spin before they block.

    Raises
    ------
    MachineError
        If the workers do not start.
    """

    first_touch = True
    account = NOTHING

    def __init__(self, kind: str, size: int, processes: Callable[[], Processes], pinned: Callable[[], Pinned]) -> None:
        super().__init__(kind, [0] * size)
        self._make, self._pin = processes, pinned
        try:
            self._begin()
        except BaseException:
            self.close("it did not start", patience=0.0)
            raise

    def _begin(self) -> None:
        """Start the workers, on new memory or on that of the workers before them."""
        deadline = time.monotonic() + START + EACH * self.size
        try:
            core()  # on first use, compile it once here and not in every worker
            with HeldBack() as ctrl_c, outputs_taken():
                self._pinned = self._pin()
                self._workers = self._make()
                self._workers.prepare(ctrl_c, deadline)
                if not hasattr(self, "segment"):
                    self._provide()
                self._come_up(ctrl_c, deadline)
        except BaseException as error:
            if isinstance(error, (OSError, ImportError)) or type(error) is MemoryError:  # no subclass of ours
                raise MachineError(f"{self.size} processors cannot be started: {remedy(error)}") from error
            raise

    def _provide(self) -> None:
        """Make the memory of the machine."""
        self.segment = Segment(header=header(self.size), pool=True)
        self.pages: str = self.segment.pages
        self._words = self.segment.words(0, wait.SHARED_WORDS)
        introduce(self._words, self.size)
        self._turns = self.segment.words(8 * TURNS_AT, PLACEMENT_WORDS - TURNS_AT)
        self.segment.threads = self._threads = WaitingThreads(self.segment, -1, FEW)
        self._console = Console(self.segment, self.size)

    def _come_up(self, ctrl_c: HeldBack, deadline: float) -> None:
        roomy = self._pinned.roomy
        self._threads.retries = RETRIES if roomy else FEW
        for rank, cpu in enumerate(self._pinned.places):
            Board(self.segment, boards_at(rank)).starts()
            spec = specification(rank, self.size, RETRIES if roomy else 0, cpu)
            self._workers.start(rank, self.segment, spec)
        self._poll, self._sources = self._workers.polled()
        try:
            up, _ = self._collect(ctrl_c, deadline)
            self._pids = [ready.pid for ready in up]
            self._processes = {os.getpid(), *self._pids}
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
        streams, processes, silence = self._threads.streams, self._processes, Silence(self._pids, self._seen)
        return ProgressCheck(self.segment, self.size, streams, processes, self._seen, timeout, helpers, silence)

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
            self._lose(why, patience)
            if hasattr(self, "segment"):
                self.segment.close()
                self._remedy = self._new_one
                del self.segment, self._words, self._turns, self._console, self._threads  # arrays hold the rest

    def _lose(self, why: str, patience: float = 0.0) -> None:
        with HeldBack():
            if self.closed:
                return
            self.closed = why
            try:
                self._end(patience)
            finally:
                if hasattr(self, "_pinned"):
                    self._pinned.claims.release()
            if hasattr(self, "segment"):
                self.segment.ended = True
                core().abort(self.segment.address, wait.INTERRUPTED, -1)  # for threads that wait in this process
                if self.kind == "host":
                    self._remedy = "call machine.restart()"

    def restart(self) -> None:
        if self.kind != "host":
            super().restart()
        with self._calling:
            if not hasattr(self, "segment"):
                self._must_be_open()
            if os.getpid() == self._owner:
                self._lose("it was restarted", GRACE)
                make_ready(self.segment, self._threads, self.size)
                self.closed, self._stopped, self.segment.ended = "", False, False
            self._must_be_open()
            try:
                self._begin()
            except BaseException:
                self._lose("it did not start again")
                raise

    def _end(self, patience: float) -> None:
        """End the processes, or forget them in a forked copy of the process that opened the machine."""
        if not hasattr(self, "_workers"):  # there are no processes yet
            return
        if os.getpid() != self._owner:
            self._workers.forget()
            return
        try:
            self._workers.bury(patience, self._kill)
        finally:
            self._workers.close()
