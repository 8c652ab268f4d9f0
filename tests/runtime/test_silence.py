"""Hints about processors that do not go on: a stopped process, and a wait that no record shows; the run goes on."""

import os
import re
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest
from support.sampled import each

import smp
from smp._runtime.host import silence

HERE = re.escape(__file__)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give hints earlier than usual."""
    monkeypatch.setattr(silence, "LOOK", 0.1)
    monkeypatch.setattr(silence, "HINT", 0.6)


def stopped(proc: smp.Processor, cells: smp.Cells, place: str) -> int:
    with proc.superstep("first"):
        pass
    if proc.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    if place == "cell":
        cells.writeef(0, 1) if proc.rank == 1 else cells.readff(0)
    elif place == "collective":
        proc.reduce(1)
    elif place == "phase":
        with proc.superstep("second") as step:
            step.compute()
    else:
        proc.barrier()
    return proc.rank


@pytest.mark.parametrize("place", each(2, ["barrier", "cell", "phase", "collective"]))
def test_a_stopped_processor_is_named_and_the_run_goes_on_with_it(nothing_left: None, place: str) -> None:
    with smp.host(3) as machine:
        cells = machine.cells(1)
        pids = machine.run(lambda proc: os.getpid()).results
        seen = rf"last seen at {HERE}:\d+, after superstep 0 \('first'\)"
        text = (
            rf"processor 1 of 3 does not answer: its process {pids[1]} has been stopped for 0\.6 s \(state T .*{seen}"
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            go_on = threading.Thread(target=woken, args=(caught, pids[1]))
            go_on.start()
            assert machine.run(stopped, cells, place).results == [0, 1, 2]
            go_on.join()
        assert [bool(re.match(text, str(warning.message))) for warning in caught] == [True]
        assert caught[0].filename == __file__
        assert f"kill -CONT {pids[1]} lets it go on" in str(caught[0].message)


def woken(caught: list[warnings.WarningMessage], pid: int) -> None:
    """Let a process go on once there is a warning."""
    deadline = time.monotonic() + 20.0
    while not caught and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(pid, signal.SIGCONT)


def locked(proc: smp.Processor, cells: smp.Cells, seconds: float) -> int:
    if proc.rank == 1:
        lock = threading.Lock()
        lock.acquire()
        threading.Timer(seconds, lock.release).start()
        lock.acquire()  # this line
        cells.writeef(0, 7)
    return int(cells.readff(0))


def test_a_wait_for_a_plain_lock_is_named_and_the_run_goes_on(nothing_left: None) -> None:
    with smp.host(3) as machine:
        cells = machine.cells(1)
        with pytest.warns(UserWarning, match=r"processor 1 of 3 used no CPU for 0\.6 s, while others wait") as caught:
            assert machine.run(locked, cells, 3.0).results == [7, 7, 7]
        assert len(caught) == 1
        table = str(caught[0].message)
        assert re.search(rf"\n0 +0 +readff of cell 0 of Cells\(1, dtype=int64\) +{HERE}:\d+ +\d", table)
        line = 1 + Path(__file__).read_text().split("\n").index("        lock.acquire()  # this line")
        assert re.search(rf"\n1 +0 +\(runs\) +{HERE}:{line}", table)


def working(proc: smp.Processor, cells: smp.Cells) -> int:
    if proc.rank == 1:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            pass
        cells.writeef(0, 7)
    return int(cells.readff(0))


def sleeping(proc: smp.Processor, cells: smp.Cells) -> int:
    time.sleep(1.5)
    return 7


@pytest.mark.parametrize("program", [working, sleeping])
def test_processors_that_work_or_for_which_no_other_waits_give_no_hint(
    nothing_left: None, program: object
) -> None:  # warnings are errors in tests
    with smp.host(3) as machine:
        assert machine.run(program, machine.cells(1)).results == [7, 7, 7]  # type: ignore[arg-type]
