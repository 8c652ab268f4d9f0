"""Collectives of machines of several nodes: the messages that they need, and what holds them up."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.machines import HARD
from support.nodes import on_nodes
from support.sampled import each

import smp
from smp._runtime.nodes.collectives.meeting import ROOM
from smp._runtime.nodes.holders import holders
from smp._runtime.nodes.layout import Nodes
from smp._runtime.nodes.port import NodesPort
from smp._runtime.program.port import Output
from smp._runtime.shared_memory.node_memory import made, memory_of
from smp.errors import CollectiveMismatch, ProcessorDied

pytestmark = pytest.mark.mpi
TIMES = 10


@pytest.fixture(scope="module")
def four() -> Iterator[smp.Machine]:
    """Two nodes of two processors each."""
    with on_nodes(2, 2) as machine:
        yield machine


def own_port() -> NodesPort:
    """Return the port of the processor that calls this."""
    (port,) = holders.values()
    assert isinstance(port, NodesPort)
    return port


def together(proc: smp.Processor) -> int:
    return int(proc.reduce(proc.rank))


# Messages.


def sent_by(act: Callable[[], object]) -> float:
    """Return the number of messages that this processor sends in an act, all of them before its end."""
    progress = own_port().progress
    act()
    before = progress.sent
    for _ in range(TIMES):
        act()
    return (progress.sent - before) / TIMES


def messages(proc: smp.Processor, array: smp.GlobalArray) -> list[float]:
    def superstep(writer: int | None) -> None:
        with proc.superstep() as step:
            step.compute()
            if proc.rank == writer:
                step.copy_out(array, proc.rank, 1.0)  # to its own node

    return [
        sent_by(proc.barrier),
        sent_by(lambda: proc.count(True)),
        sent_by(lambda: proc.reduce(1.0)),
        sent_by(lambda: superstep(None)),
        sent_by(lambda: superstep(1)),
    ]


def test_only_the_first_processor_of_a_node_sends_messages(four: smp.Machine) -> None:
    """A superstep has two barriers, and a third if a processor writes."""
    first, other = [1, 1, 1, 2, 3], [0] * 5
    assert four.run(messages, four.zeros(4)).results == [first, other, first, other]


def test_three_nodes_exchange_messages_in_two_steps() -> None:
    def program(proc: smp.Processor) -> tuple[Any, ...]:
        votes = proc.count(proc.rank % 2 == 0), proc.count(proc.rank == 3), proc.any(False)
        blocks = own_port().exchange("ranks", bytes([proc.rank]) * (proc.rank % 3))
        return sent_by(proc.barrier), *votes, [bytes(block) for block in blocks]

    with on_nodes(1, 3, 1) as machine:
        results = machine.run(program).results
    expected = 3, 1, False, [bytes([rank]) * (rank % 3) for rank in range(5)]
    assert results == [(sent, *expected) for sent in (2, 2, 0, 0, 2)]


@pytest.mark.parametrize("lengths", [(0, ROOM, 0, 0), (0, ROOM + 1, 0, 3), (ROOM + 1, 2 * ROOM, 1, ROOM)])
def test_bytes_need_not_fit_into_the_memory_of_the_node(four: smp.Machine, lengths: tuple[int, ...]) -> None:
    def program(proc: smp.Processor) -> bool:
        port, good = own_port(), True
        for turn in range(8):  # more than there are sets of slots
            blocks = port.exchange(f"turn {turn}", bytes([turn + proc.rank]) * lengths[proc.rank])
            good &= [bytes(block) for block in blocks] == [bytes([turn + r]) * n for r, n in enumerate(lengths)]
        return good

    assert four.run(program).results == [True] * 4


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_collective_goes_on_while_a_processor_computes(four: smp.Machine, rank: int) -> None:
    """Here the service thread of the first processor takes what its node has brought, and passes it on."""

    def program(proc: smp.Processor) -> float:
        proc.barrier()
        began = time.perf_counter()
        ticket = proc.split.count(True)
        if proc.rank == rank:
            while time.perf_counter() - began < 1.0:
                pass
        assert ticket.wait() == 4
        return time.perf_counter() - began

    seconds = four.run(program).results
    assert all(each < 0.7 for other, each in enumerate(seconds) if other != rank), seconds


# Failures.


@pytest.mark.parametrize("others", [{0}, {1}, {2, 3}, {1, 3}])
def test_different_collectives_are_found_on_a_node_and_between_nodes(four: smp.Machine, others: set[int]) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank in others:
            proc.reduce(1.0)
        else:
            proc.barrier()

    with pytest.raises(CollectiveMismatch, match=r"barrier at .*test_mpi_collectives.py:\d+"):
        four.run(program)
    assert four.run(together).results == [6] * 4


@pytest.mark.parametrize("rank", each(2, [1, 2]))
def test_a_processor_may_die_while_its_node_waits(rank: int) -> None:
    def program(proc: smp.Processor) -> None:
        proc.barrier()
        if proc.rank == rank:
            time.sleep(0.3)  # the other one of the node has come to the barrier
            os.kill(os.getpid(), signal.SIGKILL)
        proc.barrier()

    with on_nodes(2, 2) as machine:
        machine.run(together)
        began = time.monotonic()
        with pytest.raises(ProcessorDied, match=f"processor {rank} of 4"):
            machine.run(program)
        assert time.monotonic() - began < HARD


class Sent:
    """Mail to which nothing comes, and which keeps what is sent."""

    size = 3

    def __init__(self, rank: int) -> None:
        self.rank, self.sent = rank, list[Any]()

    def take(self) -> None:
        return None

    def send(self, to: int, message: tuple[Any, ...]) -> None:
        self.sent.append((to, message))

    def busy(self) -> bool:
        return False

    def give(self, to: int, tag: int, octets: Any) -> Any:
        raise AssertionError("there are no arrays")

    receive = give


def test_a_processor_that_finds_something_new_in_the_memory_of_its_node_is_not_stuck() -> None:
    """Otherwise a deadlock could be found while the last part of a node lies there."""
    segment, mails = made(2), [Sent(0), Sent(1)]
    memories = [memory_of(segment, rank, rank, 2, False) for rank in range(2)]
    ports = [
        NodesPort(mail, Nodes([0, 0, 1]), memory, "key", Output(), spin=False, patience=30.0)
        for mail, memory in zip(mails, memories, strict=True)
    ]
    for port in ports:
        port.new_run(1)
    progress = ports[0].progress
    ticket = ports[0].arrive("a collective")
    progress._waits_for = lambda: ports[0].passed(ticket)
    assert progress.stuck()
    ports[1].arrive("a collective")
    assert not progress.stuck()
    assert [(to, message[0]) for to, message in mails[0].sent] == [(2, "round")]
    assert progress.stuck()
    assert not mails[1].sent
