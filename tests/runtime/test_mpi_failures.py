"""Failures of a machine of two nodes with two processors each, of each processor and in each phase of its program.

A run must end soon, with an error that names the right processor, and leave nothing.  The machine goes on after an
exception, different collectives, a deadlock, and Ctrl-C.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from support.machines import HARD, ROOT, Script, gone
from support.nodes import DEATHS, UNTOLD, on_nodes, on_two_quiet_nodes

import smp
from smp._runtime.nodes.cell_service import THREAD
from smp._runtime.program.processor import share
from smp.errors import (
    CollectiveMismatch,
    DeadlockError,
    MachineClosed,
    MachineError,
    ProcessorDied,
    ProcessorRaised,
    WaitTimeout,
)

pytestmark = pytest.mark.mpi

N = 1 << 19
"""Elements of the array; a processor's part of them is copied in pieces, by the library of MPI."""
COPIES = 8
AFTER = 0.1
"""Seconds for which a processor is in its phase before something happens."""
PHASES = ("copy-in", "compute", "copy-out", "cell")


class Late:
    """The number of a first element, which is asked for again when the copy is made: an action is then carried out."""

    def __init__(self, first: int) -> None:
        self._first, self.action = first, lambda: None

    def __index__(self) -> int:
        self.action()
        return self._first


def program(proc: smp.Processor, array: smp.GlobalArray, how: str, rank: int, phase: str) -> None:
    """Copy the part of a processor of the other node, and wait at a cell; do something else in a phase."""
    cells, other = proc.cells(proc.size), (proc.rank + 2) % proc.size
    far, here = share(len(array), other, proc.size), phase if proc.rank == rank else ""
    act = partial(ACTIONS[how], proc, cells)

    def wait_for_a_while() -> None:
        with contextlib.suppress(WaitTimeout):
            cells.readfe(other, timeout=0.02)

    with proc.superstep() as step:
        found = step.copy_in(array, far)
        if here == "copy-in":
            act(lambda: step.copy_in(array, far))
        step.compute()
        if here == "compute":
            act(lambda: None)
        for _ in range(COPIES):
            step.copy_out(array, far, found)
        if here == "copy-out":
            late = Late(far.start)
            step.copy_out(array, slice(late, far.stop), found)
            late.action = lambda: act(wait_for_a_while)
    if here == "cell":
        act(wait_for_a_while)
    if phase == "cell":
        cells.readfe(other)


def repeat(proc: smp.Processor, cells: Any, again: Callable[[], object]) -> None:
    while True:
        again()


def fail(proc: smp.Processor, cells: Any, again: Callable[[], object]) -> None:
    end = time.monotonic() + AFTER
    while time.monotonic() < end:
        again()
    raise ArithmeticError("mine")


def die(how: str, proc: smp.Processor, cells: Any, again: Callable[[], object]) -> None:
    """Another thread ends the process, in the middle of a transfer or a wait."""

    def end() -> None:
        if how == "exit":
            os._exit(3)
        os.kill(os.getpid(), getattr(signal, how))

    threading.Timer(AFTER, end).start()
    repeat(proc, cells, again)


ACTIONS: dict[str, Callable[[smp.Processor, Any, Callable[[], object]], object]] = {
    "raise": fail,
    **{how: partial(die, how) for how in DEATHS},
    "mismatch": lambda proc, cells, again: proc.barrier(),
    "deadlock": lambda proc, cells, again: cells.readfe(proc.rank),
    "repeat": repeat,
}


def cases(ordinary: set[tuple[Any, ...]], *choices: Any) -> list[Any]:
    """Return all combinations; those that are not ordinary are slow."""
    combined: list[tuple[Any, ...]] = [()]
    for choice in choices:
        combined = [(*case, one) for case in combined for one in choice]
    return [case if case in ordinary else pytest.param(*case, marks=pytest.mark.slow) for case in combined]


Bounded = Callable[[float], AbstractContextManager[None]]


@pytest.fixture
def bounded(record_property: Callable[[str, object], None]) -> Bounded:
    """``bounded(after)`` checks that a block ends soon after that time, and records how long it took."""

    @contextlib.contextmanager
    def bound(after: float) -> Iterator[None]:
        began = time.monotonic() + after
        yield
        seconds = time.monotonic() - began
        record_property("seconds", round(seconds, 3))
        assert seconds < HARD

    return bound


@pytest.fixture(scope="module")
def four() -> Iterator[smp.Machine]:
    with on_nodes(2, 2) as machine:
        yield machine


def exchange(proc: smp.Processor, array: smp.GlobalArray) -> tuple[float, int, int]:
    """Use arrays and cells of the other node; return a sum, what came, and the number of threads that wait at cells."""
    cells, other = proc.cells(proc.size), (proc.rank + 2) % proc.size
    with proc.superstep() as step:
        found = step.copy_in(array, share(len(array), other, proc.size))
        step.compute()
        step.copy_out(array, share(len(array), proc.rank, proc.size), found)
    cells.writeef(other, proc.rank)
    came = cells.readfe(proc.rank)
    end = time.monotonic() + 1.0
    while (left := sum(each.name == THREAD for each in threading.enumerate())) and time.monotonic() < end:
        time.sleep(0.01)
    return float(found.sum()), int(came), left


def check_that_it_goes_on(machine: smp.Machine) -> None:
    values = np.arange(float(N))
    array, part = machine.array(values), N // 4
    sums = [float(values[other * part :][:part].sum()) for other in (2, 3, 0, 1)]
    assert machine.run(exchange, array).results == list(zip(sums, [2, 3, 0, 1], [0] * 4, strict=True))
    np.testing.assert_array_equal(array[:], np.roll(values, N // 2))


@pytest.mark.parametrize(("rank", "phase"), cases({(2, "cell")}, range(4), PHASES))
def test_an_exception_ends_the_run_and_the_machine_goes_on(
    four: smp.Machine, nothing_left: None, bounded: Bounded, rank: int, phase: str
) -> None:
    with bounded(AFTER), pytest.raises(ProcessorRaised, match=f"processor {rank} of 4 raised Arithmetic") as caught:
        four.run(program, four.zeros(N), "raise", rank, phase)
    assert caught.value.rank == rank
    assert (f"in the {phase} phase" if phase != "cell" else "after superstep 0") in str(caught.value)
    check_that_it_goes_on(four)


def test_a_wait_ends_with_its_run_on_a_node_whose_processors_have_all_returned(four: smp.Machine) -> None:
    """The thread that waits there for another processor would stay in the queue of a cell that is gone."""

    def program(proc: smp.Processor) -> None:
        cells = proc.cells(1, at=2)
        if proc.rank == 0:
            cells.readfe(0)
        if proc.rank == 1:
            time.sleep(AFTER)
            raise ArithmeticError("mine")

    with pytest.raises(ProcessorRaised, match="processor 1 of 4 raised ArithmeticError"):
        four.run(program)
    with pytest.raises(WaitTimeout):
        four.cells(1).readfe(0, timeout=0.01)
    check_that_it_goes_on(four)


@pytest.mark.parametrize(("rank", "phase"), cases(set(), range(4), PHASES[:3]))
def test_different_collectives_end_the_run_and_the_machine_goes_on(
    four: smp.Machine, nothing_left: None, bounded: Bounded, rank: int, phase: str
) -> None:
    with bounded(0.0), pytest.raises(CollectiveMismatch) as caught:
        four.run(program, four.zeros(N), "mismatch", rank, phase)
    lines = str(caught.value).splitlines()
    for each in range(4):
        assert f"processor {each}: {'barrier' if each == rank else phase + ' of superstep'} " in lines[1 + each]
    check_that_it_goes_on(four)


@pytest.mark.parametrize(("rank", "phase"), cases({(1, "copy-out")}, range(4), PHASES))
def test_a_deadlock_ends_the_run_and_the_machine_goes_on(
    four: smp.Machine, nothing_left: None, bounded: Bounded, rank: int, phase: str
) -> None:
    with bounded(0.0), pytest.raises(DeadlockError, match="all 4 streams wait") as caught:
        four.run(program, four.zeros(N), "deadlock", rank, phase)
    rows = [line.split() for line in str(caught.value).splitlines()[3:]]
    others = ["readfe"] * 4 if phase == "cell" else [phase] * 4
    expected = [f"readfe({rank})" if each == rank else others[each] for each in range(4)]
    assert [row[2].startswith(what) for row, what in zip(rows, expected, strict=True)] == [True] * 4, rows
    check_that_it_goes_on(four)


@pytest.mark.parametrize(("rank", "phase"), cases({(3, "copy-in")}, range(4), PHASES))
def test_ctrl_c_ends_the_run_and_the_machine_goes_on(
    four: smp.Machine, nothing_left: None, bounded: Bounded, rank: int, phase: str
) -> None:
    array, timer = four.zeros(N), threading.Timer(AFTER, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with bounded(AFTER), pytest.raises(KeyboardInterrupt):
        four.run(program, array, "repeat", rank, phase)
    timer.join()
    check_that_it_goes_on(four)


@pytest.mark.parametrize(
    ("how", "rank", "phase"),
    cases({("SIGKILL", 2, "copy-in"), ("exit", 1, "cell")}, DEATHS, range(4), PHASES),
)
def test_a_processor_that_dies_ends_the_run_and_closes_the_machine(
    nothing_left: None, bounded: Bounded, how: str, rank: int, phase: str
) -> None:
    with on_nodes(2, 2) as machine:
        array = machine.zeros(N)
        with bounded(AFTER), pytest.raises(ProcessorDied, match=f"processor {rank} of 4 {DEATHS[how]}") as caught:
            machine.run(program, array, how, rank, phase)
        assert caught.value.rank == rank
        with pytest.raises(MachineClosed, match=f"processor {rank} of 4 {DEATHS[how]}"):
            machine.run(exchange, array)


def test_a_silent_launcher_leaves_the_cause_of_a_death_open(
    nothing_left: None, bounded: Bounded, tmp_path: Path
) -> None:
    with on_two_quiet_nodes(tmp_path) as machine:
        array = machine.zeros(N)
        with bounded(AFTER), pytest.raises(ProcessorDied, match=f"processor 2 of 4 {UNTOLD}.*does not say"):
            machine.run(program, array, "SIGKILL", 2, "copy-in")


@pytest.mark.parametrize(("rank", "phase"), cases(set(), range(4), PHASES))
def test_the_launcher_may_be_killed(nothing_left: None, bounded: Bounded, rank: int, phase: str) -> None:
    before = set(psutil.Process().children())
    with on_nodes(2, 2) as machine:
        array = machine.zeros(N)
        launcher = next(child for child in psutil.Process().children() if child not in before)
        timer = threading.Timer(AFTER, launcher.kill)
        timer.start()
        with bounded(AFTER), pytest.raises(MachineError, match="the launcher of the ranks was killed"):
            machine.run(program, array, "repeat", rank, phase)
        timer.join()
        with pytest.raises(MachineClosed):
            machine.run(exchange, array)


PARENT = """
    import sys
    sys.path[:0] = {paths!r}
    from support.nodes import on_nodes, on_two_quiet_nodes
    from test_mpi_failures import N, program
    with on_nodes(2, 2) as machine:
        array = machine.zeros(N)
        print("runs", flush=True)
        machine.run(program, array, "repeat", int(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize(("rank", "phase"), cases(set(), range(4), PHASES))
def test_no_process_is_left_when_the_parent_is_killed(
    nothing_left: None, bounded: Bounded, script: Script, rank: int, phase: str
) -> None:
    process = script(PARENT.format(paths=[str(ROOT / "tests"), str(ROOT / "tests" / "runtime")]), str(rank), phase)
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    time.sleep(2 * AFTER)
    descendants = psutil.Process(process.pid).children(recursive=True)
    assert len(descendants) >= 4
    with bounded(0.0):
        process.kill()
        process.communicate()
        assert all(gone(each.pid, HARD) for each in descendants)
