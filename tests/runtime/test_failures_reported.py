"""Failures are reported on host and emulated machines, whatever else runs on the processor and whatever is raised."""

import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.machines import HARD, ROOT, Machines
from support.message_machine import message_machine

import smp
from smp._runtime.source import lines
from smp._runtime.source.lines import in_a_program
from smp.errors import Aborted, DeadlockError, NotPicklable, ProcessorRaised


@pytest.mark.parametrize("seconds", [0.2, 60.0])
def test_an_exception_is_reported_while_a_thread_of_the_pool_runs(nothing_left: None, seconds: float) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            proc.streams(1).start(time.sleep, seconds)
            raise KeyError("early")
        proc.barrier()

    with smp.host(2) as machine:
        began = time.monotonic()
        with pytest.raises(ProcessorRaised, match="processor 0 of 2 raised KeyError: 'early'") as caught:
            machine.run(program)
        assert time.monotonic() - began < HARD
        notes = "".join(caught.value.__notes__)
        assert ("processor 0 did not stop within 0.5 s and was killed" in notes) == (seconds > 1)
        if seconds < 1:  # its thread ended in time, so the machine remains usable
            assert machine.run(lambda proc: proc.rank).results == [0, 1]


def test_a_mismatch_is_reported_while_a_thread_of_the_pool_runs(nothing_left: None) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            proc.streams(1).start(time.sleep, 60.0)
            proc.barrier()
        else:
            proc.reduce(1)

    with smp.host(2) as machine:
        began = time.monotonic()
        with pytest.raises(smp.errors.CollectiveMismatch, match=r"processor 0: barrier at .*\n.*reduce"):
            machine.run(program)
        assert time.monotonic() - began < HARD


def raise_aborted(proc: smp.Processor) -> None:
    if proc.rank == 0:
        raise Aborted("my own")
    proc.barrier()


def raise_again(proc: smp.Processor, kept: list[BaseException]) -> None:
    if proc.rank == 0:
        raise kept[0]
    proc.barrier()


def test_a_program_may_raise_aborted_itself(machines: Machines) -> None:
    with pytest.raises(ProcessorRaised, match="processor 0 of 2 raised Aborted: my own"):
        machines(2).run(raise_aborted)
    with pytest.raises(ProcessorRaised, match="processor 0 of 2 raised Aborted: kept"):
        machines(2).run(raise_again, [Aborted("kept")])
    assert machines(2).run(lambda proc: proc.rank).results == [0, 1]


def test_an_emulated_program_may_raise_aborted_itself() -> None:
    with smp.emulated(2) as machine:
        with pytest.raises(ProcessorRaised, match="processor 0 of 2 raised Aborted: my own"):
            machine.run(raise_aborted)
        assert machine.run(lambda proc: proc.rank).results == [0, 1]
        with pytest.raises(DeadlockError):
            machine.run(lambda proc, cells: cells.readfe(proc.rank), machine.cells(2))


interruptible: list[str] = []


def watch_what_follows(proc: smp.Processor, fails: bool) -> None:
    def note(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and in_a_program(frame):
            interruptible.append(str(frame.f_code))

    sys.setprofile(note)
    if fails:
        raise KeyError("late")


def test_a_signal_cannot_interrupt_the_code_that_makes_the_answer() -> None:
    with message_machine(1) as machine:  # its program runs in a thread of this process
        machine.run(watch_what_follows, False)
        with pytest.raises(ProcessorRaised, match="late"):
            machine.run(watch_what_follows, True)
    assert interruptible == []


class Unreducible(Exception):
    def __reduce__(self) -> Any:
        raise SystemExit("no pickle of mine")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


def explode() -> None:
    raise SystemExit("not here")


class Unloadable(Exception):
    def __reduce__(self) -> Any:
        return explode, ()


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("kind", [Unreducible, Unspeakable, Unloadable])
def test_exceptions_whose_methods_raise_are_reported(machines: Machines, kind: type[Exception], emulated: bool) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            raise kind("the text")
        proc.barrier()

    machine = smp.emulated(2) if emulated else machines(2)
    with pytest.raises(ProcessorRaised, match=f"processor 1 of 2 raised {kind.__name__}") as caught:
        machine.run(program)
    assert caught.value.rank == 1
    assert "in program" in caught.value.remote_traceback
    assert machine.run(lambda proc: proc.rank).results == [0, 1]


class LoadsNowhereElse:
    """An object that can be pickled but not unpickled."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __reduce__(self) -> Any:
        return refuse, (self.rank,)


def refuse(rank: int) -> None:
    raise pickle.UnpicklingError("this does not load")


def test_a_result_that_does_not_load_names_its_processor(machines: Machines) -> None:
    with pytest.raises(NotPicklable, match=r"the result of processor 1 .*: this does not load"):
        machines(2).run(lambda proc: LoadsNowhereElse(1) if proc.rank == 1 else 0)
    assert machines(2).run(lambda proc: proc.rank).results == [0, 1]


def test_the_frames_of_a_program_exclude_its_callers(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[str]:
        return [frame.f_code.co_name for frame in lines._frames(sys._getframe())]

    assert pair.run(program).results == [["program"]] * 2


FAILING = """
import smp

def program(proc):
    raise ValueError("why")

def fail(item):
    raise ValueError("why")

def test_run():
    with smp.host(2) as machine:
        machine.run(program)  # the caller

def test_one_call():
    smp.run(program, 2)  # the caller

def test_map():
    smp.map(fail, [1, 2], processors=2)  # the caller
"""


def test_pytest_shows_the_callers_line_and_no_frame_of_smp(tmp_path: Path) -> None:
    (tmp_path / "test_failing.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "test_failing.py"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment).stdout
    assert "3 failed" in shown
    assert shown.count("# the caller") == 3
    frames = re.findall(r"^(\S+\.py):\d+: in ", shown, re.MULTILINE)
    assert set(frames) == {"test_failing.py"}, shown
