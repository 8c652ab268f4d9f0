"""Keys of kept machine code: an edit makes the code that depends on it stale, and no other code."""

import enum
import functools
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.machines import ROOT, Script
from support.sampled import each

from smp._runtime.loops import code_folder, compiler, kept_code
from smp._runtime.loops.keys import key_of

KEYS = """
import importlib, json, os, sys
import numba, numpy, scipy  # once, for all the copies

def keys():
    import smp
    from smp._runtime.loops.compiler import numba
    from smp._runtime.loops.keys import key_of
    from smp._runtime.loops.place_actions import act
    from smp._runtime.protocols import entry_points
    found = {"core": entry_points._FILES.path().name, "treatments": key_of(act)}
    numba()
    for package in ("sorting.halves", "sorting.parts", "lists.serial", "lists.wyllie_cells", "grids.red_black"):
        module = importlib.import_module(f"smp.kernels.{package}")
        for name, value in vars(module).items():
            if hasattr(value, "__smp_loop__") and value.__module__ == module.__name__:
                found[f"{package}.{name}"] = key_of(value)
    @smp.local
    def named():
        smp.compiled.delay("here")
    assert smp.compiled
    found["place"] = key_of(named)
    assert entry_points._FILES.path().name == found["core"], "with Numba as without"
    return found

for line in sys.stdin:
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, json.dumps(keys()).encode())
        os._exit(0)
    os.close(write)
    print(os.read(read, 1 << 16).decode(), flush=True)
    os.close(read)
    os.wait()
"""
SORTING = {"sorting.parts.count_cells", "sorting.parts.move"}
CELLS = {"lists.wyllie_cells.rank_nodes"}
EVERYTHING = None
EDITS = [
    ("kernels/sorting/parts.py", "_AT_ONCE = 1024", "_AT_ONCE = 2048", SORTING),
    ("kernels/sorting/parts.py", "x if x < last", "x if x <= last", SORTING),  # an inlined callee
    ("kernels/sorting/parts.py", '"""Count the keys', '"""One line more.\n\n    Count the keys', set()),
    ("kernels/sorting/parts.py", "@local\ndef move(", "# a comment\n\n\n@local\ndef move(", set()),
    ("kernels/sorting/halves.py", "_AT_ONCE = 1 << 14", "_AT_ONCE = 1 << 13", {"sorting.halves.count_below"}),
    ("_runtime/protocols/cell.py", "def quick(", "# what it is\n\n\ndef quick(", set()),
    ("_runtime/protocols/cell.py", "A_AT, B_AT = 2, 18", "A_AT, B_AT = 2, 19", {"core"}),
    ("_runtime/protocols/cell.py", "FULL = 1\n", "FULL = 2\n", {"core"} | CELLS),
    ("_runtime/memory/cells_in_loops.py", "_I64 = ", "_I_64 = _I64 = ", CELLS),
    ("_runtime/loops/places.py", "SLOTS = 1 << 16", "SLOTS = 1 << 15", {"place"}),
    ("_runtime/loops/place_actions.py", "x = x * 0.999", "x = x * 0.99", {"treatments"}),
    ("kernels/grids/row_pair_instruction.py", "_I32 = ", "_I_32 = _I32 = ", {"grids.red_black.relax_rectangle"}),
    ("_runtime/loops/bits.py", "ADD_FLOAT32 = 9, 10, 11, 12", "ADD_FLOAT32 = 9, 10, 11, 13", {"core"}),
    (
        "_runtime/loops/atomics.py",
        "    return words[i]\n",
        "    return words[i] + 0\n",
        set(),
    ),  # only the plain Python version
    ("_runtime/loops/instructions.py", "ORDER = ", "ORDERED = ORDER = ", EVERYTHING),
    ("_runtime/loops/fences.py", "_REGISTER_GLOBAL_EXPEDITED = 2, 4", "_REGISTER_GLOBAL_EXPEDITED = 2, 8", EVERYTHING),
    ("_runtime/loops/machine_code.py", "nogil=not stepped", "nogil=True, fastmath=True", EVERYTHING),
]


class Edited:
    """A copy of smp that can be edited, and the keys of some of its machine code."""

    def __init__(self, place: Path) -> None:
        self.root = place / "smp"
        shutil.copytree(ROOT / "smp", self.root, ignore=shutil.ignore_patterns("microbench", "perturb", "__pycache__"))
        (place / "keys.py").write_text(KEYS)
        environment = {**os.environ, "PYTHONPATH": str(place), "SMP_CACHE_DIR": str(place / "cache")}
        environment.pop("SMP_TREATMENTS", None)
        self.process = subprocess.Popen(
            [sys.executable, str(place / "keys.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=place,
        )
        self.before = self.keys()

    def keys(self) -> dict[str, str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found: dict[str, str] = json.loads(self.process.stdout.readline())
        return found

    def stale_after(self, file: str, old: str, new: str) -> set[str]:
        path = self.root / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        try:
            after = self.keys()
        finally:
            path.write_text(text)
        assert after.keys() == self.before.keys()
        return {name for name, key in self.before.items() if after[name] != key}


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edited]:
    copy = Edited(tmp_path_factory.mktemp("edited"))
    yield copy
    copy.process.stdin.close()  # type: ignore[union-attr]
    assert copy.process.wait(timeout=60) == 0


@pytest.mark.parametrize(("file", "old", "new", "stale"), each(3, EDITS))
def test_an_edit_makes_only_dependent_code_stale(
    edited: Edited, file: str, old: str, new: str, stale: set[str] | None
) -> None:
    assert SORTING | CELLS | {"core", "place", "lists.serial.walk"} < edited.before.keys()
    assert edited.stale_after(file, old, new) == (edited.before.keys() if stale is None else stale)


COMPILED = """
import numpy as np, smp
from smp.kernels.lists.serial import walk
from smp.kernels.sorting.halves import count_below

print(walk(np.array([1, 2, 2]), 0, 0, 1, np.empty(3, np.int64)), count_below(np.arange(10), 4))
"""


def test_code_that_does_not_depend_on_an_edit_is_still_found(script: Script, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "smp", tmp_path / "smp", ignore=shutil.ignore_patterns("microbench", "__pycache__"))

    def made() -> set[str]:
        before = set((tmp_path / "cache").rglob("*.code"))
        process = script(COMPILED, PYTHONPATH=str(tmp_path), SMP_CACHE_DIR=str(tmp_path / "cache"))
        out, err = process.communicate(timeout=60)
        assert out == "(3, 3) 4\n", err
        return {path.name.partition("-")[0] for path in set((tmp_path / "cache").rglob("*.code")) - before}

    assert made() == {"smp.kernels.lists.serial.walk", "smp.kernels.sorting.halves.count_below"}
    assert made() == set()
    halves = tmp_path / "smp" / "kernels" / "sorting" / "halves.py"
    halves.write_text(f"# moved down\n{halves.read_text()}".replace("_AT_ONCE = 1 << 14", "_AT_ONCE = 1 << 13"))
    assert made() == {"smp.kernels.sorting.halves.count_below"}


VERSIONS = """
import sys, smp

def times(k):
    @smp.local
    def loop(x):
        return k * x
    return loop

print([times(int(k))(10) for k in sys.argv[1:]])
"""


LONELY = """
import sys, types
import smp

SOURCE = '''
import smp
FACTOR = 3

def made():
    @smp.local
    def tripled(x):
        if x < 0:
            raise ValueError(f"less than {FACTOR - 3}")
        return FACTOR * x

    @smp.local
    def tripled_twice(x):
        return tripled(tripled(x))

    return tripled_twice
'''

def program(proc, loop, name):
    assert name not in sys.modules
    try:
        loop(-1)
    except ValueError as error:
        return loop(2), str(error)

if __name__ == "__main__":
    name = sys.argv[1]
    sys.modules[name] = lonely = types.ModuleType(name)
    exec(SOURCE, lonely.__dict__)
    with smp.host(1) as machine:
        print(machine.run(program, lonely.made(), name).results)
"""


ATOMICS = """
import numpy as np
from smp.compiled import clock, fetch_add
words = np.array([4, 0])
assert 0 < clock() <= clock()
print(fetch_add(words, 0, 3), words)
"""


def test_primitives_that_python_calls_are_kept(script: Script, tmp_path: Path) -> None:
    def made() -> dict[str, int]:
        assert script(ATOMICS, SMP_CACHE_DIR=str(tmp_path)).communicate(timeout=60) == ("4 [7 0]\n", "")
        return {path.name.partition("-")[0]: path.stat().st_mtime_ns for path in tmp_path.rglob("*.code")}

    first = made()
    assert {f"smp._runtime.loops.atomics.{name}.from_python" for name in ("clock", "fetch_add")} == first.keys()
    assert made() == first, "they are loaded, not compiled again"


def test_a_loop_of_a_module_that_processors_cannot_import_is_kept(script: Script) -> None:
    """Numba would look for the globals of the loop, and of one that it calls, in that module."""
    name, folder = f"lonely_{uuid.uuid4().hex}", code_folder.cache_folder()

    def made() -> dict[str, int]:
        process = script(LONELY, name)
        assert process.communicate(timeout=60) == ("[(18, 'less than 0')]\n", "")
        return {path.name.partition("-")[0]: path.stat().st_mtime_ns for path in folder.glob(f"{name}*.code")}

    try:
        first = made()
        assert list(first) == [f"{name}.made.<locals>.tripled_twice"]
        assert made() == first, "it is loaded, not compiled again"
    finally:
        for path in folder.glob(f"{name}*.code"):
            path.unlink()


def test_versions_of_one_loop_are_kept_together(script: Script, tmp_path: Path) -> None:
    """Each version is the first function that its process compiles, so Numba would give both the same name."""
    for k in ("2", "3"):
        process = script(VERSIONS, k, SMP_CACHE_DIR=str(tmp_path))
        assert process.communicate(timeout=60) == (f"[{k}0]\n", "")
    made = sorted(tmp_path.rglob("*.code"))
    assert len(made) == 2
    process = script(VERSIONS, "2", "3", "2", SMP_CACHE_DIR=str(tmp_path))
    assert process.communicate(timeout=60) == ("[20, 30, 20]\n", "")
    assert sorted(tmp_path.rglob("*.code")) == made


def test_only_the_last_versions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_code, "cache_folder", lambda: tmp_path)
    other = kept_code.path_of("m.other-1", "a", "code")
    kept_code.write(other, b"other")
    paths = [kept_code.path_of("m.[f]-1", f"{k:x}", "code") for k in range(kept_code.VERSIONS + 3)]
    for k, path in enumerate(paths):
        kept_code.write(path, bytes([k]))
        os.utime(path, (k, k))
    assert [kept_code.read(path) for path in paths] == [None] * 3 + [bytes([k]) for k in range(3, len(paths))]
    assert kept_code.read(other) == b"other"


def test_nothing_is_kept_if_the_file_cannot_be_written(tmp_path: Path) -> None:
    kept_code.write(tmp_path / "absent" / "m.f-1-2.code", b"code")
    assert kept_code.read(tmp_path / "absent" / "m.f-1-2.code") is None


class Colour(enum.Enum):
    RED = 1


def made(source: str, **namespace: Any) -> Any:
    exec(source, namespace)
    return namespace["f"]


def test_a_key_covers_everything_that_is_compiled() -> None:
    compiler.numba()
    import numba

    sources = {
        "default": ("def f(x, y={}): return x + y", 1, 2),
        "keyword default": ("def f(x, *, y={}): return x + y", 1, 2),
        "default of a callee": ("def g(x, y={}): return x + y\ndef f(x): return g(x)", 1, 2),
        "handler": ("def f(x):\n try:\n  return {}\n except Exception: return 2", 1, 3),
        "member": ("def f(x): return Colour.{}.value", "RED", "BLUE"),
        "builtin": ("from math import {} as h\ndef f(x): return h(x)", "sin", "cos"),
        "ufunc": ("from numpy import {} as h\ndef f(x): return h(x)", "sin", "cos"),
        "type": ("from numpy import {} as h\ndef f(x): return h(x)", "int8", "int16"),
        "Numba's type": ("from numba import {} as h\ndef f(x): return h(x)", "int8", "int16"),
        "options": ("import numba\n@numba.njit({})\ndef g(x): return x\ndef f(x): return g(x)", "", "fastmath=True"),
        "primitive": ("from smp.compiled import {} as h\ndef f(x): return h(x, 0)", "load", "prefetch"),
        "one of two closures": (
            "def made(k):\n def g(x): return k * x\n return g\na, b = made(1), made({})\ndef f(x): return a(b(x))",
            *(2, 3),
        ),
    }
    for what, (source, *variants) in sources.items():
        keys = {key_of(made(source.format(variant), Colour=Colour)) for variant in variants}
        assert len(keys) == 2, what
        assert key_of(made(source.format(variants[0]), Colour=Colour)) in keys, what
    f = made("def f(x): return x")
    before = key_of(f, numba.int64)
    assert before != key_of(f, numba.float64)
    compiler.merged(f)
    assert before != key_of(f, numba.int64), "it is always inlined now, whatever its size"


def test_a_wrapper_is_not_mistaken_for_the_function_that_it_wraps() -> None:
    def inner(x: int) -> int:
        return x

    def wrapped(by: int) -> Callable[[int], int]:
        @functools.wraps(inner)
        def outer(x: int) -> int:
            return inner(x) + by

        return outer

    assert key_of(wrapped(1)) != key_of(wrapped(2))


def test_a_key_covers_the_module_attributes_that_its_functions_use(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = type(sys)("module_of_a_test")
    module.a, module.b = 1, 2
    source = "def g(x): return x + module.a\ndef h(x): return x + module.b\ndef f(x): return g(h(x))"
    f = made(source, module=module)
    before = key_of(f)
    module.b = 3
    assert key_of(f) != before
    module.b, module.c = 2, 4
    assert key_of(f) == before


def test_the_line_of_a_function_is_in_the_key_only_if_it_can_raise() -> None:
    """Numba's machine code contains the file and the line of each raise."""
    calm, raising = "def f(x):\n return x", "def f(x):\n if x: raise ValueError"
    assert key_of(made(calm)) == key_of(made(f"# moved\n{calm}"))
    assert key_of(made(raising)) != key_of(made(f"# moved\n{raising}"))


def test_a_docstring_is_in_the_key_only_if_it_is_also_a_result() -> None:
    source = "def f(x):\n '{0}'\n return '{1}'"
    assert key_of(made(source.format("a", "a"))) != key_of(made(source.format("b", "b")))
    assert key_of(made(source.format("a", "c"))) == key_of(made(source.format("b", "c")))


def test_a_key_is_the_same_in_all_processes(script: Script) -> None:
    program = """
        import numpy as np, smp
        from smp._runtime.loops.keys import key_of
        smp.compiled.numba()

        @smp.stream
        def loop(words, i):
            if i in {"a", "b", "c", "d"}:
                return smp.compiled.load(words, i)
            return np.sin(i)

        print(key_of(loop))
    """
    found = {script(program, PYTHONHASHSEED=str(seed)).communicate(timeout=60) for seed in (1, 2)}
    ((out, err),) = found
    assert len(out) == 33
    assert err == ""


def test_numbas_options_in_the_environment_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    f = made("def f(x): return x")
    before = key_of(f)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert key_of(f) == before
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert key_of(f) != before


def test_unused_folders_of_other_versions_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_folder, "_folder", None)
    monkeypatch.setenv("SMP_CACHE_DIR", str(tmp_path))
    ages = {"0123456789abcdef": (40, 31), "123456789abcdef0": (40, 29), "somebody's own ": (400,)}
    for name, locks in ages.items():
        (tmp_path / name).mkdir()
        for k, days in enumerate(locks):
            lock = tmp_path / name / f"{code_folder.LOCK}{k}"
            lock.touch()
            os.utime(lock, (time.time() - days * 86_400,) * 2)
    new = code_folder.cache_folder()
    assert {path.name for path in tmp_path.iterdir()} == {"123456789abcdef0", "somebody's own ", new.name}
