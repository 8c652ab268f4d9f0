"""Loops make the same steps on an emulated machine whether their source is interpreted or they are machine code."""

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import int64
from numba.core.registry import cpu_target
from support.machines import ROOT, Script
from support.sampled import examples

import smp
from smp import compiled
from smp._runtime.emulated.clocked.emulator import ClockedEmulator
from smp._runtime.loops.with_numba.cache import Kept
from smp.errors import CollectiveMismatch, DeadlockError, LivelockError, MachineClosed, WaitTimeout
from smp.perturb import Busy, treated

WORDS, CELLS, ROOM = 3, 3, 4_000
(ADD, STORE, EXCHANGE, SWAP_IF, SPIN, READ, WRITE, TRY, MEET, TIME, FLUSH, PEEK) = range(12)
Act = tuple[int, int, int]
ACTS = st.tuples(st.integers(0, 11), st.integers(0, WORDS - 1), st.integers(0, 5))
PROGRAMS = st.lists(st.lists(ACTS, max_size=8), min_size=1, max_size=5)


@smp.stream
def acted(words: Any, cells: Any, sync: Any, acts: Any, seen: Any) -> None:
    """Carry out acts, and note what each has found."""
    for k in range(len(acts)):
        what, i, number = acts[k]
        found = 0
        if what == ADD:
            found = compiled.fetch_add(words, i, number)
        elif what == STORE:
            compiled.store(words, i, number)
        elif what == EXCHANGE:
            found = compiled.exchange(words, i, number)
        elif what == SWAP_IF:
            found = compiled.compare_exchange(words, i, number, number + 1)
        elif what == SPIN:
            while compiled.load(words, i) < number and found < 20:
                compiled.pause()
                found += 1
        elif what == READ:
            found = compiled.readfe(cells, i)
        elif what == WRITE:
            compiled.writeef(cells, i, number)
        elif what == TRY:
            found = compiled.try_readfe(cells, i)[1]
        elif what == MEET:
            compiled.barrier(sync)
        elif what == TIME:
            found = compiled.clock()
        elif what == FLUSH:
            found = compiled.purge(cells, i, number)
        else:
            found = compiled.peek(cells, i)[1]
        seen[k] = found


def program(proc: smp.Processor, acts: list[list[Act]], words: Any, cells: smp.Cells) -> list[Any]:
    """Carry out a processor's acts in a loop, and in Python what comes to it of the others."""
    mine = np.array(acts[proc.rank], np.int64).reshape(-1, 3)
    seen = np.zeros(len(mine), np.int64)
    acted(words.view, cells, proc.sync, mine, seen)
    try:
        late = cells.readfe(0, timeout=1e-6)
    except WaitTimeout:
        late = -1
    return [seen.tolist(), int(late), proc.reduce(proc.rank), proc.clock()]


def taken(acts: list[list[Act]], interpreted: bool) -> tuple[Any, ...]:
    """Return what a run has found, its words, and its steps with their times."""
    with smp.emulated(len(acts), schedule="clock", trace=interpreted, limit=100_000) as machine:
        emulator: Any = machine._processors.emulator  # type: ignore[attr-defined]
        steps, words = emulator.record(ROOM), machine.zeros(WORDS, np.int64)
        try:
            found: Any = machine.run(program, acts, words, machine.cells(CELLS)).results
        except (DeadlockError, CollectiveMismatch) as error:
            return (type(error),)  # how it ends takes more steps if more streams have worked on cells
        return found, emulator.steps, steps.tobytes(), words.view.tolist()


@settings(max_examples=examples(200), deadline=None)
@given(PROGRAMS)
def test_both_engines_make_the_same_steps(acts: list[list[Act]]) -> None:
    assert taken(acts, interpreted=True) == taken(acts, interpreted=False)


@smp.stream
def paused(words: Any, what: int, other: int) -> None:
    """Change a word, or do not, and pause, more often than a deadline has patience with pauses in vain."""
    for k in range(1_500):
        if what == ADD:
            compiled.fetch_add(words, 0, 1)
        elif what == STORE:
            compiled.store(words, 0, 1)
        elif what == EXCHANGE:
            compiled.exchange(words, 0, k * other)
        elif what == SWAP_IF:
            compiled.compare_exchange(words, 0, k * other, k + 1)
        compiled.pause()


@pytest.mark.parametrize("other", [0, 1])
@pytest.mark.parametrize("what", [ADD, STORE, EXCHANGE, SWAP_IF, PEEK])
def test_a_deadline_has_patience_while_words_change(what: int, other: int) -> None:
    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> float:
        if proc.rank == 1:
            paused(words.view, what, other)
        else:
            with pytest.raises(WaitTimeout):
                cells.readfe(0, timeout=1e-3)
        return proc.clock()

    found = []
    for interpreted in (True, False):
        with smp.emulated(2, schedule="clock", trace=interpreted) as machine:
            steps = machine._processors.emulator.record(ROOM)  # type: ignore[attr-defined]
            run = machine.run(program, machine.zeros(1, np.int64), machine.cells(1))
            found.append((run.results, steps.tolist()))
    assert found[0] == found[1]


# Which loops run as machine code.


@smp.stream
def adds(words: Any, times: int) -> None:
    for _ in range(times):
        compiled.fetch_add(words, 0, 1)


@smp.local
def doubled(numbers: Any) -> int:
    return 2 * int(numbers[0])


@smp.stream
def adds_of_local_numbers(words: Any, times: int) -> None:
    for _ in range(times):
        compiled.fetch_add(words, 0, doubled(words) * 0 + 1)


noted: list[int] = []


@smp.stream
def adds_that_numba_cannot_compile(words: Any, times: int) -> None:
    for k in range(times):
        noted.append(k)
        compiled.fetch_add(words, 0, 1)


@pytest.mark.parametrize(
    ("loop", "in_python"), [(adds, 0), (adds_of_local_numbers, 100), (adds_that_numba_cannot_compile, 100)]
)
def test_loops_are_machine_code_where_their_steps_stay_the_same(
    loop: Any, in_python: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    original = ClockedEmulator.step

    def counted(emulator: Any, meaning: Any, args: Any) -> Any:
        steps.append(meaning.__name__)
        return original(emulator, meaning, args)

    monkeypatch.setattr(ClockedEmulator, "step", counted)
    with smp.emulated(2, schedule="clock") as machine:
        words = machine.zeros(1, np.int64)
        machine.run(lambda proc, words: loop(words.view, 50), words)
        assert words.view[0] == 100
    assert steps.count("fetch_add") == in_python


def test_a_loop_is_interpreted_while_steps_are_kept_or_a_place_is_treated() -> None:
    def program(proc: smp.Processor, words: Any) -> None:
        adds(words.view, 5)

    with smp.emulated(1, schedule="clock", trace=True) as machine:
        machine.run(program, machine.zeros(1, np.int64))
        assert [step[2] for step in machine.trace].count("fetch_add") >= 5
    with smp.emulated(1, schedule="clock") as machine, treated({"nowhere": Busy(10)}):
        words = machine.zeros(1, np.int64)
        assert machine.run(program, words).results == [None]
        assert words.view[0] == 5


# Ends.


@smp.stream
def spins(words: Any) -> None:
    while compiled.load(words, 0) == 0:
        pass


def test_a_loop_without_end_is_ended_at_the_limit() -> None:
    with smp.emulated(2, schedule="clock", limit=20_000) as machine:
        words = machine.zeros(1, np.int64)
        with pytest.raises(LivelockError, match="has not ended after 20,000 steps"):
            machine.run(lambda proc, words: spins(words.view), words)
        with pytest.raises(MachineClosed, match="ended in the middle"):
            machine.run(lambda proc: None)


@smp.stream
def waits(cells: Any, i: int) -> int:
    return int(compiled.readfe(cells, i))


def test_a_deadlock_in_loops_is_reported_with_lines_and_operations() -> None:
    with smp.emulated(3, schedule="clock") as machine:
        with pytest.raises(DeadlockError) as caught:
            machine.run(lambda proc, cells: waits(cells, proc.rank), machine.cells(3))
        assert str(caught.value).count(Path(__file__).name) == 3
        assert all(f"readfe of cell {k} of Cells(3, dtype=int64)" in str(caught.value) for k in range(3))
        assert machine.run(lambda proc: proc.rank).results == [0, 1, 2], "the machine can be used again"


def test_a_failure_ends_the_waits_of_loops() -> None:
    def program(proc: smp.Processor, cells: smp.Cells) -> None:
        if proc.rank == 2:
            raise KeyError("planned")
        waits(cells, proc.rank)

    with smp.emulated(3, schedule="clock") as machine:
        for _ in range(3):
            with pytest.raises(smp.ProgramError, match="planned"):
                machine.run(program, machine.cells(3))


def test_two_threads_run_two_machines_at_the_same_time() -> None:
    found: dict[int, list[int]] = {}

    def run(which: int) -> None:
        with smp.emulated(4, schedule="clock") as machine:
            for _ in range(20):
                words = machine.zeros(1, np.int64)
                machine.run(lambda proc, words: adds(words.view, 2_000 + which), words)
                found.setdefault(which, []).append(int(words.view[0]))

    threads = [threading.Thread(target=run, args=(which,)) for which in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {which: [4 * (2_000 + which)] * 20 for which in range(3)}


def test_4096_processors_meet() -> None:
    def program(proc: smp.Processor, words: Any) -> int:
        adds(words.view, 3)
        proc.barrier()
        return int(compiled.load(words.view, 0))

    with smp.emulated(4096, schedule="clock") as machine:
        assert set(machine.run(program, machine.zeros(1, np.int64)).results) == {3 * 4096}


ONE_RUN = """
import numpy as np, smp
from test_engines import acted
def program(proc, words, cells):
    acts = np.array([(k % 5, k * proc.rank % 3, k % 4) for k in range(40)] + [(5 + proc.rank % 2, 0, 7)], np.int64)
    seen = np.zeros(len(acts), np.int64)
    acted(words.view, cells, proc.sync, acts, seen)
    return seen.tolist()
with smp.emulated(4, schedule="clock") as machine:
    steps = machine._processors.emulator.record(2000)
    for _ in range({times}):
        found = machine.run(program, machine.zeros(3, np.int64), machine.cells(3)).results
        print(hash(tuple(steps.ravel().tolist())), found)
"""


@pytest.mark.slow
def test_runs_do_not_depend_on_the_process_or_on_earlier_runs() -> None:
    found = set()
    for seed in ("0", "1", "9"):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "tests" / "runtime")]),
        }
        code = ONE_RUN.format(times=32)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        found |= set(done.stdout.splitlines())
    assert len(found) == 1


def test_the_code_for_emulated_machines_has_names_of_its_own() -> None:
    """One process may load both forms of a loop from files of other processes, which count their functions anew."""
    found = set()
    for form in ("loop", "stepped"):
        copy = FunctionType(adds.__wrapped__.__code__, globals())  # type: ignore[attr-defined]
        Kept(adds.__wrapped__, copy, form).load_overload((int64[::1], int64), cpu_target.target_context)  # type: ignore[attr-defined]
        found.add(copy.__qualname__)
    assert len(found) == 2


BOTH_FORMS = """
import time
import smp
from smp.compiled import load, store, wait, wake

@smp.stream
def waits(words, sync):
    while load(words, 0) == 0:
        wait(words, 0, 0, sync)

@smp.stream
def wakes(words):
    store(words, 0, 1)
    wake(words, 0, 1)

def program(proc, words):
    if proc.rank == 0:
        waits(words.view, proc.sync)
    else:
        time.sleep(0.1)
        wakes(words.view)
    return int(words.view[0])

for opened in (lambda: smp.emulated(2, schedule="clock"), lambda: smp.host(2, start="fork")):
    with opened() as machine:  # the second one is a copy of this process with the loops of the first
        print(machine.run(program, machine.zeros(1, "int64")).results)
"""


def test_a_loop_runs_on_the_host_after_it_ran_on_an_emulated_machine(script: Script) -> None:
    """Both forms call the same function, too long to be inlined; the host's must not find the one that makes steps."""
    for _ in range(2):  # the first process compiles them, the second loads them
        assert script(BOTH_FORMS).communicate(timeout=120) == ("[1, 1]\n[1, 1]\n", "")


@pytest.mark.parametrize("schedule", ["seeded", "clock"])
@pytest.mark.parametrize(("error", "loop"), [(LivelockError, spins), (DeadlockError, None)])
def test_a_machine_that_failed_holds_no_memory(error: Any, loop: Any, schedule: str) -> None:
    """The collector does not look into arrays, so no cycle of references may go through one."""

    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> None:
        if loop is None:
            cells.readfe(0)
        loop(words.view)

    with smp.emulated(2, schedule=schedule, limit=5_000) as machine:
        segment = weakref.ref(machine._processors.segment)  # type: ignore[attr-defined]
        with pytest.raises(error):
            machine.run(program, machine.zeros(1, np.int64), machine.cells(1))
    gc.collect()  # pytest keeps the frames of the exception in a cycle
    assert segment() is None
