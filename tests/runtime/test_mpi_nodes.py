"""Machines of MPI over several nodes: what crosses the network, arrays, failures, and what they leave behind."""

import contextlib
import errno
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from support.machines import HARD, ROOT, Script, gone
from support.nodes import DEATHS, NETWORK, UNTOLD, on_nodes
from support.sampled import campaigns

import smp
from smp._runtime.host.processes import Processes
from smp._runtime.mpi import addresses, jobs
from smp._runtime.nodes.layout import Nodes
from smp._runtime.nodes.messages import Name, Request
from smp._runtime.nodes.port import NodesPort
from smp._runtime.program.failures import Lost
from smp._runtime.program.port import Output
from smp._runtime.program.processor import share
from smp._runtime.program.records.whole_program import row_of
from smp._runtime.protocols import wait
from smp._runtime.shared_memory.node_memory import made, memory_of
from smp.compiled import readfe, writeef
from smp.errors import (
    CollectiveMismatch,
    DeadlockError,
    MachineClosed,
    MachineError,
    ProcessorDied,
    ProcessorRaised,
    Unsupported,
    WaitTimeout,
)

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def four() -> Iterator[smp.Machine]:
    """Two nodes of two processors each."""
    with on_nodes(2, 2) as machine:
        yield machine


def together(proc: smp.Processor) -> int:
    return int(proc.reduce(proc.rank))


def node_of(proc: smp.Processor) -> tuple[int, int]:
    """Return the lowest rank of MPI on this processor's node, and its own rank of MPI."""
    from mpi4py import MPI

    return MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED).bcast(MPI.COMM_WORLD.rank), MPI.COMM_WORLD.rank


def test_processors_of_a_node_are_neighbours_wherever_the_launcher_puts_ranks() -> None:
    words = [jobs.mpiexec(), "-launcher", "fork", "-hosts", "a:1,b:1", *NETWORK]
    with smp.mpi(4, launcher=words) as machine:
        assert machine.run(node_of).results == [(0, 0), (0, 2), (1, 1), (1, 3)]
        assert machine.run(together).results == [6] * 4


def loopback() -> int:
    """Return the bytes that the loopback has carried."""
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def test_elements_of_another_node_cross_the_network(four: smp.Machine) -> None:
    """Otherwise these tests would test nothing: the library would pass all messages through memory."""
    n = 1 << 22

    def program(proc: smp.Processor, array: smp.GlobalArray) -> float:
        with proc.superstep() as step:
            mine = step.copy_in(array) if proc.rank == 0 else np.zeros(0)
        return float(mine.sum())

    array = four.zeros(n)
    before = loopback()
    four.run(program, array)
    assert 8 * n // 2 <= loopback() - before <= 8 * n


def test_arrays_live_as_long_as_they_are_used(four: smp.Machine) -> None:
    def make(proc: smp.Processor, keep: bool) -> Any:
        array = proc.array(np.arange(10))
        return array if keep else array.shape

    def parts(proc: smp.Processor) -> int:
        return len(proc._port.parts._parts)  # type: ignore[attr-defined]

    begin = four.run(parts).results[0]
    kept = four.run(make, True).results[2]
    four.run(make, False)
    given = four.array(np.arange(5.0))
    assert four.run(parts).results == [begin + 2] * 4
    assert kept[:].tolist() == list(range(10))
    assert four.run(lambda proc, array: array.shape, kept).results == [(10,)] * 4
    del kept, given
    assert four.run(parts).results == [begin] * 4


def test_elements_are_found_by_any_index(four: smp.Machine) -> None:
    whole = np.arange(7 * 5 * 3).reshape(7, 5, 3)
    indices: list[Any] = [
        ...,
        2,
        (slice(None), 1),
        (slice(5, None, -2), slice(None), [0, 2]),
        whole % 7 == 0,
        ([6, 0, 6], [1, 2, 1]),
        (np.newaxis, 3, ..., -1),
        slice(3, 3),
    ]

    def program(proc: smp.Processor, array: smp.GlobalArray) -> list[Any]:
        found = []
        for k, index in enumerate(indices):
            with proc.superstep() as step:
                found.append(step.copy_in(array, index))
                step.compute()
                if proc.rank == k % proc.size:
                    step.copy_out(array, index, -found[-1])
            with proc.superstep() as step:
                found.append(step.copy_in(array, index))
                step.compute()
                if proc.rank == k % proc.size:
                    step.copy_out(array, index, -found[-1])
        return found

    array = four.array(whole)
    for mine in four.run(program, array).results:
        for k, index in enumerate(indices):
            np.testing.assert_array_equal(mine[2 * k], whole[index])
            np.testing.assert_array_equal(mine[2 * k + 1], -whole[index])
    for index in indices:
        np.testing.assert_array_equal(array[index], whole[index])
        array[index] = whole[index] + 1
        np.testing.assert_array_equal(array[index], whole[index] + 1)
        array[...] = whole


def test_results_and_counts_are_those_of_the_host(four: smp.Machine) -> None:
    def program(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> float:
        mine = share(len(a), proc.rank, proc.size)
        with proc.superstep("transpose") as step:
            rows = step.copy_in(a, (slice(None), mine))
            step.compute()
            step.copy_out(b, mine, rows.T)
        return float(proc.reduce(rows.sum() / 3))

    found = []
    with smp.host(4) as host:
        for machine in (host, four):
            a, b = machine.array(np.random.default_rng(1).random((12, 12))), machine.zeros((12, 12))
            run = machine.run(program, a, b)
            counts = run.summary()[["step", "label", "hr", "hw", "m", "hr_bytes", "hw_bytes", "m_bytes"]].tolist()
            found.append((run.results, counts, b[:].tobytes()))
    assert found[0] == found[1]


# Accesses over a node's border.

FAR = ["far_reads", "far_writes", "messages"]


def all_to_all(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
    """Each processor writes a part of every row, and reads elements of every node's part of an array."""
    part = b.shape[1] // proc.size
    with proc.superstep("send") as step:
        step.compute()
        for other in range(proc.size):
            step.copy_out(b, (other, slice(part * proc.rank, part * (proc.rank + 1))), proc.rank)
    with proc.superstep("receive") as step:
        step.copy_in(b, proc.rank)
        step.copy_in(a, np.arange(proc.rank, len(a), proc.size))


def transpose(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
    """Each processor reads columns and writes rows, and then reads rows and writes columns."""
    mine = proc.block(len(a))
    with proc.superstep("columns to rows") as step:
        columns = step.copy_in(a, (slice(None), mine))
        step.compute()
        step.copy_out(b, mine, columns.T)
    with proc.superstep("rows to columns") as step:
        rows = step.copy_in(a, mine)
        step.compute()
        step.copy_out(b, (slice(None), mine), rows.T)


def test_accesses_over_the_border_of_a_node_are_counted(four: smp.Machine) -> None:
    """A processor has a row of b or three rows of the matrices; those of two other processors are far."""
    a, b = four.zeros(16), four.zeros((4, 12))
    run = four.run(all_to_all, a, b)
    assert run.steps[FAR].tolist() == [(0, 2 * 3, 2)] * 4 + [(2 * 1, 0, 1)] * 4
    assert run.summary()[[*FAR, "m_far"]].tolist() == [(0, 6, 2, 4 * 6), (2, 0, 1, 4 * 2)]
    assert b[:].tolist() == [np.repeat(range(4), 3).tolist()] * 4
    a, b = four.array(np.arange(144).reshape(12, 12)), four.zeros((12, 12))
    run = four.run(transpose, a, b)
    block = 3 * 3
    assert run.steps[FAR].tolist() == [(2 * block, 0, 1)] * 4 + [(0, 2 * block, 1)] * 4
    assert run.summary()[[*FAR, "m_far"]].tolist() == [(18, 0, 1, 72), (0, 18, 1, 72)]
    assert b[:].tolist() == a[:].T.tolist()


def test_far_accesses_are_those_of_each_processor_and_its_node() -> None:
    """A node has one processor and the other has two; each has four of the twelve elements."""

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep("all by one") as step:
            if proc.rank == 0:
                step.copy_in(array)
        with proc.superstep("all by all, in two copies") as step:
            step.copy_in(array, slice(0, 6))
            step.copy_in(array, slice(6, 12))
        with proc.superstep("to the first") as step:
            step.compute()
            step.copy_out(array, np.array([proc.rank, proc.rank, 3]), 1.0)
        with proc.superstep("nothing"):
            pass

    with on_nodes(1, 2) as machine:
        run = machine.run(program, machine.zeros(12))
    far = run.steps[FAR].tolist()
    assert far[:3] == [(8, 0, 1), (0, 0, 0), (0, 0, 0)]
    assert far[3:6] == [(8, 0, 2), (4, 0, 1), (4, 0, 1)]
    assert far[6:9] == [(0, 0, 0), (0, 3, 1), (0, 3, 1)]
    assert far[9:] == [(0, 0, 0)] * 3
    assert run.summary()[[*FAR, "m_far"]].tolist() == [(8, 0, 1, 8), (8, 0, 2, 16), (0, 3, 1, 6), (0, 0, 0, 0)]
    (whole,) = row_of(run)
    assert whole[[*FAR, "m_far"]].tolist() == (16, 3, 3, 30)


def test_far_accesses_of_a_superstep_that_failed_count_in_no_other(four: smp.Machine) -> None:
    array = four.zeros(12)

    def program(proc: smp.Processor, array: smp.GlobalArray, caught: bool) -> None:
        with contextlib.suppress(KeyError if caught else ()), proc.superstep() as step:
            step.copy_in(array)
            raise KeyError
        with proc.superstep() as step:
            step.copy_in(array, slice(3 * proc.rank, 3 * proc.rank + 3))

    assert four.run(program, array, True).steps[FAR].tolist() == [(0, 0, 0)] * 4
    with pytest.raises(ProcessorRaised):
        four.run(program, array, False)

    def ended(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep() as step:
            step.copy_in(array)
            step.compute()
            if proc.rank == 3:
                raise KeyError

    with pytest.raises(ProcessorRaised):
        four.run(ended, array)
    assert not four.run(all_to_all, four.zeros(0), four.zeros((4, 0))).summary()["m_far"].any()


def test_both_print_and_proc_print_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    def program(proc: smp.Processor) -> None:
        print(f"plain {proc.rank}")
        print(f"error {proc.rank}", file=sys.stderr)
        proc.print(f"shown {proc.rank}")

    with on_nodes(1, 1) as machine:
        machine.run(program)
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == [f"{word} {rank}" for word in ("plain", "shown") for rank in range(2)]
    assert sorted(err.splitlines()) == ["error 0", "error 1"]


# The memory of a node.


def test_each_node_has_its_part_of_an_array_in_its_memory(four: smp.Machine) -> None:
    """The processors of a node see the same elements, and copies from the own node cross no border."""

    @smp.stream
    def doubled(elements: Any, first: int, last: int) -> int:
        for k in range(first, last):
            elements[k] *= 2
        return last - first

    def program(proc: smp.Processor, array: smp.GlobalArray) -> Any:
        start, mine = proc.node_block(array)
        if proc.rank % 2 == 0:
            doubled(mine, 0, len(mine) // 2)
        proc.barrier()
        far = proc._port.parts.far.reads  # type: ignore[attr-defined]
        with proc.superstep() as step:
            found = step.copy_in(array, slice(start, start + len(mine)))
        return start, found.tolist(), proc._port.parts.far.reads - far  # type: ignore[attr-defined]

    array = four.array(np.arange(10))
    expected = [[0, 2, 4, 3, 4, 5], [12, 14, 8, 9]]
    assert four.run(program, array).results == [(6 * (k // 2), expected[k // 2], 0) for k in range(4)]
    assert array[:].tolist() == expected[0] + expected[1]


def test_streams_of_a_processor_work_as_on_the_host(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[int]:
        with proc.streams(3) as pool:
            return [future.result() for future in [pool.start(pow, k, 2) for k in range(10)]]

    def fails(proc: smp.Processor) -> None:
        with proc.streams(2) as pool:
            pool.start(lambda: 1 // (proc.rank - 2))
            proc.barrier()

    assert four.run(program).results == [[k * k for k in range(10)]] * 4
    for _ in range(2):
        with pytest.raises(ProcessorRaised, match="processor 2 of 4 raised ZeroDivisionError"):
            four.run(fails)
        assert four.run(program).results == [[k * k for k in range(10)]] * 4


def test_a_stream_that_waits_for_ever_is_a_deadlock(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            with proc.streams(2) as pool:
                known, futures = threading.Event(), []
                futures += [pool.start(lambda: (known.wait(), futures[1].result()))]
                futures += [pool.start(lambda: futures[0].result())]
                known.set()
                futures[0].result()
        proc.barrier()

    with pytest.raises(DeadlockError) as caught:
        four.run(program)
    assert str(caught.value).count("barrier") == 3
    assert four.run(together).results == [6] * 4


# Cells.


def test_cells_of_other_nodes_work_as_those_of_the_own(four: smp.Machine) -> None:
    """A value goes round all processors, by cells that each wait for."""

    def program(proc: smp.Processor, rounds: int) -> int:
        cells = proc.cells(proc.size)
        if proc.rank == 0:
            cells.writeef(0, 0)
        for _ in range(rounds):
            value = cells.readfe(proc.rank)
            cells.writeef((proc.rank + 1) % proc.size, value + 1)
        proc.barrier()
        return int(cells.readxx(0))

    assert four.run(program, 20).results == [80] * 4


VALUES: dict[str, tuple[Any, ...]] = {
    "f8": (2.5, 1, 9, -0.5, 4, 3, 6, 5),
    "i4": (2, 1, 9, -7, 4, 3, 6, 5),
    "b1": (True, 1, False, 0, True, False, True, False),
}
"""Values that a cell of each dtype can hold."""


def every_operation(cells: Any, dtype: str) -> list[Any]:
    first, more, tried, less, written, purged, last, end = VALUES[dtype]
    operations: list[Callable[[], Any]] = [
        lambda: cells.peek(-1),
        lambda: cells.try_readfe(7),
        lambda: cells.writeef(7, first),
        lambda: cells.readff(7),
        lambda: cells.fetch_add(7, more),
        lambda: cells.try_writeef(7, tried),
        lambda: cells.try_fetch_add(7, less),
        lambda: cells.full_together([0, 7]),
        lambda: cells.fill(0),
        lambda: cells.full_together([0, 7]),
        lambda: cells.writeff(7, written),
        lambda: cells.readxx(7),
        lambda: cells.purge(7, purged),
        lambda: cells.peek(7),
        lambda: cells.writexf(7, last),
        lambda: cells.try_writeff(7, end),
        lambda: cells.readfe(7),
        lambda: cells.purge(0),
    ]
    return [operation() for operation in operations]


@pytest.mark.parametrize("dtype", ["f8", "i4", "b1"])
def test_each_operation_has_the_same_result_near_and_far_and_in_the_parent(four: smp.Machine, dtype: str) -> None:
    def program(proc: smp.Processor, who: int, cells: Any) -> Any:
        return every_operation(cells, dtype) if proc.rank == who else None

    with smp.host(1) as host:
        expected = host.run(program, 0, host.cells(8, dtype)).results[0]
    for who in range(4):
        assert four.run(program, who, four.cells(8, dtype)).results[who] == expected
    cells = four.cells(8, dtype)
    assert every_operation(cells, dtype) == expected


def test_waits_at_cells_of_other_nodes_end(four: smp.Machine) -> None:
    """By their time, by a failure, and as a deadlock."""

    def late(proc: smp.Processor) -> float:
        cells, began = proc.cells(4), time.monotonic()
        with pytest.raises(WaitTimeout, match=r"readfe of cell \d waited 0.2 s and the cell did not become full"):
            cells.readfe(3 - proc.rank, timeout=0.2)
        return time.monotonic() - began

    def fails(proc: smp.Processor) -> None:
        cells = proc.cells(4)
        if proc.rank == 3:
            raise ArithmeticError
        cells.readff(3)

    def stuck(proc: smp.Processor) -> None:
        proc.cells(4).readfe(3 - proc.rank)

    assert min(four.run(late).results) >= 0.2
    for _ in range(2):
        with pytest.raises(ProcessorRaised, match="ArithmeticError"):
            four.run(fails)
        with pytest.raises(DeadlockError, match="all 4 streams wait"):
            four.run(stuck)
        assert four.run(together).results == [6] * 4
    with pytest.raises(WaitTimeout, match=r"cell 1 waited 0\.3 s"):
        four.cells(2).readfe(1, timeout=0.3)


def test_ctrl_c_ends_a_wait_of_the_parent_and_not_the_machine(four: smp.Machine) -> None:
    cells = four.cells(4)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cells.readfe(3)
    assert time.monotonic() - began < HARD
    cells.writeef(3, 7)
    assert cells.try_readfe(3) == (True, 7)
    assert four.run(together).results == [6] * 4
    with pytest.raises(Unsupported, match=r"proc.counters\(\)"):
        cells.counters()


def test_a_pin_with_too_few_cpus_is_refused_and_leaves_nothing(nothing_left: None) -> None:
    words = [jobs.mpiexec(), "-launcher", "fork", "-hosts", "a:1,b:1", *NETWORK]
    with pytest.raises(ValueError, match=r"pin=\[0\] must name a CPU for each of 2 processors"):
        smp.mpi(2, launcher=words, pin=[0])


def test_waiting_processors_are_served_in_the_order_in_which_they_came(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> Any:
        cells, order = proc.cells(1, at=2), proc.cells(1, full=True, at=0)
        time.sleep(0.1 * (3 - proc.rank))
        if proc.rank:
            got = cells.readfe(0)
            cells.writeef(0, got + 1)
            proc.barrier()
            return got
        time.sleep(0.2)
        cells.writeef(0, 0)
        proc.barrier()
        return order.peek(0)

    assert four.run(program).results == [(True, 0), 2, 1, 0]


def test_compiled_loops_use_cells_of_their_own_node(four: smp.Machine) -> None:
    @smp.stream
    def passed(rank: int, cells: Any, rounds: int) -> int:
        total = 0
        for k in range(rounds):
            writeef(cells, rank, k)
            total += readfe(cells, 1 - rank)
        return total

    def program(proc: smp.Processor) -> int:
        cells = [proc.cells(2, at=rank) for rank in (0, 2)]
        return int(passed(proc.rank % 2, cells[proc.rank // 2], 1000))

    assert four.run(program).results == [499500] * 4


def test_a_place_without_a_processor_is_refused(four: smp.Machine) -> None:
    with smp.host(2) as host:
        for machine in (host, four):
            with pytest.raises(ValueError, match=rf"at=7 is no processor: their numbers are 0 to {machine.size - 1}"):
                machine.cells(1, at=7)
            with pytest.raises(ProcessorRaised, match="at=-1 is no processor"):
                machine.run(lambda proc: proc.cells(1, at=-1))


# Failures.


def test_an_exception_ends_the_run_and_the_machine_goes_on(four: smp.Machine) -> None:
    def program(proc: smp.Processor, when: str, rank: int) -> None:
        array = proc.zeros(100)
        with proc.superstep() as step:
            if when == "copy-in" and proc.rank == rank:
                raise ArithmeticError("mine")
            step.copy_in(array)
            step.compute()
            if when == "compute" and proc.rank == rank:
                raise ArithmeticError("mine")
            step.copy_out(array, share(100, proc.rank, proc.size), 1.0)
        if proc.rank == rank:
            raise ArithmeticError("mine")
        proc.reduce(1)

    for when in ("copy-in", "compute", "end"):
        for rank in range(4):
            began = time.monotonic()
            with pytest.raises(ProcessorRaised, match=f"processor {rank} of 4 raised ArithmeticError: mine"):
                four.run(program, when, rank)
            assert time.monotonic() - began < HARD
            assert four.run(together).results == [6] * 4


def test_plain_python_code_of_others_is_ended(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 3:
            raise ArithmeticError
        while True:
            pass

    with pytest.raises(ProcessorRaised, match="processor 3"):
        four.run(program)
    assert four.run(together).results == [6] * 4


def test_different_collectives_are_reported(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 2:
            proc.barrier()
        else:
            proc.reduce(1.0)

    with pytest.raises(CollectiveMismatch, match=r"processor 2: barrier at .*test_mpi_nodes.py:\d+"):
        four.run(program)
    assert four.run(together).results == [6] * 4


def test_a_mismatch_names_the_round_in_which_it_is_although_messages_are_late() -> None:
    """Processor 1 finds it, and the parent ends the run, before processor 0 knows that the round before is over."""

    def program(proc: smp.Processor) -> None:
        port = proc._port
        assert isinstance(port, NodesPort)
        progress, mail = port.progress, port.progress._mail
        if proc.rank == 0:
            take, looks = mail.take, itertools.count()
            mail.take = lambda: take() if progress.cause and next(looks) >= 20 else None
        first = proc.split.any(True)
        second = (proc.split.any if proc.rank else proc.split.all)(True)
        first.wait()
        second.wait()

    expected = r"processor 0: all at .*\n.*processor 1: any at "
    with on_nodes(1, 1) as machine, pytest.raises(CollectiveMismatch, match=expected):
        machine.run(program)


def test_a_deadlock_is_reported_with_what_each_processor_waits_for(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        come: list[int] = []
        proc.handler(print)
        if proc.rank == 1:
            proc.wait_until(lambda: come)
        else:
            proc.barrier()

    began = time.monotonic()
    with pytest.raises(DeadlockError, match="all 4 streams wait") as caught:
        four.run(program)
    assert time.monotonic() - began < HARD
    assert str(caught.value).count("barrier") == 3
    assert re.search(r"1 +0 +a message", str(caught.value)), str(caught.value)
    assert four.run(together).results == [6] * 4


def test_processors_that_exchange_messages_for_long_are_not_deadlocked(four: smp.Machine) -> None:
    """All wait nearly all the time, and one message goes round."""

    def program(proc: smp.Processor) -> int:
        came: list[int] = []
        passed = proc.handler(lambda message, n: came.append(n))
        if proc.rank == 0:
            proc.send(1, passed, 0)
        n = 0
        while n < 200:
            proc.wait_until(lambda: came)
            n = came.pop() + 1
            time.sleep(0.005)
            proc.send((proc.rank + 1) % proc.size, passed, n)
            if n >= 197:
                break
        proc.quiet()
        return n

    assert min(four.run(program).results) >= 197


def test_a_run_ends_when_its_time_is_over(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank:
            proc.barrier()
        while True:
            time.sleep(0.01)

    with pytest.raises(WaitTimeout, match=r"not ended within 0.3 s") as caught:
        four.run(program, timeout=0.3)
    assert str(caught.value).count("barrier") == 3
    assert four.run(together).results == [6] * 4


@pytest.mark.parametrize(
    ("how", "rank"),
    [("SIGKILL", 3), ("exit", 0), *campaigns(("SIGKILL", 0), ("SIGSEGV", 0), ("SIGSEGV", 3), ("exit", 3))],
)
def test_a_processor_that_dies_ends_the_run_and_closes_the_machine(nothing_left: None, how: str, rank: int) -> None:
    def program(proc: smp.Processor) -> None:
        proc.barrier()
        if proc.rank == rank:
            if how == "exit":
                os._exit(3)
            os.kill(os.getpid(), getattr(signal, how))
        proc.barrier()

    for _ in range(3):  # MPICH may name a rank that it has ended itself, and the cause is open then
        with on_nodes(2, 2) as machine:
            machine.run(together)
            began = time.monotonic()
            with pytest.raises(ProcessorDied, match=f"processor {rank} of 4 {DEATHS[how]}") as caught:
                machine.run(program)
            assert time.monotonic() - began < HARD
            with pytest.raises(MachineClosed, match=f"processor {rank} of 4"):
                machine.run(together)
        if UNTOLD not in str(caught.value):
            break
    assert ("ended with status 3" if how == "exit" else how) in str(caught.value)


def test_ctrl_c_ends_the_run_and_the_machine_goes_on(nothing_left: None) -> None:
    with on_nodes(1, 1) as machine:
        machine.run(together)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            machine.run(lambda proc: proc.barrier() if proc.rank else time.sleep(60))
        assert machine.run(together).results == [1, 1]


ENDLESS = """
    import sys, time
    sys.path[:0] = [{tests!r}]
    import smp
    from support.nodes import on_nodes
    import os
    with on_nodes(2, 2) as machine:
        print(*machine.run(lambda proc: os.getpid()).results, flush=True)
        machine.run(lambda proc: proc.barrier() if proc.rank else time.sleep(60))
"""


def test_no_process_is_left_when_the_parent_is_killed(script: Script) -> None:
    process = script(ENDLESS.format(tests=str(ROOT / "tests")))
    assert process.stdout is not None
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 4
    time.sleep(0.3)
    process.kill()
    process.wait()
    assert all(gone(pid, 3.0) for pid in pids)


def test_the_launcher_may_be_killed(nothing_left: None) -> None:
    before = set(psutil.Process().children())
    with on_nodes(1, 1) as machine:
        machine.run(together)
        launcher = next(child for child in psutil.Process().children() if child not in before)
        threading.Timer(0.3, launcher.kill).start()
        with pytest.raises((MachineError, ProcessorDied)):
            machine.run(lambda proc: time.sleep(60))


# Ways to start.


def test_a_script_under_a_launcher_may_be_on_several_nodes(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import smp\n"
        "for _ in range(2):\n"
        "    with smp.mpi() as machine:\n"
        "        print(machine.run(lambda proc: proc.reduce(proc.rank)).results, flush=True)\n"
    )
    words = [jobs.mpiexec(), "-launcher", "fork", "-hosts", "a:2,b:2", *NETWORK, "-n", "4"]
    done = subprocess.run(
        [*words, sys.executable, "-m", "smp", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[6, 6, 6, 6]"] * 2


@smp.stream
def taken(cells: Any) -> int:
    """Take the value of the first cell."""
    return int(readfe(cells, 0))


def ready(proc: smp.Processor) -> Any:
    """Return cells, of which some live on each node, when the loop has been compiled on all processors."""
    for rank in range(proc.size):
        cells = proc.cells(1, full=True, at=rank)
        if proc.rank == rank:
            taken(cells)
    return proc.cells(8, full=True)


UNSUPPORTED: dict[str, Callable[[smp.Processor, smp.GlobalArray], Any]] = {
    "a compiled loop was given cells of which some live on node": lambda proc, array: taken(ready(proc)),
    "array.view": lambda proc, array: array.view,
    "proc.sync": lambda proc, array: proc.sync,
}


@pytest.mark.parametrize("what", UNSUPPORTED)
def test_operations_that_need_one_memory_are_refused_with_a_way_out(four: smp.Machine, what: str) -> None:
    with pytest.raises(ProcessorRaised) as caught:
        four.run(UNSUPPORTED[what], four.zeros(3))
    assert isinstance(caught.value.__cause__, Unsupported)
    assert what in str(caught.value.__cause__)


class OneMessage:
    """Mail that has one message, from another processor, and keeps what is sent."""

    rank, size = 0, 2

    def __init__(self, *message: Any) -> None:
        self._messages, self.sent = [message], list[Any]()

    def take(self) -> tuple[int, tuple[Any, ...]] | None:
        return (1, self._messages.pop()) if self._messages else None

    def send(self, to: int, message: tuple[Any, ...]) -> None:
        self.sent.append(message)

    def busy(self) -> bool:
        return False

    def give(self, to: int, tag: int, octets: Any) -> Any:
        raise AssertionError("there are no arrays")

    receive = give


def port_with(mail: OneMessage) -> NodesPort:
    """Return the port of the first of two processors, which has a node of its own."""
    return NodesPort(
        mail, Nodes([0, 1]), memory_of(made(1), 0, 0, 1, False), "key", Output(), spin=False, patience=30.0
    )


def test_a_message_of_the_run_before_is_dropped_while_a_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service thread looks for messages at any time; the next run would take them for its own."""
    port = port_with(OneMessage("round", 1, 1, 1, [(0, 0, ())]))
    port.new_run(1)
    begin, service = port.network.begin_run, threading.Thread(target=port.progress.look)

    def looks_meanwhile() -> None:
        begin()
        service.start()
        service.join(0.2)

    monkeypatch.setattr(port.network, "begin_run", looks_meanwhile)
    port.new_run(2)
    service.join()
    port.arrive("first")
    assert not port.passed(1)


def test_a_request_for_a_cell_that_was_dropped_is_answered() -> None:
    """The run of the asker has failed meanwhile."""
    mail = OneMessage("cell", 1, 7, Request(Name(1, 1), 0, 0, 1, 0, -1, None))
    port = port_with(mail)
    port.new_run(1)
    port.progress.look()
    assert mail.sent == [("celled", 1, 7, wait.ABORTED, 0)]


def test_a_run_that_is_over_cannot_be_ended() -> None:
    """The parent repeats that a run ends, until all have answered; this may come late."""
    port = port_with(OneMessage("credit", 1, 0, 0))
    port.new_run(1)
    port.progress.end_run()
    port.progress.abort(1, wait.RAISED)
    assert port.diagnosis.cause() == 0
    port.progress.abort(2, wait.RAISED)
    port.new_run(2)
    assert port.diagnosis.cause() == wait.RAISED


# Connections.


def test_only_those_who_know_the_key_are_let_in() -> None:
    listener = addresses.Listener(1, far=True)
    try:
        right = listener.address._replace(name="none", hosts=("127.0.0.1",))
        for address in (right._replace(key="wrong"), right):
            came: list[Any] = []

            def connect(address: addresses.Address = address, came: list[Any] = came) -> None:
                try:
                    came.append(addresses.connected(address, here=False))
                except OSError as error:
                    came.append(error)

            thread = threading.Thread(target=connect)
            thread.start()
            let_in = listener.let_in(listener.sockets[1].fileno())
            thread.join()
            if address is right:
                assert let_in is not None
                let_in.sendall(b"hello")
                assert came[0].recv(5) == b"hello"
                let_in.close()
                came[0].close()
            else:
                assert let_in is None
                assert "127.0.0.1 port" in str(came[0])
    finally:
        listener.close()


def test_an_address_survives_its_text() -> None:
    for hosts in ((), ("10.0.0.1", "127.0.0.1")):
        address = addresses.Address("name", "key", 7 * len(hosts), hosts)
        assert addresses.Address.of(str(address)) == address


def test_ranks_may_reach_the_parent_by_each_of_its_networks() -> None:
    """The nodes of a cluster often have a network of their own, to which neither its name nor its default way leads."""
    found = addresses._hosts()
    up = [name for name, state in psutil.net_if_stats().items() if state.isup]
    entries = [entry for name in up for entry in psutil.net_if_addrs().get(name, ())]
    assert {entry.address for entry in entries if entry.family == socket.AF_INET} <= {*found, "127.0.0.1"}
    assert found[-1] == "127.0.0.1"
    assert len(set(found)) == len(found)


def test_a_message_over_a_lost_network_is_dropped() -> None:
    class NoRoute:
        def send(self, message: object) -> None:
            raise OSError(errno.EHOSTUNREACH, "No route to host")

    processes = Processes()
    processes.lines = [NoRoute()]  # type: ignore[list-item]
    processes.send(0, ("probe", 1))
    assert str(Lost(2).error({}, 4)).startswith("the connection to processor 2 of 4, on another computer, was lost;")


def test_no_file_of_shared_memory_has_a_name_while_the_ranks_work(four: smp.Machine) -> None:
    """It would be left behind, on another computer, when a rank dies."""

    def names(proc: smp.Processor) -> list[str]:
        lines = Path("/proc/self/maps").read_text().splitlines()
        return [line for line in lines if "/dev/shm/mpich" in line and not line.endswith("(deleted)")]

    assert four.run(names).results == [[]] * 4
