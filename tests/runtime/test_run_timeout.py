"""A run with a time limit ends in time, reports the state of each stream, and leaves a usable machine."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.machines import HARD, Machines, Script

import smp
from smp._runtime.memory.cells import Cells
from smp.errors import MachineClosed, WaitTimeout

Ended = Callable[..., str]


@pytest.fixture(params=["host", "emulated"])
def machine(request: pytest.FixtureRequest, machines: Machines) -> Iterator[smp.Machine]:
    if request.param == "host":
        yield machines(2)
    else:
        with smp.emulated(2) as emulated:
            yield emulated


def ended(machine: smp.Machine, program: Any, *args: Any, timeout: float = 1.0, again: bool = True) -> str:
    """Run a program that does not end; return the text of the error."""
    began = time.monotonic()
    with pytest.raises(WaitTimeout, match=f"the run has not ended within {timeout:g} s") as caught:
        machine.run(program, *args, timeout=timeout)
    assert time.monotonic() - began < timeout + HARD
    if again:
        assert machine.run(lambda proc: proc.rank, timeout=10.0).results == [0, 1]
    return str(caught.value)


def line_of(function: Callable[..., Any], below: int) -> str:
    return f"{re.escape(__file__)}:{function.__code__.co_firstlineno + below}"


def one_sleeps(proc: smp.Processor, cells: Cells) -> None:
    if proc.rank == 0:
        time.sleep(60.0)
    cells.readfe(0)


def one_counts(proc: smp.Processor) -> None:
    n = 0
    while proc.rank == 0:
        n += 1
    proc.barrier()


def one_sorts(proc: smp.Processor) -> None:
    keys = np.random.default_rng(0).random(200_000)
    while proc.rank == 0:
        np.sort(keys)
    proc.barrier()


def one_waits_with_a_deadline(proc: smp.Processor, cells: Cells) -> None:
    if proc.rank == 0:
        cells.readfe(0, timeout=60.0)


def test_a_sleep_and_a_wait_are_ended_and_reported(machine: smp.Machine) -> None:
    began = time.monotonic()
    text = ended(machine, one_sleeps, machine.cells(1), again=False)
    took = time.monotonic() - began
    assert re.search(rf"0 +0 +\(runs\) +{line_of(one_sleeps, 2)}", text), text
    if "host" in repr(machine):  # emulated, processor 0 never lets processor 1 begin
        wait = re.search(rf"1 +0 +readfe of cell 0 of Cells.* {line_of(one_sleeps, 3)} +(\d\.\d\d) s", text)
        assert wait, text
        assert 0 < float(wait[1]) < took + 0.01, "it began after the run, and the text has two digits after the point"
    assert machine.run(lambda proc: proc.rank, timeout=10.0).results == [0, 1]


@pytest.mark.parametrize("program", [one_counts, one_sorts])
def test_loops_of_python_and_of_numpy_are_ended(machine: smp.Machine, program: Any) -> None:
    assert re.search(rf"0 +0 +\(runs\) +{re.escape(__file__)}:\d+", ended(machine, program))


def test_a_wait_with_a_deadline_of_its_own_is_ended(machines: Machines) -> None:
    text = ended(machines(2), one_waits_with_a_deadline, machines(2).cells(1))
    assert re.search(r"0 +0 +readfe of cell 0", text)
    assert re.search(r"1 +0 +return from the program", text)


def test_a_time_limit_may_end_before_a_deadlock_is_certain(pair: smp.Machine) -> None:
    """Only the host can be tested, because an emulated machine sees a deadlock at once."""
    ended(pair, lambda proc, cells: cells.readfe(0), pair.cells(1), timeout=0.05)


def test_a_time_limit_of_zero_ends_a_run_at_once(machine: smp.Machine) -> None:
    ended(machine, one_counts, timeout=0)


@smp.local
def scramble(rounds: int) -> int:
    bits = np.uint64(1)
    for _ in range(rounds):
        bits ^= bits << np.uint64(13)
        bits ^= bits >> np.uint64(7)
        bits ^= bits << np.uint64(17)
    return bits


def test_a_compiled_loop_that_never_looks_ends_with_the_machine(nothing_left: None) -> None:
    with smp.host(2) as machine:
        machine.run(lambda proc: scramble(1))
        text = ended(machine, lambda proc: scramble(1 << 62), again=False)
        assert len(re.findall(r"\(runs\)", text)) == 2
        with pytest.raises(MachineClosed, match=r"the run has not ended within 1 s"):
            machine.run(lambda proc: None)


def test_a_program_that_ends_in_time_is_not_affected(machine: smp.Machine) -> None:
    assert machine.run(lambda proc: proc.reduce(1), timeout=60.0).results == [2, 2]
    assert not [thread for thread in threading.enumerate() if thread.name == "smp alarm"]


@pytest.mark.parametrize(
    ("timeout", "error"), [("1", TypeError), (True, TypeError), (-1, ValueError), (np.nan, ValueError)]
)
def test_an_invalid_time_limit_is_refused(pair: smp.Machine, timeout: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="a timeout must be a number of seconds, 0 or more"):
        pair.run(lambda proc: None, timeout=timeout)


def test_ctrl_c_in_loops_and_sleeps_leaves_a_usable_machine(machine: smp.Machine) -> None:
    for program in (one_sorts, one_counts, lambda proc: time.sleep(60.0)):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            machine.run(program)
        timer.join()
        assert machine.run(lambda proc: proc.rank).results == [0, 1]


def test_an_exception_of_another_processor_ends_a_sleep(pair: smp.Machine) -> None:
    """The machine remains usable, because only a processor that does not stop is killed."""

    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            time.sleep(0.1)
            raise KeyError("this one")
        time.sleep(60.0)

    with pytest.raises(smp.ProcessorRaised, match="processor 1 of 2 raised KeyError: 'this one'"):
        pair.run(program)
    assert pair.run(lambda proc: proc.rank).results == [0, 1]


def test_ctrl_c_ends_a_program_of_copies_on_an_emulated_machine(script: Script) -> None:
    """The signal always comes while smp's own code runs, where nothing may be raised. It acts at the next step."""
    process = script("""
        import numpy as np, smp
        def program(proc, array):
            out = np.empty(len(array))
            print("up", flush=True)
            while True:
                with proc.superstep() as step:
                    for _ in range(20):
                        step.copy_in(array, ..., out=out)
        with smp.emulated(1) as machine:
            try:
                machine.run(program, machine.zeros(1_000_000))
            except KeyboardInterrupt:
                print("interrupted", machine.run(lambda proc: proc.rank).results, flush=True)
        """)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=HARD)[0] == "interrupted [0]\n"
