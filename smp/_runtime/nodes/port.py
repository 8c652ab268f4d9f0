"""Port of a processor of a machine of several nodes: it reaches all others by messages."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import Aborted, HandlerError, WaitTimeout

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells, counters, make_full
from ..memory.indices import Selected
from ..program.place import Place
from ..program.port import Buffer, Diagnosis, Mismatch, Output, must_agree, without_memory
from ..program.processor import share
from ..program.records.log import Log
from ..protocols import wait
from ..protocols.barriers import signature
from ..protocols.entry_points import core
from ..shared_memory.memory import ProcessorMemory
from .arrays import elements_of, in_parts
from .cell_service import CellService
from .cells import CellsOnNodes, storage
from .clocks import NodeClocks
from .collectives.rounds import Rounds
from .heartbeat import Heartbeat
from .holders import holders
from .layout import Nodes
from .mail import Mail
from .messages import About, Name, Request
from .network import CreditedNetwork
from .parts import Parts
from .progress import SHORTEST, Progress

BOTH = 3  # networks
LATE = 1.0  # seconds that messages of a round may be later than the end of the run
SOON = 5_000_000_000  # ns in which the end of a run comes to all nodes


class Noted(Diagnosis):
    """Diagnosis that notes where the processor is, in its own memory."""

    def __init__(self, progress: Progress, memory: ProcessorMemory, place_on_node: int) -> None:
        self._progress, self._memory, self._place_on_node = progress, memory, place_on_node
        self._program: tuple[str, int] = "", 0  # file and line
        self._at: tuple[int | None, str, int] = None, "", 0  # superstep, label and phase

    def begin(self, program: Callable[..., object]) -> None:
        code = getattr(program, "__code__", None)
        self._at = None, "", 0
        self._program = (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)

    def mark(self, step: int, phase: int, label: str) -> None:
        self._at = step, label, phase

    def place(self) -> Place:
        return Place(*self._at, *self._program)

    def fail(self) -> None:
        self._progress.end(wait.RAISED)  # the parent passes it on to the others

    def cause(self) -> int:
        return self._progress.cause or int(self._memory.shared[wait.ABORT]) % 256  # another of the node may have failed

    def counters(self) -> NDArray[np.void]:
        return counters(self._memory.segment, self._place_on_node)


class NodesPort:
    """One processor's connection to a machine of several nodes; see `Port`.

    Parameters
    ----------
    mail : Mail
    nodes : Nodes
    node_memory : ProcessorMemory
        The memory that the processors of its node share.
    key : str
        Name of the machine, the same in all its processes.
    output : Output
        Shows the lines that the processor prints.
    spin : bool
        See `Progress`.
    patience : float
        See `Heartbeat`.
    """

    memory = priced = expect = None

    def __init__(
        self,
        mail: Mail,
        nodes: Nodes,
        node_memory: ProcessorMemory,
        key: str,
        output: Output,
        spin: bool,
        patience: float,
    ) -> None:
        self.rank, self.size, self.key, self.output = mail.rank, mail.size, key, output
        self.node_memory, self._nodes = node_memory, nodes
        self.progress = Progress(mail, spin, self._go_on, self._end_waits)
        self.parts = Parts(self.progress, self.rank, nodes, node_memory.segment)
        self.far = self.parts.far
        self._rounds = Rounds(self.progress, self.rank, nodes, node_memory.segment)
        self.cell_service = CellService(self.progress, node_memory.threads, self._address)
        self.network = CreditedNetwork(self.progress, self.size)
        self.clocks = NodeClocks(self.progress, self.rank, nodes)
        self.heartbeat = Heartbeat(self.progress, self.rank, nodes, key, patience)
        self.diagnosis = Noted(self.progress, node_memory, self.rank - nodes.first[self.parts.node])
        self.log: Log | None = None
        self.serve: Callable[[], object] | None = None
        self.inside: Callable[[], str] | None = None
        self.doing = ""
        self._main = threading.get_ident()  # the thread that runs the program
        self._left: dict[int, Sequence[bytes]] = {}  # what all have brought to the collective that was left last
        self._overdue: int | None = None  # ticket of a collective at which a wait timed out: the arrival still counts
        holders[key] = self

    def new_run(self, run: int) -> None:
        """Forget the previous run."""
        self.node_memory.new_run()
        self.serve = self.inside = self._overdue = None
        self._left.clear()
        self.far.taken()
        with self.progress.lock:  # or the service thread would take messages of the previous run in between
            self._run, self._made = run, 0
            self._rounds.begin_run(run)
            self.network.begin_run()
            self.cell_service.begin_run()
            self.clocks.begin_run()
            self.progress.begin_run(run)

    def end_waits(self) -> None:
        """End the waits of a run that has failed, on this node, for processors of other nodes."""
        self.cell_service.end_run(lambda: self._end_waits(wait.INTERRUPTED))

    def packets_left(self) -> bool:
        return self.network.used

    def on_a_stream(self) -> bool:
        return threading.get_ident() != self._main

    def deadline(self, timeout: float | None) -> int:
        return wait.deadline_after(timeout, time.monotonic_ns())

    def clock(self) -> float:
        return time.perf_counter() + self.clocks.offset

    def work(self, cycles: float, seconds: float) -> None:
        """Do nothing: here, work takes its own time."""

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        return in_parts(self, self._allocated(shape, dtype), shape, dtype)

    def _allocated(self, shape: tuple[int, ...], dtype: np.dtype[Any], at: int | None = None) -> Name:
        """Make the parts of a new array on all nodes, or on one; return its name."""
        self._made += 1
        name, first = Name(self._run, self._made), self._nodes.first[self.parts.node]
        offset = self.parts.make(name, math.prod(shape), dtype, at) if self.rank == first else 0
        blocks = self.exchange(f"allocation of {dtype}{list(shape)}", offset.to_bytes(8, "little"))
        if self.rank != first:
            self.parts.place(name, math.prod(shape), dtype, at, int.from_bytes(blocks[first], "little"))
        return name

    def cells(self, n: int, dtype: np.dtype[Any], words: int, retries: int, at: int | None, full: bool) -> Cells:
        node = None if at is None else self._nodes.of[at]
        name = self._allocated((n,), storage(words), node)
        cells = self.attached_cells(About(name, n, dtype, words, retries, node))
        if full and self.rank == self._nodes.first[self.parts.node]:
            make_full(cells)
        if not full:  # otherwise the caller does
            self.synchronise("end of allocation")
        return cells

    def attached_cells(self, about: About) -> Cells:
        """Return the cells of a description; see `Holder`."""
        node, threads = self.parts.node, self.node_memory.threads
        return CellsOnNodes(self, about, self._nodes, node, self.parts.block(about.name), threads)

    def cell(self, node: int, request: Request) -> tuple[int, int]:
        """Have a request carried out on another node; see `Holder`."""
        status, bits = self.cell_service.ask(self._nodes.server(node, self.rank), request)
        if status == wait.ABORTED:  # the other node knows already that the run ends, and this one will in a moment
            self.progress.until(lambda: False, time.monotonic_ns() + SOON)
        return status, bits

    def fill(self, array: GlobalArray, values: NDArray[Any]) -> None:
        mine, at = share(array.size, self.rank, self.size), self.parts.range(array.size).start
        part = self.parts.own(elements_of(array).name)
        part[mine.start - at : mine.stop - at] = np.broadcast_to(values, array.shape).flat[mine]

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        self._refuse_inside("copy_in")
        if out is not None:
            part = np.asarray(array.stand_in()[index])
            must_agree(part.shape, part.dtype, out)
        found: NDArray[Any] = elements_of(array).read(index, out)
        return found

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        self._refuse_inside("copy_out")
        elements_of(array).write(index, values)

    def node_block(self, array: GlobalArray) -> tuple[int, NDArray[Any]]:
        return self.parts.range(array.size).start, self.parts.own(elements_of(array).name)

    def fence(self) -> None:
        self.parts.fence()

    def attached(self, name: Name, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Return the array of a name; see `Holder`."""
        return in_parts(self, name, shape, dtype)

    def read(self, name: Name, shape: tuple[int, ...], found: Selected, into: NDArray[Any]) -> None:
        """Read elements of any processors; see `Holder`."""
        self.parts.read(name, shape, found, into)

    def write(self, name: Name, shape: tuple[int, ...], found: Selected, values: NDArray[Any], field: Any) -> None:
        """Write elements of any processors; see `Holder`."""
        self.parts.write(name, shape, found, values, field)

    def synchronise(self, description: str, timeout: float | None = None, vote: bool = False) -> int:
        ticket, again = self._overdue, self._overdue is not None and description == self.doing
        if not again or ticket is None:
            ticket = self._arrive(description, vote)
        self._overdue = ticket
        try:
            votes = self.leave(ticket, description, timeout)
        except Aborted:
            self._overdue = None
            raise
        self._overdue = None
        return votes

    def arrive(self, description: str, vote: bool = False, block: Sequence[Buffer] | None = None) -> int:
        if self.log is not None:
            self.log.begins(description)
        return self._arrive(description, vote, block)

    def _arrive(self, description: str, vote: bool = False, block: Sequence[Buffer] | None = None) -> int:
        if self.inside is not None:
            self._refuse_inside(description)
        if self._overdue is not None:
            raise WaitTimeout(
                f"processor {self.rank} timed out at {self.doing!r}, where its arrival still counts, and now comes to "
                f"{description!r}; first call the earlier collective again, which goes on waiting"
            )
        self.doing = description
        self._go_on()
        return self._rounds.arrive(signature(description), bool(vote), b"".join(block or ()))

    def passed(self, ticket: int) -> bool:
        self.progress.look()
        if self._rounds.passed(ticket):
            return True
        self._go_on()
        return False

    def agreed(self, ticket: int) -> bool:
        """See `Port`; the messages of the round may come after those that have ended the run."""
        end = time.monotonic() + LATE
        while not (passed := self._rounds.passed(ticket)) and time.monotonic() < end:
            if not self.progress.look():
                time.sleep(SHORTEST)
        return passed and self._rounds.agreed(ticket)

    def leave(self, ticket: int, description: str, timeout: float | None = None) -> int:
        self.doing = description
        if self.log is not None:
            self.log.waits(description)
        deadline = 0 if timeout is None else self.deadline(timeout)
        if not self._until_passed(ticket, deadline):
            if self.log is not None:
                self.log.timed_out(description)
            raise WaitTimeout(
                f"processor {self.rank} waited {timeout} s at {description!r} and not all of the {self.size} "
                "processors arrived; give it longer, or call it again, which goes on waiting"
            )
        if not self._rounds.agreed(ticket):
            self.progress.end(wait.MISMATCHED)
            raise Mismatch(description)
        _, votes, blocks = self._rounds.taken(ticket)
        self._left, self.doing = {ticket: blocks}, ""
        if self.log is not None:
            self.log.passed(description)
        return votes

    def _until_passed(self, ticket: int, deadline: int) -> bool:
        ready = partial(self._rounds.passed, ticket)
        serve = self.serve
        if serve is None or self.on_a_stream():
            return self.progress.until(ready, deadline)
        while True:
            serve()  # also if all have arrived: what they sent before has come, too
            if ready():
                return True
            if not self.progress.until(lambda: ready() or self.network.waiting(BOTH), deadline):
                return False

    def blocks(self, ticket: int) -> list[Buffer]:
        return list(self._left.pop(ticket)) or [b""] * self.size

    def exchange(self, description: str, *parts: Buffer) -> list[Buffer]:
        ticket = self._arrive(description, block=parts)
        self.leave(ticket, description)
        return self.blocks(ticket)

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        raise without_memory("a loop on global arrays")

    def _go_on(self) -> None:
        """Raise an error if the run ends."""
        if self.progress.cause == wait.MISMATCHED:
            raise Mismatch(self.doing)
        if self.progress.cause:
            raise Aborted

    def _address(self, request: Request) -> int:
        """Return the address of a cell of this node."""
        part, block = self.parts.own(request.name), self.parts.block(request.name)
        return block.segment.address + block.offset + request.cell * part.dtype.itemsize

    def _end_waits(self, cause: int) -> None:
        """End the waits of the threads of this node: of the streams of its processors."""
        core().abort(self.node_memory.segment.address, cause, self.rank)

    def _refuse_inside(self, what: str) -> None:
        """Raise an error if a handler of a message runs."""
        if self.inside is not None:
            raise HandlerError(f"{self.inside()} called {what!r}, which no handler may do")
