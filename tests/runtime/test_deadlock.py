"""A run in which no stream can go on ends by itself and lists all waits. A run in which a stream can go on does not."""

import re
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import smp
from smp import compiled
from smp._runtime.memory.cells import Cells
from smp.errors import DeadlockError, ProcessorRaised, WaitTimeout
from smp.kernels.in_process import side_by_side

LATEST = 2.0  # seconds


@smp.stream
def take(cells: Cells, i: int) -> Any:
    return compiled.readfe(cells, i)


@smp.stream
def synchronise(sync: Any) -> None:
    compiled.barrier(sync)


def from_python(proc: smp.Processor, cells: Cells) -> None:
    cells.readfe(proc.rank)


def from_loops(proc: smp.Processor, cells: Cells) -> None:
    take(cells, proc.rank)


def barrier_against_cell(proc: smp.Processor, cells: Cells) -> None:
    if proc.rank == 0:
        synchronise(proc.sync)
    else:
        cells.writeff(0, 1)


def reduction_against_cell(proc: smp.Processor, cells: Cells) -> None:
    if proc.rank == 0:
        proc.reduce(1)
    else:
        cells.fetch_add(0, 1)


def threads_of_pools(proc: smp.Processor, cells: Cells) -> None:
    with proc.streams(2) as pool:
        for i in range(5):
            pool.start(cells.readff, i % 2)


def returned_early(proc: smp.Processor, cells: Cells) -> None:
    if proc.rank == 0:
        cells.readff(0)


def cells_of_the_run(proc: smp.Processor, cells: Cells) -> None:
    proc.cells(1).readfe(0)


PROGRAMS = [
    (from_python, 2, "readfe of cell 1 of Cells(2, dtype=int64)"),
    (from_loops, 2, "readfe of cell 0 of Cells(2, dtype=int64)"),
    (barrier_against_cell, 2, "writeff of cell 0 of Cells(2, dtype=int64)"),
    (reduction_against_cell, 2, "reduce(add) of int64[]"),
    (threads_of_pools, 12, "the end of a thread"),
    (returned_early, 2, "return from the program"),
    (cells_of_the_run, 2, "readfe of cell 0 of Cells(1, dtype=int64)"),
]


@pytest.mark.parametrize(("program", "streams", "what"), PROGRAMS)
def test_a_deadlock_is_reported(pair: smp.Machine, program: Any, streams: int, what: str) -> None:
    cells = pair.cells(2)
    warm(pair)
    began = time.monotonic()
    with pytest.raises(DeadlockError) as caught:
        pair.run(program, cells)
    assert time.monotonic() - began < LATEST
    text = str(caught.value)
    assert f"all {streams} streams wait" in text
    assert len(text.splitlines()) == 3 + streams
    assert what in text
    assert re.search(r"test_deadlock\.py:\d+", text)
    assert pair.run(lambda proc: proc.rank).results == [0, 1]  # the machine remains usable


def warm(machine: smp.Machine) -> None:
    """Load the compiled loops, which takes longer than any wait in these tests."""

    def program(proc: smp.Processor, cells: Cells) -> None:
        take(cells, proc.rank)
        synchronise(proc.sync)

    machine.run(program, machine.cells(2, full=True))


def test_cells_have_no_waiters_after_a_deadlock(pair: smp.Machine) -> None:
    cells = pair.cells(2)
    with pytest.raises(DeadlockError):
        pair.run(from_python, cells)

    def program(proc: smp.Processor, cells: Cells) -> Any:
        if proc.rank == 0:
            for i in range(2):
                cells.writeef(i, 7 + i)
        proc.barrier()
        return cells.try_readfe(proc.rank)

    assert pair.run(program, cells).results == [(True, 7), (True, 8)]


def test_an_exception_of_a_thread_is_reported_rather_than_the_deadlock_it_causes(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Cells) -> None:
        def fails() -> None:
            raise ValueError("this one would have filled it")

        if proc.rank == 1:
            proc.team.start(fails)
            proc.barrier()
        cells.readfe(0)

    with pytest.raises(ProcessorRaised, match="processor 1 of 2 raised ValueError: this one would have filled it"):
        pair.run(program, pair.cells(1))


HELPERS = ("a wait with a deadline", "a sleeping thread of the program", "a running thread of a pool")


@pytest.mark.parametrize("helper", HELPERS)
def test_a_stream_that_helps_late_prevents_a_false_alarm(pair: smp.Machine, helper: str) -> None:
    """All but one wait for longer than a deadlock takes to be reported, and then that one helps."""

    def program(proc: smp.Processor, cells: Cells) -> Any:
        if proc.rank == 0:
            return cells.readff(0)
        if helper == "a wait with a deadline":
            with pytest.raises(WaitTimeout):
                cells.readfe(1, timeout=1.2)
            cells.writexf(0, 5)
        elif helper == "a sleeping thread of the program":

            def help_late() -> None:
                time.sleep(1.2)
                cells.writexf(0, 5)

            threading.Thread(target=help_late).start()
        else:

            def spin() -> None:
                end = time.monotonic() + 1.2
                while time.monotonic() < end:
                    pass
                cells.writexf(0, 5)

            proc.team.start(spin)
        return cells.readff(0)

    assert pair.run(program, pair.cells(2)).results == [5, 5]


def test_a_thread_of_the_parent_may_still_help(pair: smp.Machine) -> None:
    """A thread of the parent holds the cells, so the run goes on with a warning."""
    cells = pair.cells(2)
    timer = threading.Timer(1.5, lambda: (cells.writexf(0, 1), cells.writexf(1, 2)))
    timer.start()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert pair.run(lambda proc, cells: cells.readfe(proc.rank), cells).results == [1, 2]
    timer.join()
    assert any("unless thread 'Thread-" in str(warning.message) for warning in caught)


def test_a_thread_of_the_parent_cannot_help_with_cells_that_it_cannot_reach(pair: smp.Machine) -> None:
    timer = threading.Timer(3.0, lambda: None)
    timer.start()
    try:
        with pytest.raises(DeadlockError):
            pair.run(cells_of_the_run, pair.cells(1))
    finally:
        timer.cancel()


def test_threads_of_the_kernels_do_not_count_as_helpers(pair: smp.Machine) -> None:
    """This holds for threads of the parent and of the processors."""

    def program(proc: smp.Processor, cells: Cells) -> None:
        side_by_side(*[lambda: None] * 3)
        cells.readfe(0)

    side_by_side(*[lambda: None] * 3)
    assert any(thread.name.startswith("smp kernel") for thread in threading.enumerate())
    with pytest.raises(DeadlockError):
        pair.run(program, pair.cells(1))


def test_thousands_of_waits_cause_no_false_alarm(machines: Any) -> None:
    """Four processors on few CPUs wait for each other all the time, for longer than many checks for a deadlock take."""
    machine = machines(4)

    @smp.stream
    def ring(cells: Cells, me: int, size: int, seconds: float) -> int:
        end, rounds = 1 << 62, 0
        while True:
            value = compiled.readfe(cells, me)
            if value < 0 or (me == 0 and compiled.clock() > end):
                compiled.writeef(cells, (me + 1) % size, -1)
                return rounds
            compiled.writeef(cells, (me + 1) % size, value + 1)
            rounds += 1
            if rounds == 2:  # the token has come back once, so all have compiled the loop
                end = compiled.clock() + int(seconds * 1e9)

    def program(proc: smp.Processor, cells: Cells) -> int:
        if proc.rank == 0:
            cells.writeef(0, 0)
        return ring(cells, proc.rank, proc.size, 0.8)

    last = machine.cells(2)
    last.writexf(0, -1)
    ring(last, 0, 2, 0.0)  # compiled here, once for all processors
    rounds = machine.run(program, machine.cells(4)).results
    assert np.ptp(rounds) <= 1
    assert min(rounds) > 100


def test_a_loop_of_the_parent_waits_too(pair: smp.Machine) -> None:
    """Python checks for signals while the main thread waits in a method, but not while it waits in a loop."""
    cells = pair.cells(2, full=True)
    take(cells, 1)
    timer = threading.Timer(0.3, lambda: cells.writeef(1, 7))
    timer.start()
    assert take(cells, 1) == 7
    timer.join()


def test_ctrl_c_ends_a_wait_of_the_parent_and_leaves_no_waiter(script: Any) -> None:
    process = script("""
        import os, signal, threading, smp
        with smp.host(1) as machine:
            cells = machine.cells(1)
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                cells.readfe(0)
            except KeyboardInterrupt:
                print("interrupted")
            cells.writeef(0, 3)
            print(cells.peek(0))
    """)
    out, err = process.communicate(timeout=30)
    assert out == "interrupted\n(True, 3)\n", err


def test_closing_the_machine_ends_the_waits_of_the_parent() -> None:
    said: list[str] = []

    def wait(cells: Cells) -> None:
        try:
            cells.readfe(0)
        except smp.errors.MachineClosed as error:
            said.append(str(error))

    with smp.host(1) as machine:
        waiter = threading.Thread(target=wait, args=(machine.cells(1),))
        waiter.start()
        time.sleep(0.2)
    waiter.join(5.0)
    assert not waiter.is_alive()
    assert said == ["the machine of these cells is closed: no thread will change them any more"]


def test_one_stream_may_wait_at_the_barrier_and_another_at_a_cell(pair: smp.Machine) -> None:
    """The record of a wait at the barrier does not affect the wait of another thread of the same processor."""
    warm(pair)

    def program(proc: smp.Processor, cells: Cells) -> Any:
        if proc.rank == 0:
            with proc.streams(1) as pool:
                pool.start(synchronise, proc.sync)  # the words that the first thread was given
                return cells.readff(0), cells.peek(0)
        time.sleep(0.3)
        cells.writeef(0, 7)
        time.sleep(0.1)
        synchronise(proc.sync)
        return None

    assert pair.run(program, pair.cells(1)).results[0] == (7, (True, 7))
