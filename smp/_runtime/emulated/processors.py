"""The processors of an emulated machine, which take turns in this process, in virtual time.

    host                                              emulated
    one process per processor                         one stream of an `Emulator` per processor
    compiled entry points (``entry_points.core``)     the same functions in Python, interpreted primitive by primitive
    connections to the workers                        calls; programs, arguments and results are pickled all the same
    a memfd that all processes map                    the same, mapped once

Everything else is the same on both: the port with its barrier and exchange, the boards, and the failures with their
texts.
"""

from __future__ import annotations

import math
import operator
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from smp._computer.interrupt import HeldBack
from smp.errors import DeadlockError, LivelockError, MachineClosed, MachineError, Unsupported, WaitTimeout

from ..loops.stepped.text import POSSIBLE
from ..memory.arrays import GlobalArray
from ..memory.cells import Cells, make_cells
from ..memory.overlaps import Overlaps
from ..memory.segment import Block
from ..memory.shared_elements import array_on
from ..program.answering import answer, raised
from ..program.answers import Answer, Done, Raised
from ..program.failures import Failure, RaisedBy, Unmatched, first
from ..program.pickling import load_call
from ..program.records.account import Account
from ..protocols import entry_points, wait
from ..shared_memory.layout import clear_messages, header, introduce
from .by_choice import ChoosingEmulator
from .clocked import machine_code
from .emulator import Emulator, Step
from .ending import Ending
from .parts import Parts
from .port import RETRIES, EmulatedSegment
from .schedules import Schedule
from .waiting_threads import InterpretedThreads

LIMIT = 10_000_000
"""Most steps of a run."""
PATIENCE = 5.0  # seconds that a run stopped by another thread has to end


def checked_limit(limit: int | None) -> int:
    """Return the largest number of steps of a run, or raise an error that says why it is not valid."""
    if limit is None:
        return LIMIT
    if operator.index(limit) < 1:
        raise ValueError(f"limit must be a number of steps, 1 or more, not {limit}")
    return operator.index(limit)


class EmulatedProcessors:
    """The processors of one emulated machine.

    Parameters
    ----------
    size : int
        Number of processors.
    schedule : callable
        Makes the rule of a run, which chooses the next stream.
    limit : int
        Most steps of a run.
    traced : bool
        True if a run keeps its steps.
    parts : Parts
        Prices, and the network of messages.
    """

    kind = "emulated"
    first_touch = False
    pages = ""

    def __init__(self, size: int, schedule: Callable[[], Schedule], limit: int, traced: bool, parts: Parts) -> None:
        self.size, self.nodes, self.closed = size, [0] * size, ""
        self._owner = os.getpid()
        self._schedule, self._limit, self._traced, self._parts = schedule, limit, traced, parts
        self._trace: list[Step] | None = None
        self._stopped = False
        self._calling = threading.Lock()
        self.segment = EmulatedSegment(header=header(size))
        introduce(self.segment.words(0, wait.SHARED_WORDS), size)
        rule = schedule()
        self.entries: Any = entry_points
        if rule.by_time:
            self.emulator: Emulator = parts.emulator(rule, limit, parts.prices, parts.work)
            if POSSIBLE and not traced:
                self.entries = machine_code.entry_points()
        else:
            self.emulator = ChoosingEmulator(rule, limit, parts.prices, parts.work)
        self.entries = self.emulator.entries_for(self.entries)
        self.segment.emulator, self.emulator.abort = weakref.ref(self.emulator), self._abort
        self.threads = self.segment.threads = InterpretedThreads(
            self.segment, self.emulator, RETRIES, entry_points if parts.by_address else self.entries
        )
        self.emulator.in_a_loop = self.threads.in_a_loop
        self.ports = [parts.port(self, rank) for rank in range(size)]
        self._allocations: list[tuple[Block, tuple[int, ...], np.dtype[Any]]] = []
        self._own: list[Block] = []
        self.network, self.queues = parts.network, parts.network.queues(size)
        self.overlaps = Overlaps()

    def call(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], list[Block]]:
        """Run a pickled call on all processors; see `Processors`.

        Raises
        ------
        ProgramError, WaitTimeout
            The first failure of the run.
        KeyboardInterrupt
            On Ctrl-C, after the processors have stopped.
        MachineClosed
            If the machine is closed, or is being closed.
        ScheduleError
            If the schedule does not fit the program.
        Unsupported
            If ``helpers`` is True.
        """
        with self._calling:
            self._must_be_open()
            return self._called(message, streams, ctrl_c, timeout, helpers)

    def _called(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], list[Block]]:
        if helpers:
            raise Unsupported(
                "helpers=True is not possible on an emulated machine, where only the processors' own threads run "
                "during a program; fill the cells before the run, or in the program"
            )
        emulator, ports = self.emulator, self.ports
        self._trace = [] if self._traced else None
        emulator.reset(self._schedule(), self._limit, self._trace)
        self._parts.work.forget()
        self.begin()
        abort = self.segment.words(0, wait.SHARED_WORDS)[wait.ABORT :]
        answers: dict[int, Answer] = {}
        failures: list[Failure] = []
        for rank in range(self.size):
            emulator.spawn(rank, partial(self._serve, rank, message, streams, answers, failures))
        note = ""
        try:
            with Ending(emulator, abort, ctrl_c, timeout, lambda: self._stopped):
                emulator.run()
        except (DeadlockError, LivelockError) as error:
            if not failures or abort[0] == wait.DEADLOCKED:
                raise
            note = str(error).splitlines()[0]
        finally:
            fault = emulator.fault  # a closed machine has forgotten it
            if emulator.forced:
                self.close("processors that did not stop were ended in the middle of their work")
            blocks = [block for block, _, _ in self._allocations]
            self._allocations.clear()
            self._own.clear()
        if fault is not None:  # raised in a stream that is not its processor's first
            stream, raised_there = fault
            failures.append(RaisedBy(stream.rank, raised(ports[stream.rank], raised_there)))
        if failures:
            failed = first(failures, int(abort[0])).error(answers, self.size)
            if note:
                failed.add_note(f"After that, the other processors did not stop: {note}")
            raise failed
        return cast("list[Done]", [answers[rank] for rank in range(self.size)]), blocks

    def _abort(self, error: BaseException) -> None:
        """Store in the abort word why the run ends, without a step."""
        kinds = {DeadlockError: wait.DEADLOCKED, WaitTimeout: wait.TIMED_OUT}
        kind = kinds.get(type(error), wait.INTERRUPTED)
        words = self.segment.words(0, wait.SHARED_WORDS)
        words[wait.ABORT] = words[wait.ABORT] or kind

    def begin(self) -> None:
        """Set the words of all processors to their values at the beginning of a run."""
        self.segment.words(0, wait.OF_A_RUN)[:] = 0
        clear_messages(self.segment, self.size)
        self.queues.clear()
        self.threads.begin()
        for port in self.ports:
            port.new_run()

    def _serve(
        self, rank: int, message: bytes, streams: int, answers: dict[int, Answer], failures: list[Failure]
    ) -> None:
        def report(failure: Answer) -> None:
            if isinstance(failure, Raised):
                failures.append(RaisedBy(rank, failure))
            else:
                answers[rank] = failure
                failures.append(Unmatched(rank))
            self.emulator.hurry()

        ended = answer(self.ports[rank], partial(load_call, message), self._still_here, report, streams)
        answers.setdefault(rank, ended)

    def _still_here(self) -> None:
        if self.emulator.over:
            raise

    @property
    def account(self) -> Account:
        """The charges and the measured times of the last run."""
        return Account(self._parts.name, tuple(self._parts.work.charges()), self._parts.unknown, self._parts.times())

    def charge_copy(self, nbytes: int) -> None:
        """Advance virtual time by the price of a copy of the given number of bytes."""
        self.emulator.pass_picoseconds(self._parts.copied(nbytes))

    def allocation(
        self, k: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> tuple[Block, tuple[int, ...], np.dtype[Any]]:
        """Return the block of the k-th allocation of this run, with the shape and dtype that made it.

        The first processor that comes to the k-th allocation makes it.
        """
        if k == len(self._allocations):
            self._allocations.append((self.allocate(math.prod(shape) * dtype.itemsize), shape, dtype))
        return self._allocations[k]

    def refuse_wait(self, op: int) -> None:
        """Raise an error for an operation on a cell that may wait, if a handler of a message calls it."""
        if self.emulator.running is not None:
            self.ports[self.emulator.running.rank].refuse_wait(op)

    def own_block(self, nbytes: int) -> int:
        """Allocate a block for a processor, which lives until the run ends; return its offset."""
        self._own.append(self.allocate(nbytes))
        return self._own[-1].offset

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros."""
        return array_on(self.allocate(math.prod(shape) * dtype.itemsize), shape, dtype)

    def cells(self, n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None, at: int | None) -> Cells:
        """Make cells; there is one node."""
        return make_cells(self.allocate, n, dtype, full, padded, retries)

    def allocate(self, nbytes: int) -> Block:
        """Give out memory for a global array."""
        self._must_be_open()
        return self.segment.allocate(nbytes)

    def trace(self) -> Sequence[Step]:
        """Return the steps of the last run."""
        if self._trace is None:
            raise MachineError(
                "no steps were kept: open the machine with smp.emulated(..., trace=True), and run a program"
            )
        return self._trace

    def _must_be_open(self) -> None:
        if self._stopped and not self.closed:
            raise MachineClosed("this machine is being closed by another thread")
        if self.closed:
            raise MachineClosed(f"this machine is closed: {self.closed}; open a new one with smp.emulated()")
        if os.getpid() != self._owner:
            raise MachineError(
                f"this machine belongs to process {self._owner}; a process forked from it must open its own machine"
            )

    def restart(self) -> None:
        """Do nothing: each run makes new processors."""
        self._must_be_open()

    def stop(self) -> None:
        """End the call that another thread is waiting for. That call then fails."""
        self._stopped = True
        if self._calling.acquire(timeout=PATIENCE):
            self._calling.release()

    def close(self, why: str, patience: float = 0.0) -> None:
        """Release the machine's hold on the memory, which is freed together with the last array in it."""
        if not self.closed:
            self.closed = why
            self.emulator.forget()
            self.segment.threads = None  # or they would hold each other, and the memory, until the next collection
            self.ports = []
            self.segment.close()
            del self.segment
