"""Port of all machines with shared memory: one segment holds the arrays and all words that the processors wait for.

A processor leaves what it brings to a collective in its slot (see ``slots``), and publishes it by its arrival at the
barrier.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from smp.errors import Aborted, HandlerError, PhaseError, WaitTimeout

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells, make_full
from ..memory.local_copies import LocalCopies
from ..memory.shared_elements import array_on, elements_of
from ..memory.threads import NAMES
from ..program.port import Buffer, Mismatch, Output, must_agree
from ..program.processor import share
from ..program.records.log import Log
from ..protocols import wait as _wait
from ..protocols.barriers import signature
from ..protocols.entry_points import core
from ..source.lines import Instruction
from .diagnosis import BoardDiagnosis
from .memory import ProcessorMemory
from .networks import RingNetwork, SleepingNetwork

BOTH = 3  # networks


class SharedMemoryPort:
    """One processor's connection to a machine with shared memory; see `Port`.

    Parameters
    ----------
    output : Output
        Shows the lines that the processor prints.
    entries : optional
        The runtime's entry points: machine code (`entry_points.core`), or a substitute for it.  Waits in machine code
        come back after each slice of sleep, so that Python can handle signals.
    """

    far = clocks = None  # all processors are on one node
    copies: LocalCopies | None = None  # that use memory again
    priced: Callable[[str, int, int, float, int | None], None] | None = None
    expect: Callable[[GlobalArray, Any, NDArray[Any], int, Instruction], None] | None = None

    def __init__(self, memory: ProcessorMemory, rank: int, size: int, output: Output, entries: Any = None) -> None:
        self.memory, self.rank, self.size, self.output = memory, rank, size, output
        self.log: Log | None = None
        self.core: Any = core() if entries is None else entries
        self._attentive = entries is None
        self.diagnosis = BoardDiagnosis(memory, rank, self.core)
        self._address, self._words = memory.sync.ctypes.data, memory.sync.data
        self._main = threading.get_ident()  # the thread that runs the program
        self.doing = ""
        self._sets: dict[int, int] = {}  # sets of slots of the collectives with blocks that are open, by ticket
        self._network: SleepingNetwork | None = None
        self.serve: Callable[[], object] | None = None
        self.inside: Callable[[], str] | None = None
        self._overdue: int | None = None  # ticket of a barrier at which a wait timed out: the arrival still counts

    @property
    def node_memory(self) -> ProcessorMemory:
        return self.memory

    @property
    def network(self) -> SleepingNetwork:
        if self._network is None:
            self._network = self._make_network()
            self._watch_cells()
        return self._network

    def packets_left(self) -> bool:
        return bool(self.memory.shared[_wait.MESSAGING])

    def _watch_cells(self) -> None:
        """From now on, refuse operations on cells that may wait while a handler runs."""
        self.memory.threads.refuse = self.refuse_wait

    def refuse_wait(self, op: int) -> None:
        """Raise an error for an operation on a cell that may wait, if a handler of a message calls it."""
        if self.inside is not None and op in NAMES and not self.on_a_stream():
            name = NAMES[op]
            raise HandlerError(f"{self.inside()} called {name} of a cell, which may wait: use try_{name}")

    def _make_network(self) -> SleepingNetwork:
        return RingNetwork(
            self.memory, self.rank, self.size, self.core, self.diagnosis.here, self._aborted, self._attentive
        )

    def clock(self) -> float:
        return time.perf_counter()

    def work(self, cycles: float, seconds: float) -> None:
        """Do nothing: here, work takes its own time."""

    def now(self) -> int:
        """Return the nanoseconds of the clock that deadlines use."""
        return time.monotonic_ns()

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        nbytes = math.prod(shape) * dtype.itemsize
        offset = self.memory.ask(nbytes) if self.rank == 0 else 0
        blocks = self.exchange(f"allocation of {dtype}{list(shape)}", offset.to_bytes(8, "little"))
        start = int.from_bytes(blocks[0], "little")
        return array_on(self.memory.segment.block(start, nbytes), shape, dtype)

    def cells(self, n: int, dtype: np.dtype[Any], words: int, retries: int, at: int | None, full: bool) -> Cells:
        array = self.allocate((words * n,), np.dtype(np.int64))
        cells = self.memory.cells(array, n, dtype, words, retries)
        if full and self.rank == 0:
            make_full(cells)
        return cells

    def fill(self, array: GlobalArray, values: NDArray[Any]) -> None:
        elements, mine = elements_of(array).all, share(array.size, self.rank, self.size)
        if values.shape == array.shape:
            elements.reshape(-1)[mine] = values.reshape(-1)[mine]
        elif values.ndim == 0:
            elements.reshape(-1)[mine] = values
        else:
            rows = share(len(array), self.rank, self.size)
            elements[rows] = np.broadcast_to(values, array.shape)[rows]

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        self._refuse_inside("copy_in")
        elements = elements_of(array).all
        if out is None:
            part = elements[index]
            if not isinstance(part, np.ndarray):  # one element: a NumPy scalar loses lengths and byte order
                return np.array(part, array.dtype)
            if part.base is None:  # an index array has made a copy already
                return part
            return part.copy() if self.copies is None else self.copies.of(part)
        if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and array.ndim == 1:
            must_agree(index.shape, array.dtype, out)
            np.take(elements, index, out=out, mode="raise")
            return out
        part = elements[index]
        must_agree(np.shape(part), part.dtype if isinstance(part, np.ndarray) else array.dtype, out)
        out[...] = part
        return out

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        self._refuse_inside("copy_out")
        elements_of(array).all[index] = values

    def node_block(self, array: GlobalArray) -> tuple[int, NDArray[Any]]:
        return 0, array.view.reshape(-1)

    def fence(self) -> None:
        """Do nothing: stored values are in place already, and a barrier publishes them."""

    def arrive(self, description: str, vote: bool = False, block: Sequence[Buffer] | None = None) -> int:
        if self.inside is not None:
            self._refuse_inside(description)
        if self._overdue is not None:
            raise WaitTimeout(
                f"processor {self.rank} timed out at {self.doing!r}, where its arrival still counts, and now comes to "
                f"{description!r}; first call the earlier collective again, which goes on waiting"
            )
        self.doing = description
        self.diagnosis.here()
        if self.log is not None:
            self.log.begins(description)
        if self.memory.shared[_wait.ABORT]:  # see `barriers.synchronise`
            self._ended(_wait.ABORTED, None)
        turn = None if block is None else self.memory.slots.put(block)
        ticket: int = self.core.arrive(self._address, signature(description), vote)
        if turn is not None:
            self._sets[ticket] = turn
        return ticket

    def blocks(self, ticket: int) -> list[Buffer]:
        return self.memory.slots.get(self._sets.pop(ticket))

    def passed(self, ticket: int) -> bool:
        if self.core.passed(self._address, ticket):
            return True
        if self.memory.shared[_wait.ABORT]:
            self._ended(_wait.ABORTED, None)
        return False

    def agreed(self, ticket: int) -> bool:
        return bool(self.core.agreed(self._address, ticket))

    def leave(self, ticket: int, description: str, timeout: float | None = None) -> int:
        self.doing, left = description, self._words[_wait.LEFT]
        if left > ticket + _wait.TURNS:
            raise PhaseError(
                f"the result of {description!r} is lost, because {left - ticket - 1} barriers in compiled "
                f"loops or supersteps have followed it, more than {_wait.TURNS - 1}: wait for a ticket before them"
            )
        self.diagnosis.here()
        if self.log is not None:
            self.log.waits(description)
        deadline = 0 if timeout is None else self.deadline(timeout)
        if self.on_a_stream():
            found = self._on_a_stream(partial(self.core.leave, self._address, ticket, deadline, False))
        elif self.serve is not None:
            found = self._leave_and_serve(self.serve, ticket, deadline)
        else:
            found = self._leave(ticket, deadline)
        if found < 0:
            self._ended(-found, timeout)
        if self.log is not None:
            self.log.passed(description)
        return found

    def _leave(self, ticket: int, deadline: int) -> int:
        """Leave a round as the entry point does; between slices of sleep, Python handles its signals."""
        try:
            found = -_wait.CHANGING
            while found == -_wait.CHANGING:
                found = self.core.leave(self._address, ticket, deadline, self._attentive)
        except BaseException:
            self._give_up(ticket)
            raise
        return found

    def _give_up(self, ticket: int) -> None:
        """Note that this processor waits no longer, after a handler of a signal has raised an exception."""
        if self._attentive:
            self.core.leave(self._address, ticket, _wait.OVER, True)

    def _leave_and_serve(self, serve: Callable[[], object], ticket: int, deadline: int) -> int:
        """Leave a round as `leave` does, and run the handlers of messages until it has passed."""
        while True:
            serve()
            if self.core.passed(self._address, ticket):
                return self._leave(ticket, deadline)
            status = self.network.wait_for_all(self.doing, BOTH, (0, 0), ticket, deadline)
            if status != _wait.OK:
                return -status

    def synchronise(self, description: str, timeout: float | None = None, vote: bool = False) -> int:
        if timeout is not None or self._overdue is not None or self.serve is not None:
            return self._within(timeout, description, vote)
        self.doing = description
        self.diagnosis.here()
        if self.log is not None:
            self.log.waits(description)
        sign = signature(description)
        if self.on_a_stream():
            found = self._on_a_stream(partial(self.core.synchronise, self._address, sign, vote, False))
        else:
            try:
                found = self.core.synchronise(self._address, sign, vote, self._attentive)
                if found == -_wait.CHANGING:
                    found = self._leave(int(self._words[_wait.ROUND]) - 1, 0)
            except BaseException:
                self._give_up(int(self._words[_wait.ROUND]) - 1)
                raise
        if found < 0:
            self._ended(-found, timeout)
        if self.log is not None:
            self.log.passed(description)
        return found

    def on_a_stream(self) -> bool:
        return threading.get_ident() != self._main

    def _on_a_stream(self, wait: Callable[[], int]) -> int:
        """Wait on another thread than the program's, which gives up its stream meanwhile; return what it found."""
        own = self.memory.threads.own()
        self.memory.threads.release(own)
        self.memory.sync_here()
        found = wait()
        status = _wait.ABORTED if found == -_wait.ABORTED else self.memory.threads.acquire(own)
        return found if status == _wait.OK else -status

    def _within(self, timeout: float | None, description: str, vote: bool) -> int:
        """Synchronise in time, or leave the arrival for the next call, which goes on waiting."""
        again = self._overdue is not None and description == self.doing
        if again and self.memory.sync[_wait.ROUND] != (self._overdue or 0) + 1:
            raise WaitTimeout(
                f"processor {self.rank} timed out at {self.doing!r} and then went through a barrier in a compiled "
                "loop, which took its place; after a timeout, first call the same collective again"
            )
        ticket = self._overdue if again and self._overdue is not None else self.arrive(description, vote)
        self._overdue = ticket
        try:
            found = self.leave(ticket, description, timeout)
        except Aborted:  # the run has failed: no wait can go on
            self._overdue = None
            raise
        self._overdue = None
        return found

    def _ended(self, status: int, timeout: float | None) -> None:
        if status == _wait.EXPIRED:
            if self.log is not None:
                self.log.timed_out(self.doing)
            raise WaitTimeout(
                f"processor {self.rank} waited {timeout} s at {self.doing!r} and not all of the {self.size} processors "
                "arrived; give it longer, or call it again, which goes on waiting"
            )
        if status == _wait.ABORTED:
            self._aborted()

    def _aborted(self) -> NoReturn:
        kind = int(self.memory.shared[_wait.ABORT]) % 256
        raise Mismatch(self.doing) if kind == _wait.MISMATCHED else Aborted

    def deadline(self, timeout: float | None) -> int:
        return _wait.deadline_after(timeout, self.now())

    def _refuse_inside(self, what: str) -> None:
        """Raise an error if a handler of a message runs."""
        if self.inside is not None:
            raise HandlerError(f"{self.inside()} called {what!r}, which no handler may do")

    def exchange(self, description: str, *parts: Buffer) -> list[Buffer]:
        turn = self.memory.slots.put(parts)
        self.synchronise(description)
        return self.memory.slots.get(turn)

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        return loop(*[array.view for array in arrays], *args)

    def new_run(self) -> None:
        """Forget the previous run; the parent has cleared the barrier."""
        self.memory.new_run()
        self._sets.clear()
        self._network = self.serve = self.inside = self.memory.threads.refuse = None
        self._overdue = None
        self.diagnosis.clear()
