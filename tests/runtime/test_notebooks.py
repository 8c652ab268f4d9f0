"""Programs, loops, deadlocks, time limits and tracebacks in the cells of a real Jupyter kernel."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machines import ROOT
from support.notebooks import Notebook, kernel
from support.pages import blocks_of
from support.profiles import charging

LATEST = 2.0  # seconds


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with kernel() as book:
        book.run(
            "import sys, time, threading\nimport numba, numpy as np, smp\nfrom smp.compiled import fetch_add, readfe"
        )
        book.run("machine = smp.host(2)")
        yield book
        book.run("machine.close()")


def ends_in_time(notebook: Notebook, call: str) -> str:
    """Run a call that must fail within the time limit; return its traceback."""
    began = time.monotonic()
    text = notebook.fails(call)
    assert time.monotonic() - began < LATEST + 1.0  # plus the time that Jupyter takes to show it
    return text


LOOP = """
{decorator}
def total(values):
    s = 0
    for v in values:
        s += {term}
    return s
"""


@pytest.mark.parametrize("decorator", ["@smp.local", "@smp.stream", "@numba.njit", "@numba.njit(nogil=True)"])
def test_a_loop_in_a_cell_can_be_redefined_with_another_body(notebook: Notebook, decorator: str) -> None:
    run = "machine.run(lambda proc: int(total(np.arange(5) + proc.rank))).results"
    notebook.run(LOOP.format(decorator=decorator, term="v"))
    assert notebook.run(run) == "[10, 15]"
    notebook.run(LOOP.format(decorator=decorator, term="2 * v"))
    assert notebook.run(run) == "[20, 30]"
    assert notebook.run("int(total(np.arange(5)))") == "20"


def test_a_loop_uses_the_new_definition_of_its_helper(notebook: Notebook) -> None:
    notebook.run("@smp.local\ndef term(v):\n    return v")
    notebook.run(LOOP.format(decorator="@smp.local", term="term(v)"))
    run = "machine.run(lambda proc: int(total(np.arange(5)))).results"
    assert notebook.run(run) == "[10, 10]"
    notebook.run("@smp.local\ndef term(v):\n    return 3 * v")
    assert notebook.run(run) == "[30, 30]"


def test_a_loop_in_a_cell_runs_on_an_emulated_machine(notebook: Notebook) -> None:
    notebook.run(LOOP.format(decorator="@smp.stream", term="fetch_add(values, 0, 0) + v"))
    with_machine = "with smp.emulated(2) as small:\n    "
    assert notebook.run(with_machine + "print(small.run(lambda proc: int(total(np.arange(5)))).results)") == "[10, 10]"


def test_a_deadlock_is_reported(notebook: Notebook) -> None:
    notebook.run("cells = machine.cells(2)\ncells")
    notebook.run("def program(proc, cells):\n    cells.readfe(proc.rank)")
    text = ends_in_time(notebook, "machine.run(program, cells)")
    assert "DeadlockError: deadlock: all 2 streams wait" in text
    assert f"readfe of cell 1 of Cells(2, dtype=int64)  Cell In[{notebook.number - 1}], line 2" in text
    assert "machine.run(..., helpers=True)" in text
    assert notebook.run("machine.run(lambda proc: proc.rank).results") == "[0, 1]"


def test_a_deadlock_in_a_loop_is_reported(notebook: Notebook) -> None:
    notebook.run("@smp.stream\ndef take(cells, i):\n    return readfe(cells, i)")
    notebook.run("def program(proc, cells):\n    take(cells, proc.rank)")
    text = ends_in_time(notebook, "machine.run(program, machine.cells(2))")
    assert f"Cell In[{notebook.number - 1}], line 2" in text


@pytest.mark.slow
def test_a_thread_of_the_notebook_can_fill_the_cells(notebook: Notebook) -> None:
    notebook.run("cells = machine.cells(2)")
    notebook.run(
        "def help_late():\n    time.sleep(5.0)\n    cells.writeef(0, 1)\n    cells.writeef(1, 2)\n"
        "threading.Thread(target=help_late).start()"
    )
    run = "machine.run(lambda proc, cells: cells.readfe(proc.rank), cells, helpers=True).results"
    assert notebook.run(run) == "[1, 2]"


def test_a_time_limit_ends_a_run_and_shows_each_processor(notebook: Notebook) -> None:
    notebook.run("def program(proc):\n    if proc.rank == 0:\n        time.sleep(60)\n    proc.barrier()")
    text = ends_in_time(notebook, "machine.run(program, timeout=0.5)")
    cell = notebook.number - 1
    assert "WaitTimeout: the run has not ended within 0.5 s" in text
    assert re.search(rf"0 +0 +\(runs\) +Cell In\[{cell}\], line 3", text), text
    assert re.search(rf"1 +0 +barrier +Cell In\[{cell}\], line 4", text), text
    assert notebook.run("machine.run(lambda proc: proc.rank).results") == "[0, 1]"


@pytest.mark.parametrize("kind", ["host", "emulated"])
def test_the_traceback_of_a_processor_shows_the_source(notebook: Notebook, kind: str) -> None:
    notebook.run("def divide(a, b):\n    return a // b  # the guilty line")
    notebook.run("def program(proc):\n    return divide(1, proc.rank)")
    text = notebook.fails(f"with smp.{kind}(2) as small:\n    small.run(program)")
    inner = notebook.number - 2
    assert "processor 0 of 2 raised ZeroDivisionError" in text
    assert f"at Cell In[{inner}], line 2" in text
    remote = text[text.index("On processor 0:") :]
    assert f"Cell In[{inner + 1}], line 2, in program\n    return divide(1, proc.rank)" in remote
    assert f"Cell In[{inner}], line 2, in divide\n    return a // b  # the guilty line" in remote


def test_a_cell_that_is_run_again_is_cited_by_its_new_number(notebook: Notebook) -> None:
    source = "def program(proc):\n    raise KeyError(proc.rank)"
    for _ in range(2):
        notebook.run(source)
        text = notebook.fails("machine.run(program)")
        assert f"at Cell In[{notebook.number - 1}], line 2" in text


def test_the_steps_of_an_exploration_name_their_cell(notebook: Notebook) -> None:
    notebook.run(LOOP.format(decorator="@smp.local", term="v"))
    notebook.run("def careless(proc, words):\n    total(words.view)\n    fetch_add(words.view, 0, 1)\n    assert False")
    inner = notebook.number
    notebook.run("found = smp.explore(careless, 2, setup=lambda machine: machine.zeros(1, int))")
    assert notebook.run("found.failure.steps[0][3]") == repr(f"Cell In[{inner}], line 3")
    assert notebook.run("found.unseen[0].where") == repr(f"Cell In[{inner}], line 2")


def test_the_programs_of_the_pages_run_in_a_notebook(notebook: Notebook, tmp_path: Path) -> None:
    charging().save(tmp_path / "profile.json")
    notebook.run(f"smp.Profile.load({str(tmp_path / 'profile.json')!r}).keep()")  # run.interval() looks for one
    pages = [blocks_of((ROOT / page).read_text(encoding="utf-8"))[0] for page in ("README.md", "docs/cells.md")]
    superstep, cells = map(notebook.run, pages)
    notebook.run("machine = smp.host(2)")  # their own is closed
    assert superstep.startswith("1000000\nstep  label")
    assert "verdict" in superstep
    assert cells == "(True, 2000)"


def test_a_machine_remains_usable_after_its_cell_was_interrupted(notebook: Notebook) -> None:
    notebook.run("import signal, os")
    text = notebook.fails(
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "keys = np.random.default_rng(0).random(300_000)\n"
        "def program(proc):\n    while True:\n        np.sort(keys)\n"
        "machine.run(program)"
    )
    assert "KeyboardInterrupt" in text
    assert notebook.run("machine.run(lambda proc: proc.rank).results") == "[0, 1]"
