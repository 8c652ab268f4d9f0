"""Helpers in a deadlock: threads of the parent, and forked processes, that may change a cell when no processor can."""

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.machines import HARD
from support.sampled import each

import smp
from smp._runtime.host import deadlock, helpers
from smp._runtime.memory.cells import Cells
from smp.errors import DeadlockError

LATE = 1.0  # seconds: longer than a deadlock without a helper takes to be reported
LATER = 1.1  # the same if there are open threads, which may or may not be helpers, for which it waits for PATIENCE
LATEST = 2.0
PATIENCE = 0.3


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let open threads have little time, so that tests need not wait for long to show that a helper has more."""
    monkeypatch.setattr(deadlock, "OPEN", PATIENCE)


def take(proc: smp.Processor, cells: Cells) -> Any:
    return cells.readfe(proc.rank)


def fill(cells: Cells) -> None:
    for i in range(len(cells)):
        cells.writeef(i, 10 + i)


@pytest.fixture
def idle() -> Iterator[threading.Thread]:
    """Run a thread of the parent that has nothing to do with cells."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="idle one", daemon=True)
    thread.start()
    yield thread
    end.set()
    thread.join()


def test_a_deadlock_is_reported_despite_an_idle_thread(pair: smp.Machine, idle: threading.Thread) -> None:
    began = time.monotonic()
    with pytest.raises(DeadlockError, match="all 2 streams wait") as caught:
        pair.run(take, pair.cells(2))
    assert time.monotonic() - began < LATEST
    assert "other threads ('idle one')" in str(caught.value)
    assert "helpers=True" in str(caught.value)
    assert pair.run(lambda proc: proc.rank).results == [0, 1]


@pytest.mark.usefixtures("impatient")
def test_without_helpers_the_deadlock_is_reported_at_once(pair: smp.Machine) -> None:
    cells = pair.cells(2)
    timer = threading.Timer(LATER, fill, (cells,))
    timer.start()
    try:
        with pytest.raises(DeadlockError) as caught:
            pair.run(take, cells, helpers=False)
        assert "helpers=" not in str(caught.value)
    finally:
        timer.cancel()


class Filler:
    """An object that holds cells in an attribute."""

    def __init__(self, cells: Cells) -> None:
        self.many = {"cells": [cells]}

    def run(self) -> None:
        time.sleep(LATER)
        fill(self.many["cells"][0])


def by_a_closure(cells: Cells) -> Callable[[], None]:
    def help_late() -> None:
        time.sleep(LATER)
        fill(cells)

    return help_late


def by_a_method(cells: Cells) -> Callable[[], None]:
    return Filler(cells).run


kept: list[Cells] = []


def from_a_global() -> None:
    time.sleep(LATER)
    fill(kept[-1])


def by_a_global(cells: Cells) -> Callable[[], None]:
    kept.append(cells)
    return from_a_global


@pytest.mark.parametrize("helper", each(2, [by_a_closure, by_a_method, by_a_global]))
@pytest.mark.usefixtures("impatient")
def test_a_thread_that_holds_the_cells_may_help(pair: smp.Machine, idle: threading.Thread, helper: Any) -> None:
    cells = pair.cells(2)
    thread = threading.Thread(target=helper(cells), name="helping")
    thread.start()
    with pytest.warns(UserWarning, match="no processor can go on unless thread 'helping' changes a cell") as caught:
        assert pair.run(take, cells).results == [10, 11]
    assert len(caught) == 1
    assert caught[0].filename == __file__  # it names the call of the run
    thread.join()


@pytest.mark.usefixtures("impatient")
def test_a_thread_that_has_used_the_cells_may_help(pair: smp.Machine) -> None:
    """A thread of a pool is idle and holds no cells until it is given more work."""
    cells = pair.cells(2)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(cells.peek, 0).result()
        timer = threading.Timer(LATER, lambda name: pool.submit(fill, kept[-1]), ("no cells",))
        kept.append(cells)
        timer.start()
        with pytest.warns(UserWarning, match="thread 'ThreadPoolExecutor-"):
            assert pair.run(take, cells).results == [10, 11]
        timer.join()


def test_a_helper_may_end_while_helpers_are_searched_for(pair: smp.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fills the cells after all streams were found waiting, and is gone before the threads are searched."""
    cells = pair.cells(2)

    def look(*_: object) -> helpers.Threads:
        monkeypatch.undo()
        fill(cells)
        return helpers.Threads([], [])

    monkeypatch.setattr(helpers, "threads", look)
    assert pair.run(take, cells).results == [10, 11]


hidden: dict[str, Any] = {}


def unhide() -> None:
    time.sleep(LATER)
    fill(globals()["hid" + "den"]["cells"])


@pytest.mark.usefixtures("impatient")
def test_a_helper_that_cannot_be_found_can_be_announced(pair: smp.Machine) -> None:
    cells = hidden["cells"] = pair.cells(2)
    thread = threading.Thread(target=unhide)
    thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pair.run(take, cells, helpers=True).results == [10, 11]
    thread.join()


@pytest.mark.usefixtures("impatient")
def test_a_thread_that_holds_cells_of_another_machine_is_not_a_helper(pair: smp.Machine) -> None:
    with smp.host(1) as other:
        thread = threading.Thread(target=by_a_closure(other.cells(2)))
        thread.start()
        with pytest.raises(DeadlockError):
            pair.run(take, pair.cells(2))
        thread.join()


def test_a_forked_child_of_the_parent_may_help(pair: smp.Machine) -> None:
    cells = pair.cells(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork while threads run
        child = os.fork()
    if child == 0:
        try:
            time.sleep(LATE)
            fill(cells)
        finally:
            os._exit(0)
    with pytest.warns(UserWarning, match=f"unless process {child} "):
        assert pair.run(take, cells).results == [10, 11]
    assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_of_a_processor_may_help(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Cells) -> Any:
        if proc.rank == 1 and os.fork() == 0:
            try:
                time.sleep(LATE)
                fill(cells)
            finally:
                os._exit(0)
        return cells.readfe(proc.rank)

    with pytest.warns(UserWarning, match="unless process "):
        assert pair.run(program, pair.cells(2)).results == [10, 11]


def test_a_deadlock_is_reported_once_the_forked_child_has_ended(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Cells) -> Any:
        if proc.rank == 1 and os.fork() == 0:
            time.sleep(1.0)
            os._exit(0)
        return cells.readfe(proc.rank)

    began = time.monotonic()
    with pytest.warns(UserWarning, match="unless process"), pytest.raises(DeadlockError):
        pair.run(program, pair.cells(2))
    assert 1.0 < time.monotonic() - began < HARD


def test_forked_processors_of_another_machine_are_not_helpers() -> None:
    with smp.host(2) as machine, smp.host(1, start="fork"), pytest.raises(DeadlockError):
        machine.run(take, machine.cells(2))


def test_an_emulated_machine_refuses_helpers() -> None:
    with smp.emulated(2) as machine, pytest.raises(smp.Unsupported, match="helpers=True"):
        machine.run(take, machine.cells(2), helpers=True)
