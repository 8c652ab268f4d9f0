"""The parent's side of a machine of several nodes: one call at a time, and the handling of failures.

    call ─▶ every processor       answers come back on the processors' lines
    first failure, or Ctrl-C      the parent has all processors end the run, again and again
    GRACE later                   processors that have not answered yet are killed, and the machine is closed

The parent shares no memory with the processors.  It reads and writes elements of arrays, between runs, by asking
their owners.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp._computer.interrupt import HeldBack
from smp.errors import (
    MachineClosed,
    MachineError,
    OutOfSharedMemory,
    ProgramError,
    SmpError,
    Unsupported,
    WaitTimeout,
)

from ..host.pipe import Ready
from ..host.processes import Processes
from ..host.workers import GRACE, NUDGE, PRESSED, START
from ..memory.arrays import GlobalArray
from ..memory.cells import Cells, checked_cells
from ..program.answers import Answer, Done, Mismatched, Raised, unpacked
from ..program.failures import Death, Failure, RaisedBy, Unmatched
from ..program.place import Place
from ..program.port import show
from ..protocols import wait
from .arrays import ElementsInParts, attached_cells, holders, in_parts
from .cells import About, CellsOnNodes, Request, storage
from .deadlock import ProbedRun
from .indices import Selected
from .layout import Nodes, pieces
from .messages import Did, Printed, Probed
from .parts import Dtype, Name


SLICE = 0.2
"""Seconds of the longest wait of the parent at a cell."""


class _Hold:
    """While it lives, the arrays of a run are kept."""

    __slots__ = ("__weakref__", "run")

    def __init__(self, run: int) -> None:
        self.run = run


class NodesParent:
    """The processors of several nodes, as their parent uses them; see `Processors`.

    Parameters
    ----------
    processes : Processes
        Their processes, of which each has a line already.
    nodes : Nodes
        The nodes of the processors.
    start : callable
        ``start(rank, key)`` has a process begin as a processor of the machine with this key.

    Raises
    ------
    MachineError
        If the processors do not start.
    """

    kind = "mpi"
    first_touch = False
    pages = ""
    rank = None
    attach_cells = staticmethod(attached_cells)

    def __init__(
        self, processes: Processes, nodes: Nodes, start: Callable[[int, str], object], ctrl_c: HeldBack
    ) -> None:
        self.size, self.closed, self.key = len(nodes.of), "", secrets.token_hex(8)
        self._nodes, self._failed = nodes, False  # failed: whether the last run has
        self._owner, self._processes = os.getpid(), processes
        self._pending: set[int] = set()
        self._stopped, self._calling = False, threading.Lock()
        self._run, self._numbers, self._tickets = 0, itertools.count(1), itertools.count(1)
        self._made: weakref.WeakSet[ElementsInParts | CellsOnNodes] = weakref.WeakSet()
        self._holds: weakref.WeakSet[_Hold] = weakref.WeakSet()
        holders[self.key] = self
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
            if self._failed:
                self._ask({rank: ("clear",) for rank in self._nodes.first})
            self._keep()
            self._run, self._failed = self._run + 1, True
            hold = _Hold(self._run)
            self._holds.add(hold)
            why = "an exception interrupted a run"
            try:
                probed = ProbedRun(self.size, self._probe, timeout)
                answers = self._collect(ctrl_c, None, ("run", message, streams, self._run), probed)
                self._failed = False
                return answers, hold
            except (ProgramError, WaitTimeout) as error:
                if self._stopped:
                    why = "close() was called while its program ran"
                    raise MachineClosed(f"this machine was closed: {why}") from None
                why = str(error).splitlines()[0].removesuffix("; the machine is closed: open a new one")
                raise
            except (MachineError, KeyboardInterrupt) as error:
                why = str(error) or "Ctrl-C ended a run, and not all processors stopped by themselves"
                raise
            finally:
                if self._pending or len(self._processes.alive) < self.size:
                    self.close(why, patience=0.0)

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
        for rank in self._pending:
            self._kill(rank)
        if presses:
            raise KeyboardInterrupt
        if self._pending and not failures:  # they did not start in time
            failures = [Death(rank, None, Place()) for rank in self._pending]
        if failures:
            raise self._error(failures, answers)
        return [answers[rank] for rank in range(self.size)]

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
        elif isinstance(message, Printed):
            show(message.text, message.error)
            self._processes.send(rank, ("shown", message.lines))
        elif isinstance(message, tuple | Ready) and not isinstance(message, Did):
            return self._answered(rank, message, answers)
        return None

    def _answered(
        self, rank: int, message: tuple[Any, ...] | Ready, answers: dict[int, Answer | Ready]
    ) -> Failure | None:
        answer = message if isinstance(message, Ready) else unpacked(message)
        if isinstance(answer, Raised):
            return RaisedBy(rank, answer)
        answers.setdefault(rank, answer)
        if isinstance(answer, Mismatched):
            return Unmatched(rank)
        self._pending.discard(rank)
        return None

    def _ended(self, report: Callable[[], tuple[Any, ...] | None]) -> Failure:
        """Return the failure that a processor has ended.

        The others leave, because the launcher may say which has ended, and how, only after all have.
        """
        self._tell(("leave",))
        event = report()
        if event is None:
            raise MachineError("the launcher of the ranks was killed, and the ranks ended with it")
        _, rank, code = event
        self._processes.alive.discard(rank)
        self._pending.discard(rank)
        return Death(rank, code, None)

    def _error(self, failures: Sequence[Failure], answers: Mapping[int, Any]) -> SmpError:
        deaths = [failure for failure in failures if isinstance(failure, Death)]
        error = (deaths or failures)[0].error(answers, self.size)
        stubborn = self._pending - {failure.rank for failure in deaths}
        if stubborn:
            who = f"processor{'s' * (len(stubborn) > 1)} {', '.join(map(str, sorted(stubborn)))}"
            error.add_note(f"{who} did not stop within {GRACE} s and {'were' if len(stubborn) > 1 else 'was'} killed.")
        return error

    def _probe(self, wave: int) -> None:
        self._tell(("probe", wave))

    def _tell(self, order: tuple[Any, ...]) -> None:
        for rank in self._processes.alive:
            self._processes.send(rank, order)

    def _kill(self, rank: int) -> None:
        self._processes.send(rank, ("kill",))

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros."""
        with self._calling:
            self._must_be_open()
            self._keep()
            name = Name(0, next(self._numbers))
            self._allocate(name, math.prod(shape), dtype)
        return self.attached(name, shape, dtype)

    def _allocate(self, name: Name, length: int, dtype: Dtype, at: int | None = None) -> None:
        """Have the first processor of each node make its part of an array, and the others note where it is."""
        what, nodes = (name, length, dtype, at), self._nodes
        offsets = self._ask({rank: ("make", *what) for rank in nodes.first})
        others = set(range(self.size)) - set(nodes.first)
        self._ask({rank: ("place", *what, offsets[nodes.first[nodes.of[rank]]]) for rank in others})

    def attached(self, name: Name, shape: tuple[int, ...], dtype: Dtype) -> GlobalArray:
        """Return the array of a name; its elements are kept while it is used here."""
        array = in_parts(self, name, shape, dtype)
        self._made.add(array._elements)  # type: ignore[arg-type]
        return array

    def read(self, name: Name, shape: tuple[int, ...], found: Selected, into: NDArray[Any]) -> None:
        """Read elements between runs; see `Holder`."""
        of = {self._nodes.first[piece.node]: piece for piece in pieces(found, self._nodes.bounds(math.prod(shape)))}
        with self._calling:
            self._must_be_open()
            came = self._ask({rank: ("read", name, piece) for rank, piece in of.items()})
        for rank, piece in of.items():
            into.reshape(-1)[piece.chosen] = came[rank]

    def write(
        self, name: Name, shape: tuple[int, ...], found: Selected, values: NDArray[Any], field: Any
    ) -> None:
        """Write elements between runs; see `Holder`."""
        of = {self._nodes.first[piece.node]: piece for piece in pieces(found, self._nodes.bounds(math.prod(shape)))}
        flat = values.reshape(-1)
        with self._calling:
            self._must_be_open()
            self._ask({rank: ("write", name, piece, flat[piece.chosen], field) for rank, piece in of.items()})

    def _ask(self, orders: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Send orders to processors that are idle; return what each has found."""
        with HeldBack() as ctrl_c:
            if ctrl_c.presses:
                raise KeyboardInterrupt
            ticket, came = next(self._tickets), dict[int, Any]()
            for rank, (what, *content) in orders.items():
                self._processes.send(rank, (what, ticket, *content))
            while len(came) < len(orders):
                for fd, _ in ctrl_c.poll(self._poll, None):
                    rank = self._sources[fd]
                    try:
                        if rank is None:
                            raise EOFError
                        message = self._processes.lines[rank].take()
                    except Exception:
                        self.close("a processor has ended between runs", patience=0.0)
                        raise MachineClosed(f"this machine is closed: {self.closed}") from None
                    if isinstance(message, Did) and message.ticket == ticket:
                        if message.error:
                            raise OutOfSharedMemory(f"processor {rank}: {message.error}")
                        came[rank] = message.found
        return came

    def _keep(self) -> None:
        """Have the processors drop the arrays that nobody uses any more."""
        names = {elements.name for elements in self._made}
        self._tell(("keep", names, {hold.run for hold in self._holds}))

    def cells(
        self, n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None, at: int | None
    ) -> Cells:
        """Make cells; see `Processors`."""
        count, made, words, limit = checked_cells(n, dtype, padded, retries)
        node = None if at is None else self._nodes.of[at]
        with self._calling:
            self._must_be_open()
            self._keep()
            about = About(Name(0, next(self._numbers)), count, made, words, limit, node)
            self._allocate(about.name, count, storage(words), node)
            if full:
                self._ask({rank: ("fill", about) for rank in self._nodes.first})
        return self.attached_cells(about)

    def attached_cells(self, about: About) -> Cells:
        """Return the cells of a description; they are kept while they are used here."""
        cells = CellsOnNodes(self, about, self._nodes, -1, None, None)
        self._made.add(cells)
        return cells

    def cell(self, node: int, request: Request) -> tuple[int, int]:
        """Have a request carried out, between runs; see `Asker`.

        It waits in slices, so that a Ctrl-C leaves no thread behind that waits at the cell.
        """
        end = math.inf if request.timeout is None else time.monotonic() + request.timeout
        if not self._calling.acquire(blocking=False):
            raise Unsupported("the parent cannot use cells on several nodes while a program runs: use a processor")
        try:
            self._must_be_open()
            while True:
                left = max(0.0, end - time.monotonic())
                asked = request._replace(timeout=min(left, SLICE))
                status, bits = self._ask({self._nodes.first[node]: ("cell", asked)})[self._nodes.first[node]]
                if status != wait.EXPIRED or left <= SLICE:
                    return status, bits
        finally:
            self._calling.release()

    def trace(self) -> Sequence[tuple[int, int, str, str]]:
        """Raise `Unsupported`: no steps are kept."""
        why = "the processors of the mpi machine run at the same time, so there is no list of steps"
        raise Unsupported(f"{why}; smp.emulated(..., trace=True) keeps one")

    def _must_be_open(self) -> None:
        if self.closed:
            raise MachineClosed(f"this machine is closed: {self.closed}; open a new one with smp.{self.kind}()")
        if os.getpid() != self._owner:
            raise MachineError(
                f"this machine belongs to process {self._owner}; a process forked from it must open its own machine"
            )

    def stop(self) -> None:
        """Kill the processors during a call that another thread waits for; the call fails and closes the machine."""
        self._stopped = True
        for rank in range(self.size):
            self._kill(rank)
        if self._calling.acquire(timeout=PRESSED):
            self._calling.release()

    def close(self, why: str, patience: float = GRACE) -> None:
        """End the processors and wait until they are gone; they get ``patience`` seconds to end by themselves."""
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
