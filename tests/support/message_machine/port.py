"""The port of a processor that reaches all others by messages only."""

import contextlib
import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.memory.cells import Cells
from smp._runtime.program.messages.network import Packet, Plain
from smp._runtime.program.place import Place
from smp._runtime.program.port import Buffer, Diagnosis, Mismatch, Output, must_agree, without_memory
from smp._runtime.program.processor import share
from smp._runtime.program.records.log import Log
from smp._runtime.protocols import wait
from smp.errors import Aborted, HandlerError, WaitTimeout

from .network import ANSWERS, Arrived, Failed, Network, Posted, Printed, Shown
from .parts import Client, in_parts, make, parts_of


class Noted(Diagnosis):
    """Diagnosis that notes where the processor is and sends its failure to all others."""

    def __init__(self, network: Network, rank: int) -> None:
        self._network, self._rank, self._place, self.kind = network, rank, Place(), 0

    def begin(self, program: Callable[..., object]) -> None:
        code = getattr(program, "__code__", None)
        if code is not None:
            self._place = Place(file=code.co_filename, line=code.co_firstlineno)

    def mark(self, step: int, phase: int, label: str) -> None:
        self._place = Place(step, label, phase, self._place.file, self._place.line)

    def place(self) -> Place:
        return self._place

    def fail(self) -> None:
        self.kind = wait.RAISED
        for rank in range(self._network.size):
            if rank != self._rank:
                self._network.send(("program", rank), Failed(self.kind))

    def cause(self) -> int:
        return self.kind


class Mailbox:
    """The two networks of a processor: queues without a limit; see `smp._runtime.program.port.Network`."""

    longest, handlers = 20, None
    loops = None
    transmissions = None

    def __init__(self, port: "MessagePort", network: Network) -> None:
        self._port, self._network = port, network
        self.came: tuple[deque[Packet], deque[Packet]] = deque(), deque()
        self._turn = 0  # the network at which the next poll looks first
        plain = Plain(self.try_poll)
        self.send_numbers, self.take, self.take_soon = plain.send_numbers, plain.take, plain.take

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        self._network.send(("program", to), Posted(network, (self._port.rank, head, data)))
        return True

    def try_poll(self, networks: int) -> tuple[int, Packet] | None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._port.take(0.0)
        for network in (self._turn, 1 - self._turn):
            if networks >> network & 1 and self.came[network]:
                self._turn = 1 - network
                return network, self.came[network].popleft()
        return None

    def sent_numbers(self) -> int:
        return 0

    def wait(self, doing: str, networks: int, deadline: int = 0, room: tuple[int, int] | None = None) -> bool:
        while not any(networks >> network & 1 and self.came[network] for network in (0, 1)):
            left = (deadline - time.monotonic_ns()) * 1e-9 if deadline else None
            try:
                self._port.take(None if left is None else max(0.0, left))
            except queue.Empty:
                return False
        return True


class SentOutput(Output):
    """Output that sends lines to the parent, which replies when it has shown them."""

    def __init__(self, port: "MessagePort", network: Network) -> None:
        self._port, self._network, self._sent = port, network, 0

    def show(self, text: str, lines: int, error: bool) -> None:
        self._sent += lines
        self._network.send(ANSWERS, (self._port.rank, Printed(text, lines, error)))

    def settled(self) -> bool:
        with contextlib.suppress(queue.Empty):
            while True:
                self._port.take(0.0)
        return self._shown == self._sent

    def were_shown(self, lines: int) -> None:
        self._shown += lines


class MessagePort(Client):
    """Port of a processor for one run; see `smp._runtime.program.port.Port`."""

    memory = node_memory = far = clocks = priced = expect = None
    serve: Callable[[], object] | None = None
    inside: Callable[[], str] | None = None
    log: Log | None

    def __init__(self, network: Network, rank: int, run: int) -> None:
        super().__init__(network, ("program", rank))
        self.rank, self.size, self._run = rank, network.size, run
        self.diagnosis = Noted(network, rank)
        self.network = Mailbox(self, network)
        self._made = self._collectives = 0
        self._arrived: dict[int, dict[int, Arrived]] = {}
        self.output, self.log = SentOutput(self, network), None
        self._left: dict[int, list[Buffer]] = {}  # what all have brought to the collective that was left last
        self._overdue = ""  # the collective at which a wait timed out; the others have the arrival

    def packets_left(self) -> bool:
        return any(self.network.came)

    def on_a_stream(self) -> bool:
        return False

    def deadline(self, timeout: float | None) -> int:
        return wait.deadline_after(timeout, time.monotonic_ns())

    def work(self, cycles: float, seconds: float) -> None:
        pass

    def clock(self) -> float:
        return time.perf_counter()

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        self.exchange(f"allocation of {dtype}{list(shape)}", b"")
        self._made += 1
        name = (self._run, self._made)
        make(self.mail, name, shape, dtype, self.rank)
        return in_parts(self.mail, name, shape, dtype)

    def cells(self, n: int, dtype: np.dtype[Any], words: int, retries: int, at: int | None, full: bool) -> Cells:
        raise without_memory("cells")

    def fill(self, array: GlobalArray, values: NDArray[Any]) -> None:
        mine = share(array.size, self.rank, self.size)
        given = np.empty(array.shape, array.dtype)
        given[...] = values
        self.write_at(parts_of(array), np.arange(array.size)[mine], given.reshape(-1)[mine])
        self.fence()

    def _refuse_inside(self, what: str) -> None:
        if self.inside is not None:
            raise HandlerError(f"{self.inside()} called {what!r}, which no handler may do")

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        self._refuse_inside("copy_in")
        found = self.read(parts_of(array), index)
        if out is None:
            return found
        must_agree(found.shape, found.dtype, out)
        out[...] = found
        return out

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        self._refuse_inside("copy_out")
        self.write(parts_of(array), index, values)

    def node_block(self, array: GlobalArray) -> tuple[int, NDArray[Any]]:
        raise without_memory("array.view")

    def synchronise(self, description: str, timeout: float | None = None, vote: bool = False) -> int:
        return sum(block == b"1" for block in self._together(description, b"01"[vote : vote + 1], timeout))

    def arrive(self, description: str, vote: bool = False, block: Sequence[Buffer] | None = None) -> int:
        if self.log is not None:
            self.log.begins(description)
        return self._begin(description, b"01"[vote : vote + 1] if block is None else b"".join(block))

    def blocks(self, ticket: int) -> list[Buffer]:
        return self._left.pop(ticket)

    def passed(self, ticket: int) -> bool:
        if self.diagnosis.kind:
            raise Aborted
        arrived = self._arrived.setdefault(ticket, {})
        while len(arrived) < self.size:
            try:
                self.take(0.0)
            except queue.Empty:
                return False
        return True

    def agreed(self, ticket: int) -> bool:
        arrived = self._arrived.get(ticket, {})
        return len(arrived) == self.size and len({one.description for one in arrived.values()}) == 1

    def leave(self, ticket: int, description: str, timeout: float | None = None) -> int:
        self._left = {ticket: self._end(ticket, description, timeout)}
        return sum(block == b"1" for block in self._left[ticket])

    def exchange(self, description: str, *parts: Buffer) -> list[Buffer]:
        return self._together(description, b"".join(parts), None)

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        raise without_memory("a loop on global arrays")

    def _begin(self, description: str, block: bytes) -> int:
        if self.diagnosis.kind:
            raise Aborted
        self._refuse_inside(description)
        if self._overdue:
            raise WaitTimeout(f"processor {self.rank} timed out at {self._overdue!r} and now comes to {description!r}")
        self._collectives += 1
        for rank in range(self.size):
            self.mail.send(("program", rank), Arrived(self._collectives, self.rank, description, block))
        return self._collectives

    def _together(self, description: str, block: bytes, timeout: float | None) -> list[Buffer]:
        number = self._collectives if self._overdue == description else self._begin(description, block)
        self._overdue = description
        blocks = self._end(number, description, timeout)
        self._overdue = ""
        return blocks

    def _end(self, number: int, description: str, timeout: float | None) -> list[Buffer]:
        if self.diagnosis.kind:
            raise Aborted
        if self.log is not None:
            self.log.waits(description)
        deadline = wait.deadline_after(timeout, time.monotonic_ns())
        arrived = self._arrived.setdefault(number, {})
        while len(arrived) < self.size:
            if self.serve is not None:
                self.serve()
                if len(arrived) == self.size:
                    break
            try:
                self.take(None if timeout is None else max(0.0, (deadline - time.monotonic_ns()) * 1e-9))
            except queue.Empty:
                if self.log is not None:
                    self.log.timed_out(description)
                raise WaitTimeout(
                    f"processor {self.rank} waited {timeout} s at {description!r} and not all of the {self.size} "
                    "processors arrived"
                ) from None
        if not self.agreed(number):
            self.diagnosis.kind = wait.MISMATCHED
            raise Mismatch(description)
        del self._arrived[number]
        if self.log is not None:
            self.log.passed(description)
        return [arrived[rank].block for rank in range(self.size)]

    def took(self, message: Any) -> None:
        if isinstance(message, Arrived):
            self._arrived.setdefault(message.number, {})[message.rank] = message
        elif isinstance(message, Posted):
            self.network.came[message.network].append(message.packet)
        elif isinstance(message, Failed):
            self.diagnosis.kind, self._overdue = message.cause, ""
            raise Aborted
        elif isinstance(message, Shown):
            self.output.were_shown(message.lines)
        else:
            super().took(message)
