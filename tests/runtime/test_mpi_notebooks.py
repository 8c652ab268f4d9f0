"""A machine of MPI in the cells of a real Jupyter kernel: programs, loops, failures, Ctrl-C, and its end."""

from collections.abc import Iterator

import psutil
import pytest
from support.machines import gone
from support.notebooks import Notebook, kernel

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with kernel() as book:
        book.run("import os, signal, threading, numpy as np, smp\nmachine = smp.mpi(2)")
        yield book


def test_a_program_of_a_cell_runs_and_uses_its_new_definition(notebook: Notebook) -> None:
    notebook.run("def program(proc, a):\n    return int(proc.reduce(a[proc.rank]))")
    assert notebook.run("machine.run(program, np.arange(1, 3)).results") == "[3, 3]"
    notebook.run("def program(proc, a):\n    return int(proc.scan(a[proc.rank]))")
    assert notebook.run("machine.run(program, np.arange(1, 3)).results") == "[1, 3]"
    notebook.run("@smp.local\ndef total(values):\n    s = 0\n    for v in values:\n        s += v\n    return s")
    assert notebook.run("machine.run(lambda proc: int(total(np.arange(5) + proc.rank))).results") == "[10, 15]"


def test_failures_cite_the_cell_and_the_machine_goes_on(notebook: Notebook) -> None:
    notebook.run("def program(proc):\n    proc.barrier()\n    return 1 // (1 - proc.rank)")
    cell = notebook.number
    text = notebook.fails("machine.run(program)")
    assert "processor 1 of 2 raised ZeroDivisionError" in text
    assert f"at Cell In[{cell}], line 3" in text
    text = notebook.fails("machine.run(lambda proc: proc.cells(2).readfe(proc.rank))")
    assert "DeadlockError: deadlock: all 2 streams wait" in text
    text = notebook.fails(
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "def program(proc):\n    while True:\n        pass\n"
        "machine.run(program)"
    )
    assert "KeyboardInterrupt" in text
    assert notebook.run("machine.run(lambda proc: proc.rank).results") == "[0, 1]"


def test_lines_of_a_program_appear_below_the_cell(notebook: Notebook) -> None:
    assert (
        notebook.run("_ = machine.run(lambda proc: proc.print('here', proc.rank) if proc.rank else None)") == "here 1"
    )


def test_no_rank_is_left_when_the_machine_is_closed(notebook: Notebook) -> None:
    ranks = notebook.run("machine.run(lambda proc: os.getpid()).results")
    pids = [int(word) for word in ranks.strip("[]").split(",")]
    assert all(psutil.pid_exists(pid) for pid in pids)
    notebook.run("machine.close()")
    assert all(gone(pid, 2.0) for pid in pids)
    assert "MachineClosed" in notebook.fails("machine.run(lambda proc: 1)")
    assert notebook.run("with smp.mpi(2) as again:\n    print(again.run(lambda proc: proc.size).results)") == "[2, 2]"
