"""New processors for a machine that has lost its own: arrays and cells stay, whatever the old ones were doing."""

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.machines import gone

import smp
from smp._runtime.protocols import wait
from smp._runtime.protocols.entry_points import core
from smp._runtime.protocols.stream_slots import LOCKED
from smp.errors import Aborted, MachineClosed, MachineError, ProcessorDied, WaitTimeout

pytestmark = pytest.mark.usefixtures("nothing_left")
ENDINGS: dict[str, Callable[[smp.Processor, Any], object]] = {
    "plain code": lambda proc, cells: time.sleep(60),
    "a barrier": lambda proc, cells: proc.barrier(),
    "a cell": lambda proc, cells: cells.readfe(9),
    "a superstep": lambda proc, cells: [proc.superstep().__enter__().compute() for _ in range(2)],
}


@pytest.fixture
def machine() -> Iterator[smp.Machine]:
    with smp.host(2) as machine:
        yield machine


def stream(proc: smp.Processor, cells: smp.Cells, n: int) -> int:
    """Send numbers from processor 0 to processor 1 by a cell; return their sum there."""
    for k in range(n) if proc.rank == 0 else ():
        cells.writeef(0, k)
    proc.barrier() if n == 0 else None
    return sum(cells.readfe(0) for _ in range(n)) if proc.rank == 1 else 0


@pytest.mark.parametrize("place", ENDINGS)
def test_arrays_and_cells_stay_after_a_death(machine: smp.Machine, place: str) -> None:
    array, cells = machine.array(np.arange(1000.0)), machine.cells(10, np.int64)
    cells.writeef(3, 33)

    def program(proc: smp.Processor, array: smp.GlobalArray, cells: smp.Cells) -> None:
        array.view[proc.rank] = -1
        proc.barrier()
        if proc.rank == 1:
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
        ENDINGS[place](proc, cells)

    before = machine.run(lambda proc: os.getpid()).results
    with pytest.raises(ProcessorDied, match=r"or call machine\.restart\(\)"):
        machine.run(program, array, cells)
    with pytest.raises(MachineClosed, match=r"; call machine\.restart\(\)"):
        machine.zeros(3)
    assert all(gone(pid) for pid in before)
    machine.restart()
    assert "ready" in repr(machine)
    assert not set(before) & set(machine.run(lambda proc: os.getpid()).results)
    np.testing.assert_array_equal(array[:], [-1, -1, *range(2, 1000)])
    assert [cells.peek(k)[0] for k in range(10)] == [k == 3 for k in range(10)]
    assert cells.readfe(3) == 33
    assert machine.run(stream, cells, 1000).results == [0, 499500]
    assert machine.run(lambda proc, a: proc.reduce(float(a.view.sum())), array).results == [2 * (499500 - 1 - 2)] * 2


def test_a_machine_is_restarted_after_a_timeout_with_a_processor_that_does_not_stop(machine: smp.Machine) -> None:
    array = machine.array(np.arange(3))

    def stubborn(proc: smp.Processor) -> None:
        while True:
            with contextlib.suppress(Aborted):
                time.sleep(60)

    with pytest.raises(WaitTimeout):
        machine.run(stubborn, timeout=0.1)
    assert "closed" in repr(machine)
    machine.restart()
    assert machine.run(lambda proc, a: int(a.view.sum()), array).results == [3, 3]


def test_a_machine_is_restarted_after_ctrl_c(machine: smp.Machine) -> None:
    array = machine.array(np.arange(3))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        machine.run(lambda proc: time.sleep(60))
    machine.restart()
    assert machine.run(lambda proc, a: int(a.view.sum()), array).results == [3, 3]


def test_a_restart_of_an_open_machine_gives_fresh_processes(machine: smp.Machine) -> None:
    def mark(proc: smp.Processor) -> bool:
        import math

        known = hasattr(math, "smp_was_here")
        math.smp_was_here = True  # type: ignore[attr-defined]
        return known

    assert machine.run(mark).results == [False, False]
    assert machine.run(mark).results == [True, True]
    machine.restart()
    assert machine.run(mark).results == [False, False]


def test_a_thread_of_the_parent_that_waits_at_a_cell_is_ended_and_can_wait_again(machine: smp.Machine) -> None:
    cells = machine.cells(2, np.int64)
    found: list[Any] = []

    def read() -> None:
        try:
            found.append(cells.readfe(1))
        except (MachineClosed, Aborted) as error:
            found.append(type(error).__name__)

    waiting = threading.Thread(target=read)
    waiting.start()
    with pytest.raises(ProcessorDied):
        machine.run(lambda proc: os._exit(3))
    waiting.join(10)
    machine.restart()
    again = threading.Thread(target=read)
    again.start()
    machine.run(lambda proc, cells: cells.writeef(1, 5) if proc.rank == 0 else None, cells)
    again.join(10)
    assert found in (["MachineClosed", 5], ["Aborted", 5])


def test_a_machine_that_was_closed_by_its_user_stays_closed() -> None:
    machine = smp.host(1)
    with machine:
        pass
    with pytest.raises(MachineClosed, match=r"its with block has ended; open a new one with smp\.host\(\)"):
        machine.restart()
    lost = smp.host(1)
    with pytest.raises(ProcessorDied):
        lost.run(lambda proc: os._exit(3))
    lost.close()
    with pytest.raises(MachineClosed, match=r"ended with status 3.*; open a new one with smp\.host\(\)"):
        lost.restart()


def test_a_machine_that_runs_a_program_is_not_restarted(machine: smp.Machine) -> None:
    cells = machine.cells(1)
    runner = threading.Thread(target=machine.run, args=(lambda proc, cells: cells.readff(0), cells))
    runner.start()
    while machine._runner == 0:
        time.sleep(0.001)
    with pytest.raises(MachineError, match="is running a program"):
        machine.restart()
    cells.writeef(0, 1)
    runner.join()


def test_many_restarts_leave_no_record_no_descriptor_and_no_memory(machine: smp.Machine) -> None:
    cells = machine.cells(1, np.int64)
    cells.writeef(0, 1)
    assert cells.readfe(0) == 1  # the parent has a record now

    def counts() -> tuple[int, int]:
        processors: Any = machine._processors
        return int(processors.segment.words(0, wait.SHARED_WORDS)[wait.RECORDS]), len(os.listdir("/proc/self/fd"))

    seen = set()
    for _ in range(5):
        machine.restart()
        assert machine.run(stream, cells, 10).results == [0, 45]
        seen.add(counts())
    assert len(seen) == 1


def test_records_are_not_taken_back_if_a_stream_has_joined_since(machine: smp.Machine) -> None:
    processors: Any = machine._processors
    segment = processors.segment
    records = segment.words(8 * wait.RECORDS, 1)
    seen = int(records[0])
    joined = core().join(segment.address)
    assert core().part(segment.address, seen, 0) == joined == int(records[0]) == seen + 1
    assert core().part(segment.address, joined, seen) == joined
    assert int(records[0]) == seen


def test_an_emulated_machine_has_nothing_to_restart() -> None:
    with smp.emulated(2) as machine:
        array = machine.array(np.arange(3))
        machine.restart()
        assert machine.run(lambda proc, a: int(a.view.sum()), array).results == [3, 3]
    with pytest.raises(MachineClosed):
        machine.restart()


def test_a_cell_whose_writer_was_killed_between_lock_and_release_is_empty_again(machine: smp.Machine) -> None:
    """Processor 0 makes the first two changes of a writeef, and is killed before the third."""
    cells = machine.cells(2, np.int64)

    def program(proc: smp.Processor, cells: smp.Cells) -> None:
        words = np.asarray(cells._block).view(np.int64)
        if proc.rank == 0:
            words[:2] = LOCKED, 7
            os.kill(os.getpid(), signal.SIGKILL)
        cells.readfe(0)

    with pytest.raises(ProcessorDied, match="processor 0 of 2 was killed by SIGKILL"):
        machine.run(program, cells)
    machine.restart()
    assert not cells.peek(0)[0]
    assert machine.run(stream, cells, 100).results == [0, 4950]


def kills(count: int, seed: int) -> None:
    """Kill processors in the middle of traffic on cells; after each restart, all cells work."""
    drawn = random.Random(seed)

    def traffic(proc: smp.Processor, cells: smp.Cells) -> None:
        k = 0
        while True:
            k += 1
            cells.writexf(k % 3, k)
            cells.fetch_add(k % 3, 1)
            cells.writeef(3 + (k + proc.rank) % 3, k)
            cells.readfe(3 + k % 3)

    with smp.host(3) as machine:
        cells = machine.cells(6, np.int64)
        for _ in range(count):
            pids = machine.run(lambda proc: os.getpid()).results
            threading.Timer(drawn.uniform(0.0, 0.05), os.kill, (drawn.choice(pids), signal.SIGKILL)).start()
            with pytest.raises(ProcessorDied):
                machine.run(traffic, cells, timeout=20)
            machine.restart()
            for k in range(6):
                cells.purge(k)
            assert machine.run(stream, cells, 200).results == [0, 19900, 0]


def test_kills_in_the_middle_of_operations_on_cells_leave_cells_that_work() -> None:
    kills(8, 1)


@pytest.mark.slow
def test_many_kills_in_the_middle_of_operations_on_cells_leave_cells_that_work() -> None:
    kills(300, 2)
