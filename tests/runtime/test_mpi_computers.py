"""Machines of MPI over computers that share nothing but a network: connections, delays, and a network that is lost."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.computers import Computers, computers, missing
from support.machines import HARD, ROOT, Script
from support.nodes import NETWORK

import smp
from smp.errors import DeadlockError, MachineClosed, MachineError, ProcessorDied, ProcessorRaised

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

N = 1 << 20
LATENCY = 0.002
PATIENCE = 9.0
NETWORKS = {"tcp of libfabric": NETWORK, "tcp of UCX": ["-genv", "UCX_TLS", "tcp"]}
"""Networks of MPICH; UCX by itself would notice that the computers have one kernel, and copy from memory to memory."""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Computers]:
    """Two nodes and the parent, each on its own computer."""
    with computers(tmp_path_factory.mktemp("computers")) as built:
        yield built


@pytest.fixture(params=NETWORKS)
def four(two: Computers, request: pytest.FixtureRequest) -> Iterator[smp.Machine]:
    """Two processors on each node."""
    with two.opened(NETWORKS[request.param]) as machine:
        yield machine
    assert not two.left(HARD)


def shifted(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> float:
    """Copy a block of another node."""
    mine, far = proc.block(len(a)), (proc.rank + 2) % proc.size
    part = len(a) // proc.size
    with proc.superstep() as step:
        found = step.copy_in(a, slice(part * far, part * (far + 1)))
        step.compute()
        step.copy_out(b, mine, found)
    return float(proc.reduce(found.sum()))


def test_programs_run_on_both_computers(two: Computers, four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[str, int, int]:
        came: list[int] = []
        passed = proc.handler(lambda message, n: came.append(n))
        cells = proc.cells(proc.size)
        cells.writeef((proc.rank + 2) % proc.size, proc.rank)
        proc.send((proc.rank + 1) % proc.size, passed, proc.rank)
        proc.wait_until(lambda: came)
        proc.quiet()
        return socket.gethostname(), int(cells.readfe(proc.rank)), came[0]

    names = [name for name in two.nodes for _ in range(2)]
    assert four.run(program).results == list(zip(names, [2, 3, 0, 1], [3, 0, 1, 2], strict=True))
    a, b = four.array(np.arange(float(N))), four.zeros(N)
    before = two.crossed()
    assert four.run(shifted, a, b).results == [N * (N - 1) / 2] * 4
    sent = [after - first for after, first in zip(two.crossed(), before, strict=True)]
    assert all(8 * N // 2 <= count <= 8 * N for count in sent), sent
    np.testing.assert_array_equal(b[:], np.roll(np.arange(float(N)), -N // 2))


def test_all_processors_may_be_on_one_other_computer(two: Computers) -> None:
    def program(proc: smp.Processor, a: smp.GlobalArray) -> int:
        with proc.superstep() as step:
            found = step.copy_in(a, slice(None))
            step.compute()
            step.copy_out(a, proc.block(len(a)), found[::-1][proc.block(len(a))])
        cells = proc.cells(2)
        cells.writeef(1 - proc.rank, proc.rank)
        return int(cells.readfe(proc.rank))

    with smp.mpi(2, launcher=two.words(nodes=1)) as machine:
        assert machine.nodes == [0, 0]
        a = machine.array(np.arange(10.0))
        assert machine.run(program, a).results == [1, 0]
        np.testing.assert_array_equal(a[:], np.arange(10.0)[::-1])
        with pytest.raises(DeadlockError):
            machine.run(lambda proc: proc.cells(2).readfe(0))
        assert machine.run(together).results == [1, 1]
    assert not two.left(HARD)


def together(proc: smp.Processor) -> int:
    return int(proc.reduce(proc.rank))


def test_an_exception_ends_the_run_and_the_machine_goes_on(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 3:
            raise ArithmeticError("mine")
        proc.barrier()

    def stuck(proc: smp.Processor) -> None:
        proc.cells(4).readfe(3 - proc.rank)

    with pytest.raises(ProcessorRaised, match="processor 3 of 4 raised ArithmeticError: mine"):
        four.run(program)
    with pytest.raises(DeadlockError):
        four.run(stuck)
    assert four.run(together).results == [6] * 4


@pytest.mark.parametrize("rank", range(4))
def test_a_processor_that_dies_closes_the_machine_and_leaves_nothing(two: Computers, rank: int) -> None:
    """The computers use the same numbers for their processes, but the error names the right processor."""

    def program(proc: smp.Processor) -> None:
        proc.barrier()
        if proc.rank == rank:
            os.kill(os.getpid(), signal.SIGKILL)
        proc.barrier()

    with two.opened() as machine:
        began = time.monotonic()
        with pytest.raises(ProcessorDied, match=f"processor {rank} of 4 was killed by SIGKILL"):
            machine.run(program)
        assert time.monotonic() - began < HARD
        with pytest.raises(MachineClosed):
            machine.run(together)
    assert not two.left(HARD)


ENDLESS = """
    import sys, time
    sys.path[:0] = [{tests!r}]
    import smp
    with smp.mpi(4, launcher={words!r}) as machine:
        machine.run(lambda proc: proc.reduce(1))
        print("runs", flush=True)
        machine.run(lambda proc: proc.barrier() if proc.rank else time.sleep(60))
"""


def test_no_process_is_left_when_the_parent_is_killed(two: Computers, script: Script) -> None:
    process = script(ENDLESS.format(tests=str(ROOT / "tests"), words=two.words()))
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    assert len(two.processes(1)) >= 2
    time.sleep(0.3)
    process.kill()
    process.wait()
    assert not two.left(HARD)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_lost_network_ends_the_run_and_the_processes_of_both_computers(two: Computers, network: str) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            time.sleep(200)
        proc.barrier()

    with two.opened(NETWORKS[network], PATIENCE) as machine:
        machine.run(together)
        began = time.monotonic()
        timer = threading.Timer(0.5, two.connected, (1, False))
        timer.start()
        try:
            with pytest.raises((ProcessorDied, MachineError), match=r"connection to processor [23] of 4.* was lost"):
                machine.run(program)
            assert time.monotonic() - began < 2 * PATIENCE
            with pytest.raises(MachineClosed, match="was lost"):
                machine.run(together)
            assert not two.left(15.0)
        finally:
            timer.join()
            two.connected(1, True)


def test_a_network_between_the_computers_is_lost_while_the_parent_reaches_both(two: Computers) -> None:
    def program(proc: smp.Processor) -> None:
        for _ in range(1000):
            proc.barrier()
            time.sleep(0.1)

    with two.opened(patience=PATIENCE) as machine:
        machine.run(together)
        began = time.monotonic()
        timer = threading.Timer(0.5, two.between, (False,))
        timer.start()
        try:
            with pytest.raises(ProcessorDied, match="no message has passed between processors 0 and 2 of 4 for 9 s"):
                machine.run(program)
            assert PATIENCE <= time.monotonic() - began < 2 * PATIENCE
        finally:
            timer.join()
            two.between(True)
    assert not two.left(15.0)


def test_a_delay_of_the_network_makes_programs_slow_and_not_wrong(tmp_path: Path) -> None:
    def barriers(proc: smp.Processor) -> float:
        proc.barrier()
        began = time.monotonic()
        for _ in range(200):
            proc.barrier()
        return (time.monotonic() - began) / 200

    def ring(proc: smp.Processor) -> int:
        """Pass a value round by cells; all processors wait nearly all the time."""
        cells = proc.cells(proc.size)
        if proc.rank == 0:
            cells.writeef(0, 0)
        for _ in range(50):
            value = cells.readfe(proc.rank)
            cells.writeef((proc.rank + 1) % proc.size, value + 1)
        proc.barrier()
        return int(cells.readxx(0))

    with computers(tmp_path, LATENCY) as far:
        with far.opened() as machine:
            assert min(machine.run(barriers).results) >= LATENCY
            assert machine.run(ring).results == [200] * 4
            a, b = machine.array(np.arange(float(N))), machine.zeros(N)
            assert machine.run(shifted, a, b).results == [N * (N - 1) / 2] * 4
            np.testing.assert_array_equal(b[:], np.roll(np.arange(float(N)), -N // 2))
        assert not far.left(HARD)
