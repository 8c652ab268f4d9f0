"""The parent's side of a machine of several nodes: one call at a time, and the handling of failures.

call ─▶ every processor       answers come back on the processors' lines
first failure, or Ctrl-C      the parent has all processors end the run, again and again
GRACE later                   processors that have not answered yet are killed, and the machine is closed
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from smp._computer.interrupt import HeldBack
from smp.errors import MachineClosed, MachineError, ProgramError

from ..host.calls import GRACE
from ..host.pipe import Ready
from ..host.workers import NUDGE, PRESSED, START
from ..program.answers import Answer, Done, unpacked
from ..program.failures import CutOff, Death, Failure, Lost, Untold
from ..program.port import show
from ..program.records.account import NOTHING
from ..protocols import wait
from .deadlock import ProbedRun
from .heartbeat import Silences
from .layout import Nodes
from .messages import Did, Printed, Probed
from .parent_memory import Hold, ParentMemory
from .processes import NodesProcesses


class NodesParent(ParentMemory):
    """The processors of several nodes, as their parent uses them; see `Processors`.

    Parameters
    ----------
    processes : NodesProcesses
        Their processes, of which each has a line already.
    nodes : Nodes
        The nodes of the processors.
    start : callable
        ``start(rank, key)`` has a process begin as a processor of the machine with this key.
    patience : float
        Seconds for which a lost network is waited for.

    Raises
    ------
    MachineError
        If the processors do not start.
    """

    first_touch = False
    account = NOTHING
    pages = ""

    def __init__(
        self,
        processes: NodesProcesses,
        nodes: Nodes,
        start: Callable[[int, str], object],
        patience: float,
        ctrl_c: HeldBack,
    ) -> None:
        super().__init__(processes, nodes)
        self._patience = patience
        for line in processes.lines:
            line.give_up_after(patience)
        processes.leave = partial(self._tell, ("leave",))
        self._run = 0
        try:
            for rank in range(self.size):
                start(rank, self.key)
            self._poll, self._sources = processes.polled()
            self._collect(ctrl_c, time.monotonic() + START, None, None)
        except ProgramError as error:
            self.close("it did not start", patience=0.0)
            raise MachineError(f"the processors did not start: {error}") from error
        except BaseException:
            self.close("it did not start", patience=0.0)
            raise

    def call(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], object]:
        """Have every processor run a pickled call; see `Processors`."""
        with self._calling:
            self._must_be_open()
            self._keep()
            self._run = self._processes.next_run()
            hold = Hold(self._run)
            self._holds.add(hold)
            with self._one_call():
                probed = ProbedRun(self.size, self._probe, timeout)
                self._silences = Silences(self._nodes, self._patience)
                try:
                    answers = self._collect(ctrl_c, None, ("run", message, streams, self._run), probed)
                except BaseException:
                    self._clear()
                    raise
            return answers, hold

    def _clear(self) -> None:
        """Have all waits of a run that has failed end, if all processors have answered; then waits may go on again."""
        if not self.closed and not self._pending and len(self._processes.alive) == self.size:
            try:
                self._ask(dict.fromkeys(range(self.size), ("end_waits",)))
            finally:
                if not self.closed:  # it may have been Ctrl-C
                    self._ask(dict.fromkeys(self._nodes.first, ("clear",)))

    def _collect(
        self, ctrl_c: HeldBack, until: float | None, order: tuple[Any, ...] | None, probed: ProbedRun | None
    ) -> list[Any]:
        """Send an order and gather one answer of each processor, or raise the failure that came first."""
        self._pending = set(range(self.size))
        answers: dict[int, Answer | Ready] = {}
        failures: list[Failure] = []
        presses, nudge, cause = 0, 0.0, 0
        for rank in range(self.size) if order else ():
            self._processes.send(rank, order)
        while self._pending:
            left = math.inf if until is None else until - time.monotonic()
            if left <= 0:
                break
            if probed is not None and until is None:
                stuck = probed.look()
                if stuck is not None:
                    failures.append(stuck)
                left = probed.wait()
            if (failures or presses) and until is None:
                until, left = time.monotonic() + GRACE, GRACE
            if cause == 0 and (failures or presses):
                cause = failures[0].kind if failures else wait.INTERRUPTED
            if cause and probed is not None and time.monotonic() >= nudge:
                self._tell(("abort", self._run, cause))
                nudge = time.monotonic() + NUDGE
            if cause:
                left = min(left, max(0.0, nudge - time.monotonic()))
            for fd, _ in ctrl_c.poll(self._poll, None if left == math.inf else left * 1000 + 1):
                if self.closed:  # by a signal handler, during the poll
                    raise MachineClosed(f"this machine was closed while its program ran: {self.closed}")
                failure = self._take(self._sources[fd], answers, probed)
                self._show_printed()
                if failure is not None:
                    failures.append(failure)
            if ctrl_c.presses > presses:
                until = time.monotonic() + (PRESSED if presses == 0 else 0.0)
                presses = ctrl_c.presses
        return self._outcome(answers, failures, ctrl_c.interruption() if presses else None)

    def _show_printed(self) -> None:
        """Show what programs have printed to their own outputs, which the launcher collects."""
        for text, error in self._processes.printed():
            show(text, error)

    def _take(self, rank: int | None, answers: dict[int, Answer | Ready], probed: ProbedRun | None) -> Failure | None:
        """Take what has come from a processor, or the news of an end; return the failure, if it is one."""
        if rank is None:
            return self._ended(self._processes.event)
        try:
            message = self._processes.lines[rank].take()
        except Exception:  # the end of the line, or bytes that are no message
            self._poll.unregister(self._processes.lines[rank].fileno())
            return self._ended(partial(self._processes.lost, rank)) if rank in self._processes.alive else None
        if isinstance(message, Probed):
            if probed is not None:
                probed.came(rank, message)
                return self._cut_off(self._silences.came(rank, message.beats))
        elif isinstance(message, Printed):
            show(message.text, message.error)
            self._processes.send(rank, ("shown", message.lines))
        elif isinstance(message, tuple | Ready) and not isinstance(message, Did):
            return self._took(rank, message if isinstance(message, Ready) else unpacked(message), answers)
        return None

    def _cut_off(self, between: tuple[int, int] | None) -> Failure | None:
        """Return the failure that two processors have lost the network between them, if they have."""
        if between is None:
            return None
        rank, other = max(between), min(between)  # the parent may be on the computer of the lower one
        self._processes.alive.discard(rank)
        return CutOff(rank, other, self._patience)

    def _ended(self, report: Callable[[], tuple[Any, ...] | None]) -> Failure:
        """Return the failure that a processor has ended."""
        event = report()
        if event is None:
            raise MachineError("the launcher of the ranks was killed, and the ranks ended with it")
        what, rank, code = event
        self._processes.alive.discard(rank)
        self._pending.discard(rank)
        return Lost(rank) if what == "lost" else Untold(rank) if what == "untold" else Death(rank, code, None)

    def _first(self, failures: Sequence[Failure]) -> Failure:
        return next((failure for failure in failures if isinstance(failure, Death)), failures[0])

    def _probe(self, wave: int) -> None:
        self._tell(("probe", wave))

    def _kill(self, rank: int) -> None:
        self._processes.send(rank, ("kill",))

    def close(self, why: str, patience: float = GRACE) -> None:
        with HeldBack():
            if self.closed:
                return
            self.closed = why
            if os.getpid() != self._owner:
                self._processes.forget()
                return
            try:
                self._processes.bury(patience, self._kill)
            finally:
                self._processes.close()
            if patience:  # none has died: there are no last words of the launcher
                self._show_printed()
