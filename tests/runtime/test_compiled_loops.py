"""Compiled code on disk: code that belongs to a loop, damaged files, and several processes that compile at once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.machines import HARD, ROOT, Script
from support.sampled import examples

import smp
from smp._runtime.loops import compiler, kept_code, machine_code, object_files
from smp._runtime.loops.keys import fingerprint
from smp._runtime.protocols import entry_points


@pytest.fixture(scope="module")
def primed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a cache that holds the runtime's own code and one loop in two signatures, and the script that uses it."""
    place = tmp_path_factory.mktemp("primed")
    (place / "program.py").write_text(PROGRAM)
    assert run(place / "program.py", place / "cache") == ANSWER
    return place


PROGRAM = """
import numpy as np, smp

@smp.local
def weighed(a, w):
    total = a[0] - a[0]
    for i in range(len(a)):
        total += a[i] * w
    return total

def program(proc):
    return weighed(np.arange(10), 3), weighed(np.arange(4.0), 0.5)

with smp.host(2) as machine:
    print(machine.run(program).results[1])
"""
ANSWER = "(135, 3.0)\n"


def run(path: Path, cache: Path) -> str:
    """Run a script to its end with a given cache; return its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SMP_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def emptied(data: bytes) -> bytes:
    return b""


def garbled(data: bytes) -> bytes:
    return bytes(np.random.default_rng(len(data)).integers(0, 256, len(data), np.uint8))


DAMAGES = (truncated, emptied, garbled)


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_rebuilt(primed: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    shutil.copytree(primed / "cache", tmp_path / "cache")
    files = [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".code", ".objects")]
    assert {path.suffix for path in files} == {".code", ".objects"}
    for path in files:
        path.write_bytes(damage(path.read_bytes()))
    assert run(primed / "program.py", tmp_path / "cache") == ANSWER


def test_damaged_code_of_a_loop_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is damaged in each way, in one process, so that only the loop is compiled again."""
    monkeypatch.setattr(kept_code, "cache_folder", lambda: tmp_path)

    def doubled(a: Any) -> Any:
        return a + a

    assert smp.local(doubled)(4) == 8
    for damage in DAMAGES:
        (path,) = tmp_path.glob("*.code")
        whole = path.read_bytes()
        path.write_bytes(damage(whole))
        compiler._dispatchers.clear()
        assert smp.local(doubled)(21) == 42
        assert kept_code.read(path) is not None, "the file is whole again"
        found = path.stat().st_mtime_ns
        compiler._dispatchers.clear()
        assert smp.local(doubled)(10) == 20
        assert path.stat().st_mtime_ns == found, "and the file is found"


@settings(deadline=None, max_examples=examples(100))
@given(where=st.floats(0, 1), flipped=st.integers(1, 255), cut=st.booleans())
@example(where=0.0, flipped=1, cut=True)
def test_any_damage_to_the_runtimes_own_code_is_noticed(where: float, flipped: int, cut: bool) -> None:
    """Half a machine instruction would crash, so not one byte may differ."""
    entry_points.core()
    path = entry_points._FILES.path()
    whole = path.read_bytes()
    at = int(where * (len(whole) - 1))
    data = whole[:at] if cut else whole[:at] + bytes([whole[at] ^ flipped]) + whole[at + 1 :]
    damaged = path.with_name("damaged.objects")
    damaged.write_bytes(data)
    try:
        assert object_files.kept(damaged) is None
    finally:
        damaged.unlink()
    kept = object_files.kept(path)
    assert kept is not None
    assert len(kept) == len(entry_points.Core._entries) + len(entry_points.Core._of_python)
    assert all(code.startswith(b"\x7fELF") for code in kept)


SIGNATURES = """
import sys, time, numpy as np, smp

@smp.local
def total(a):
    s = a[0]
    for i in range(1, len(a)):
        s += a[i]
    return s

kinds = [np.int64, np.int32, np.float64, np.float32]
turn = int(sys.argv[1])
order = kinds[turn:] + kinds[:turn]
def program(proc):
    mine = order[proc.rank:] + order[:proc.rank]
    return {np.dtype(kind).str: complex(total(np.arange(20).astype(kind))) for kind in mine}
with smp.host(2) as machine:
    for result in machine.run(program).results:
        assert set(result.values()) == {190}, result
print("right")
"""


@pytest.mark.slow
def test_processes_may_compile_for_the_first_time_at_once(script: Script, tmp_path: Path) -> None:
    """Six processes begin at once to compile four signatures of one function, in different orders."""
    cache = str(tmp_path / "cache")
    path = tmp_path / "signatures.py"
    path.write_text(SIGNATURES)
    source = f"import runpy, sys; runpy.run_path({str(path)!r}, run_name='__main__')"
    running = [script(source, str(turn), SMP_CACHE_DIR=cache) for turn in range(3)]
    for process in running:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "right\n"), err
    made = {path: path.stat().st_mtime_ns for path in Path(cache).rglob("*.code")}
    assert len(made) == 4
    out, err = script(source, "3", SMP_CACHE_DIR=cache).communicate(timeout=60)  # finds all of it on disk
    assert out == "right\n", err
    assert {path: path.stat().st_mtime_ns for path in Path(cache).rglob("*.code")} == made


def test_changes_in_functions_and_globals_that_a_loop_uses_are_noticed(script: Script, tmp_path: Path) -> None:
    """A function of another file and a global number are compiled into the loop."""
    helper = tmp_path / "helper_of_a_loop.py"
    source = """
        import sys, smp
        import helper_of_a_loop
        N = int(sys.argv[1])

        @smp.local
        def scaled(x):
            return helper_of_a_loop.shifted(x) * N

        print(scaled(1))
    """

    def result(shift: int, factor: int) -> str:
        helper.write_text(f"import smp\n@smp.local\ndef shifted(x):\n    return x + {shift}\n")
        path = os.pathsep.join([str(ROOT), str(tmp_path)])
        process = script(source, str(factor), PYTHONPATH=path, SMP_CACHE_DIR=str(tmp_path / "cache"))
        out, err = process.communicate(timeout=60)
        assert err == ""
        return out

    assert result(1, 10) == "20\n"
    assert result(1, 11) == "22\n"
    assert result(2, 11) == "33\n"
    kept = len(list((tmp_path / "cache").rglob("__main__.scaled-*.code")))
    assert kept == 3
    assert result(1, 10) == "20\n"
    assert len(list((tmp_path / "cache").rglob("__main__.scaled-*.code"))) == kept, "the first one is found again"


def test_a_fingerprint_distinguishes_loops() -> None:
    def made(namespace: dict[str, Any], source: str = "def f(x):\n    return g(x) + N") -> str:
        exec(source, namespace)
        return fingerprint(namespace["f"])

    def g(source: str) -> Any:
        namespace: dict[str, Any] = {"H": 1}
        exec(source, namespace)
        return namespace["g"]

    one = g("def g(x):\n    return x + H")
    same = made({"g": one, "N": 3})
    assert made({"g": g("def g(x):\n    return x + H"), "N": 3, "unused": 5}) == same
    assert made({"g": smp.local(one), "N": 3}) == same  # the loop of a function counts as the function
    others = [
        made({"g": one, "N": 4}),
        made({"g": one, "N": 3.0}),
        made({"g": one, "N": (3, 4)}),
        made({"g": one, "N": np.array([3, 4])}),
        made({"g": one, "N": np.array([3, 5])}),
        made({"g": g("def g(x):\n    return x - H"), "N": 3}),
        made({"g": g("def g(x):\n    return x + 2"), "N": 3}),
        made({"g": g("def g(x):\n    return [y + H for y in x]"), "N": 3}),
        made({"g": g("def g(x):\n    return [y + 2 * H for y in x]"), "N": 3}),
        made({"g": one, "N": 3}, "def f(x):\n    return g(x) - N"),
        made({"g": one, "N": 3}, "def f(x):\n    return g(x) + N + 1"),
    ]
    assert len({same, *others}) == 1 + len(others)
    one.__globals__["H"] = 7
    assert made({"g": one, "N": 3}) != same

    def recursive(n: int) -> int:
        return recursive(n - 1) if n else later

    later = 0
    assert fingerprint(recursive) == fingerprint(recursive)


def test_a_process_killed_while_it_compiles_does_not_block_others(script: Script) -> None:
    holder = script("""
        import time
        from smp._runtime.loops.machine_code import compile_lock
        with compile_lock("a loop"):
            print("locked", flush=True)
            time.sleep(60)
    """)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    os.kill(holder.pid, signal.SIGKILL)
    before = time.monotonic()
    with machine_code.compile_lock("a loop"):
        assert time.monotonic() - before < HARD


def test_a_forked_child_does_not_keep_the_lock_of_the_compiler() -> None:
    with machine_code.compile_lock("a loop"):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        code = "from smp._runtime.loops.machine_code import compile_lock\nwith compile_lock('a loop'): print('free')"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=HARD, env=environment
        )
        assert done.stdout == "free\n"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


CTRL_C = """
import os, signal
from numba.core import codegen

def compiled(cls, module, buffer):
    os.kill(os.getpid(), signal.SIGINT)

codegen.JITCodeLibrary._object_compiled_hook = classmethod(compiled)
import smp

@smp.local
def twice(x):
    return 2 * x

try:
    twice(21)
except KeyboardInterrupt:
    print("told", end=" ")
print(twice(21))
"""


def test_ctrl_c_while_llvm_calls_back_into_python_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CTRL_C)
    assert run(tmp_path / "program.py", tmp_path / "cache") == "told 42\n"


def test_importing_smp_does_not_import_numba() -> None:
    code = "import sys, smp; print([m for m in ('numba', 'llvmlite', 'scipy', 'matplotlib') if m in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "[]\n"


def test_a_loop_may_call_loops(pair: smp.Machine) -> None:
    """This also holds if both belong to no module and reach the processors by value."""

    @smp.local
    def squared(x: Any) -> Any:
        return x * x

    @smp.local
    def sum_of_squares(a: Any) -> Any:
        total = 0
        for x in a:
            total += squared(x)
        return total

    assert sum_of_squares(np.arange(4)) == 14
    assert pair.run(lambda proc: sum_of_squares(np.arange(4 + proc.rank))).results == [14, 30]
    assert pair.run(lambda proc: sum_of_squares(np.arange(3))).results == [5, 5]


def test_a_loop_is_compiled_once_in_a_worker(pair: smp.Machine) -> None:
    """It arrives by value with each call, and is recognised by its name."""

    @smp.local
    def third(x: Any) -> Any:
        return x / 3

    def program(proc: smp.Processor) -> int:
        third(proc.rank)
        return id(third)

    assert pair.run(program).results == pair.run(program).results


def test_numba_functions_of_the_user_may_use_the_primitives(script: Script) -> None:
    """The workers have started before Numba was imported."""
    process = script("""
        import numpy as np, smp
        machines = [smp.host(1, start=method) for method in ("forkserver", "spawn")]
        import numba
        from smp.compiled import fetch_add

        @numba.njit
        def added(words, rounds):
            for _ in range(rounds):
                fetch_add(words, 0, 1)
            return words[0]

        for machine in machines:
            words = machine.zeros(1, np.int64)
            print(machine.run(lambda proc: added(words.view, 10)).results)
            machine.close()
    """)
    out, err = process.communicate(timeout=60)
    assert out == "[10]\n[10]\n", err


def test_threads_may_call_loops_for_the_first_time_at_once(script: Script, tmp_path: Path) -> None:
    """Each loop is compiled once, into the cache. Nothing is written into the folder where the program runs."""
    process = script(
        """
        import os, sys, threading
        os.chdir(sys.argv[1])
        import numpy as np, smp

        loops, starter = [], threading.Barrier(6)
        for k in range(3):
            @smp.stream
            def loop(words, k=k):
                for i in range(len(words)):
                    words[i] += k
                return words.sum()
            loops.append(loop)

        results = []

        def call(k):
            starter.wait()
            results.append((k, int(loops[k](np.ones(4, np.int64)))))

        threads = [threading.Thread(target=call, args=(k % 3,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(sorted(results), os.listdir())
    """,
        str(tmp_path),
        SMP_CACHE_DIR=str(tmp_path.parent / "cache"),
    )
    out, err = process.communicate(timeout=120)
    assert out.startswith("[(0, 4), (0, 4), (1, 8), (1, 8), (2, 12), (2, 12)]"), err
    assert not [entry for entry in eval(out[out.rindex("[") :]) if not entry.startswith("script")]


def test_functions_that_loops_call_have_names_of_their_own() -> None:
    """Numba distinguishes functions by their names, which functions made by one lambda or factory would share."""
    from numba import njit

    from smp.compiled import load, peek, readfe, readff, readxx, store, writeef, writexf

    @njit
    def all_of_them(cells: Any, words: Any) -> Any:
        writeef(cells, 0, readff(cells, 0) + readfe(cells, 0))
        writexf(cells, 0, readxx(cells, 0))
        store(words, 0, load(words, 0))
        return peek(cells, 0)

    with smp.host(1) as machine:
        all_of_them(machine.cells(1, full=True), np.zeros(1, np.int64))
    code = next(iter(all_of_them.inspect_llvm().values()))
    for called in (readfe, readff, readxx, writeef, writexf, peek, load, store):
        assert f"{called.__module__}.{called.__qualname__}".replace(".", "_") in code
    assert "3clambda" not in code


OF_PYTHON = """
import numpy as np, smp

@smp.inline
def shown(a):
    print(a)

@smp.inline
def checked(k, most=1):
    if k > most:
        raise ValueError("too large", k)
    return k

@smp.local
def loop(a, k):
    shown(a=a)
    return checked(k, most=2)

print(loop(np.arange(3), 1))
try:
    loop(np.arange(2), 5)
except ValueError as error:
    print(repr(error))
"""


def test_functions_of_loops_may_use_objects_of_python(tmp_path: Path) -> None:
    """Numba sets these objects where the machine code of a function is; the loop's own has none of them."""
    (tmp_path / "program.py").write_text(OF_PYTHON)
    expected = "[0 1 2]\n1\n[0 1]\nValueError('too large', 5)\n"
    for _ in range(2):  # compiled, and then loaded
        assert run(tmp_path / "program.py", tmp_path / "cache") == expected
