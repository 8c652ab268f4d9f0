"""The runtime's functions that loops call are compiled once for all loops, also for those of later processes."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.machines import ROOT

from smp._runtime.loops import kept_code
from smp._runtime.loops.with_numba import kept_callees

COMPILING = """
import json, os, signal, sys
import numpy as np
import smp
from smp._runtime.loops import compiler
from smp.compiled import barrier

compiler.numba()
from numba import typeof
from numba.core import event

def outcome(factor, added, what):
    @compiler.inline
    def innermost(k):
        return k * factor

    @compiler.inline
    def between(k):
        return innermost(k) + max(k, 2)

    @compiler.inline
    def printing(k):
        print(np.arange(k))
        return k

    @compiler.inline
    def over_printing(k):
        return printing(k) + 1

    for function in innermost, between, printing, over_printing:
        function.__module__ = "smp._runtime.example"

    @smp.local
    def calling(k):
        return between(k) + added

    @smp.local
    def calling_printing(k):
        return over_printing(k) + added

    @smp.stream
    def waiting(sync):
        barrier(sync)
        return added

    with event.install_recorder("numba:compile") as recorder:
        if what == "waiting":
            compiler.compiled(waiting).compile((typeof(np.zeros(8, np.int64)),))
            result = None
        else:
            result = (calling if what == "calling" else calling_printing)(5)
    ours = {e.data["dispatcher"].py_func for _, e in recorder.buffer}
    return result, sorted(f.__name__ for f in ours if f.__module__.startswith("smp._runtime."))

for line in sys.stdin:
    read, write = os.pipe()
    if os.fork() == 0:
        signal.alarm(60)  # a call of wrong code may never end
        os.dup2(2, 1)  # what is printed is of no interest
        os.write(write, json.dumps(outcome(*json.loads(line))).encode())
        os._exit(0)
    os.close(write)
    print(os.read(read, 1 << 16).decode(), flush=True)
    os.close(read)
    os.wait()
"""
Outcome = Callable[[int, int, str], tuple[Any, list[str]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("code")


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Iterator[Outcome]:
    """``outcome(factor, added, loop)`` calls a loop in a new process, and names the functions compiled or found there.

    They are functions of the runtime.
    """
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "SMP_CACHE_DIR": str(folder)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    process = subprocess.Popen([sys.executable, "-c", COMPILING], **pipes)
    assert process.stdin is not None
    assert process.stdout is not None

    def of(*case: Any) -> tuple[Any, list[str]]:
        print(json.dumps(case), file=process.stdin, flush=True)
        result, names = json.loads(process.stdout.readline())
        return result, names

    with process:
        yield of
        process.stdin.close()


def test_another_loop_finds_what_it_calls(outcome: Outcome) -> None:
    assert outcome(10, 1, "calling") == (50 + 5 + 1, ["between", "innermost"])
    assert outcome(10, 2, "calling") == (50 + 5 + 2, ["between"])


def test_a_changed_function_is_compiled_with_those_that_call_it(outcome: Outcome) -> None:
    outcome(20, 1, "calling")
    assert outcome(21, 1, "calling") == (21 * 5 + 5 + 1, ["between", "innermost"])
    assert outcome(20, 3, "calling") == (20 * 5 + 5 + 3, ["between"])


def test_a_damaged_file_is_replaced(outcome: Outcome, folder: Path) -> None:
    outcome(30, 1, "calling")
    for content in (b"", b"no pickle", pickle.dumps(None), pickle.dumps((0, 0, b"no text"))):
        for path in folder.rglob("*between*.text"):
            kept_code.write(path, content)
        assert outcome(30, 2 + len(content), "calling") == (30 * 5 + 5 + 2 + len(content), ["between", "innermost"])
    assert outcome(30, 1000, "calling") == (30 * 5 + 5 + 1000, ["between"])


def test_functions_with_objects_of_python_are_not_kept(outcome: Outcome, folder: Path) -> None:
    """Numba sets these objects in the process that compiles the function, not where only the text is found."""
    for added in 1, 2:
        assert outcome(0, added, "printing") == (5 + 1 + added, ["over_printing", "printing"])
    assert not list(folder.rglob("*printing*.text"))


def test_of_a_barrier_nothing_but_the_barrier_is_looked_up(outcome: Outcome) -> None:
    _, first = outcome(0, 1, "waiting")
    _, second = outcome(0, 2, "waiting")
    assert {"barrier", "synchronise", "arrive"} <= set(first)
    assert second == ["barrier"]


def test_no_name_counts_up_in_each_process(outcome: Outcome, folder: Path) -> None:
    """LLVM would take two functions with the same name for one, if they came from different processes."""
    import llvmlite.binding as llvm

    for old in folder.rglob("*.text"):
        old.unlink()
    outcome(0, 3, "waiting")
    outcome(40, 3, "calling")
    kept = list(folder.rglob("*.text"))
    assert len(kept) == 2
    for path in kept:
        data, suffix = kept_code.read(path), kept_callees.suffix_of(path)
        assert data is not None
        module = llvm.parse_bitcode(pickle.loads(data)[2])
        names = [each.name for each in module.functions if not each.is_declaration]
        assert len(names) > 1
        assert not [n for n in names if "_callee" not in n and not n.endswith(suffix) and not n.startswith("NRT_")]
