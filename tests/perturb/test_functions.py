"""Functions whose calls are places although their source names none: in this process, on machines, and in scripts."""

import sys
import textwrap
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import stacks
from support.sampled import campaigns
from support.stacks import Stack, Tower, push

import smp
from smp.errors import TrialFailed
from smp.perturb import Trials, climb, confirm, counted, factor, placed, screen, treated
from smp.perturb.places.functions import NotAPlace, spots

Machines = Callable[..., smp.Machine]
NAME = "support.stacks."


def passes(met: Any) -> dict[str, int]:
    return {name.removeprefix(NAME): one.passes for name, one in met.items()}


def test_each_call_is_a_pass_wherever_the_function_is_referred_to() -> None:
    with placed(NAME + "push") as names, counted() as met:
        assert push([]) == [3, 2, 1, 0]  # a name that was imported before, and a function that calls itself
        stacks.push([], 0, twice=True)
        stacks.table["push"]([], x=1)
    assert names == (NAME + "push",)
    assert passes(met) == {"push": 7}
    assert met[NAME + "push"].inside > 0


def test_methods_of_every_kind_are_places() -> None:
    names = [f"{NAME}Stack.{name}" for name in ("push", "doubled", "made", "height", "first", "__init__")]
    with placed(*names), counted() as met:
        tower = Tower.made()
        assert isinstance(tower, Tower)
        assert tower.push(5) is Stack
        assert (tower.doubled(3), Stack.doubled(4), tower.height) == (6, 8, 1)
        assert [tower.first, tower.first] == [5, 5]
    assert passes(met) == {
        f"Stack.{name}": count
        for name, count in {"made": 1, "__init__": 1, "push": 1, "doubled": 2, "height": 1, "first": 1}.items()
    }


def test_functions_can_be_given_themselves() -> None:
    base = 10

    def above(x: int, by: int = 1) -> int:
        return base + x + by

    inside = f"{__name__}.test_functions_can_be_given_themselves.<locals>.above"
    with placed(push, Stack.push, Stack.made, above) as names, counted() as met:
        assert above(1) == 12
        Stack.made().push(1)
    assert names == (NAME + "push", NAME + "Stack.push", NAME + "Stack.made", inside)
    assert set(met) == {NAME + "Stack.push", NAME + "Stack.made", inside}


def test_the_functions_are_as_before_after_the_last_block() -> None:
    before = push.__code__
    with placed(push):
        with placed(NAME + "push"), counted() as met:
            push([], 0)
        assert push.__code__ is not before
        with counted() as again:
            push([], 0)
    assert push.__code__ is before
    assert passes(met) == passes(again) == {"push": 1}
    with pytest.raises(ZeroDivisionError), placed(push):
        _ = 1 / 0
    assert push.__code__ is before
    with pytest.raises(NotAPlace), placed(push, NAME + "nothing"):
        pass
    assert push.__code__ is before
    assert not spots()


def test_a_call_is_delayed_each_time() -> None:
    done: list[int] = []
    delays = {NAME + "push": "20ms"}
    with placed(push), treated(delays):
        began = time.perf_counter()
        push(done, 2)
        took = time.perf_counter() - began
    assert done == [2, 1, 0]
    assert took >= 3 * 20e-3


def test_errors_are_those_of_the_function_with_its_lines() -> None:
    with placed(push):
        with pytest.raises(TypeError, match=r"push\(\) missing 1 required positional argument: 'stack'"):
            push()  # type: ignore[call-arg]
        with pytest.raises(AttributeError) as failed:
            push(None)  # type: ignore[arg-type]
    frames = traceback.extract_tb(failed.value.__traceback__)[1:]
    assert {Path(frame.filename).name for frame in frames} - {"factors.py"} == {"stacks.py"}
    assert frames[-1].line == "stack.append(x)"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("push", "'push' names no function of a module: write module.function"),
        ("no_module.push", "there is no module 'no_module', which no_module.push names"),
        (NAME + "pusch", r"the module support.stacks has no 'pusch'; it has push"),
        (NAME + "Stack.pull", "the class Stack has no 'pull'"),
        (NAME + "push.inner", "the function push has no 'inner'"),
        (NAME + "Stack", "is a class: name one of its methods, such as support.stacks.Stack.__init__"),
        (NAME + "Tower.push", "is inherited, and is support.stacks.Stack.push: give that name"),
        (NAME + "numbers", "does not run when it is called"),
        (NAME + "in_a_loop", r"is a compiled loop, and loops call it without Python: write delay\('in_a_loop'\)"),
        (NAME + "for_loops", "is compiled into loops"),
        (NAME + "root", "is a builtin_function_or_method, whose calls cannot be seen"),
        (NAME + "cached", "is a _lru_cache_wrapper, whose calls cannot be seen"),
        ("math.sqrt", "is a builtin_function_or_method"),
        ("numpy.add", "is a ufunc"),
    ],
)
def test_functions_whose_calls_cannot_be_places_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message), placed(name):
        pass


def test_a_function_has_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "again", push, raising=False)
    with pytest.raises(ValueError, match=r"again and support.stacks.push are the same function"):
        placed(NAME + "push", NAME + "again").__enter__()
    assert not spots()
    with pytest.raises(TypeError, match="give the name of a function"), placed(3):  # type: ignore[arg-type]
        pass
    with pytest.raises(TypeError, match="functions must be a sequence"):
        screen(push, functions=NAME + "push")


def test_a_module_that_fails_on_import_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "needs_much.py").write_text("import no_such_thing\n")
    with pytest.raises(ValueError, match=r"needs_much, which needs_much\.f names, cannot be imported: No module named"):
        placed("needs_much.f").__enter__()


# Machines.


def local_program(proc: Any, times: int) -> int:
    def by_value(x: int) -> int:
        return x

    with placed(by_value), factor("around"):
        by_value(1)
    return stacks.program(proc, times)


def timed(proc: Any, times: int) -> float:
    began = proc.clock()
    stacks.program(proc, times)
    return float(proc.clock() - began)


@pytest.mark.parametrize("start", ["forkserver", *campaigns("spawn"), "fork", "emulated"])
def test_calls_are_counted_and_delayed_on_processors(start: str) -> None:
    opened = smp.emulated(2) if start == "emulated" else smp.host(2, start=start)
    with opened as machine, placed(NAME + "push", Stack.push, stacks.program):
        with counted() as met:
            assert machine.run(stacks.program, 3).results == [3, 3]
        assert passes(met) == {"push": 12, "Stack.push": 6, "program": 2}
        assert {one.by for one in met.values()} == {2}
        with counted() as met:
            machine.run(local_program, 1)
        by_value = f"{__name__}.local_program.<locals>.by_value"
        assert passes(met) == {"push": 4, "Stack.push": 2, "program": 2, by_value: 2, "around": 2}
        with treated({NAME + "push": "5ms"}):
            assert all(seconds >= 6 * 0.005 for seconds in machine.run(timed, 3).results)
    if start != "fork":  # its processors are copies of a process in which the functions were places
        with smp.emulated(2) if start == "emulated" else smp.host(2, start=start) as machine, counted() as met:
            machine.run(stacks.program, 3)
        assert not met


def test_a_delay_of_a_call_takes_its_virtual_time_on_an_emulated_machine() -> None:
    with smp.emulated(2, schedule="clock") as machine:
        found = screen(
            stacks.program,
            functions=[NAME + "push", Stack.push],
            treatment="1us",
            machine=machine,
            arguments=(5,),
            replicates=2,
        ).analyse()
    assert found.effect(NAME + "push") == pytest.approx(10e-6)
    assert found.effect(NAME + "Stack.push") == pytest.approx(5e-6)


# Experiments.


def test_experiments_take_functions(tmp_path: Path) -> None:
    def program() -> None:
        push([], 4)
        with factor("rest"):
            Stack().push(1)

    trials = screen(program, functions=[NAME + "push", Stack.push], replicates=2, treatment="1us")
    assert trials.plan.factors == ("rest", NAME + "Stack.push", NAME + "push")
    assert passes(trials.met) == {"rest": 1, "Stack.push": 1, "push": 5}
    assert trials.about["functions"] == [NAME + "push", NAME + "Stack.push"]
    assert Trials.from_json(trials.to_json()).about == trials.about
    found = climb(program, ("1us", "2us", "3us"), functions=["support.stacks.push"], factors=["support.stacks.push"])
    assert found.trials.met[NAME + "push"].passes == 5
    searched = screen(
        program, "OA4(2^3)", treatment=[None, "1us"], functions=[push], factors="rest,support.stacks.push"
    )
    if searched.best():
        assert confirm(searched, program).about["functions"] == [NAME + "push"]
    with pytest.raises(ValueError, match=r"the program never calls support.stacks.Stack.doubled"):
        screen(program, functions=[push, Stack.doubled])


SCRIPT = """
import functools, sys
import {other}
from {other} import helped

def twice(function):
    @functools.wraps(function)
    def both(x):
        function(x)
        return function(x)
    return both

def push(x):
    helped(x)

class Stack:
    @classmethod
    def made(cls):
        return cls()

    @twice
    def pushed(self):
        push(1)

if sys.argv[1:] == ["late"]:
    def late():
        push(0)
else:
    def late():
        push(0)

Stack.made().pushed()
late()
responses = {{"line": push.__code__.co_firstlineno}}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "helping.py").write_text("def helped(x):\n    pass\n\ndef broken(x): pass\n")
    path = tmp_path / "stacking.py"
    path.write_text(SCRIPT.format(other="helping"))
    return path


def test_functions_of_a_script_and_of_its_modules_are_places(script: Path) -> None:
    names = ["stacking.push", "__main__.Stack.made", "stacking.Stack.pushed", "stacking.late", "helping.helped"]
    trials = screen(script, functions=names, treatment="1us", replicates=1)
    assert passes(trials.met) == {
        "stacking.push": 3,
        "__main__.Stack.made": 1,
        "stacking.Stack.pushed": 1,
        "stacking.late": 1,
        "helping.helped": 3,
    }
    assert set(trials.table["line"]) == {SCRIPT.split("\n").index("def push(x):") + 1}
    assert "helping" not in sys.modules


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["stacking.pusch"], "stacking.py has no function 'pusch'; it has push"),
        (["stacking.push", "__main__.push"], "__main__.push and stacking.push are the same function"),
        (["helping.nothing"], "the module helping has no 'nothing'"),
        (["nowhere.push"], "there is no module 'nowhere'"),
        (["stacking.push", "helping.broken"], "the program never calls helping.broken"),
    ],
)
def test_functions_that_a_script_does_not_have_are_reported(script: Path, names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        screen(script, functions=names)


def test_a_compiled_loop_of_a_script_is_refused(script: Path) -> None:
    script.write_text("import smp\n\n@smp.local\ndef total(x):\n    return x\n")
    with pytest.raises(ValueError, match=r"stacking\.total is a compiled loop"):
        screen(script, functions=["stacking.total"])
    with pytest.raises(TypeError, match="a script's functions must be given by their names"):
        screen(script, functions=[push])


def test_a_script_that_fails_in_a_placed_function_fails_as_without(script: Path) -> None:
    script.write_text("def push():\n    raise KeyError('gone')\n\npush()\n")
    with pytest.raises(TrialFailed, match=r"(?s)KeyError: 'gone'.*line 2, in push"):
        screen(script, functions=["stacking.push"])


@pytest.mark.slow
def test_functions_of_a_script_are_counted_on_the_processors_of_its_machines(script: Path) -> None:
    (script.parent / "helping.py").write_text("def helped(x):\n    pass\n")
    script.write_text(
        textwrap.dedent(
            """
            import smp
            from helping import helped

            def push(proc):
                helped(proc.rank)

            def program(proc):
                push(proc)
                push(proc)

            if __name__ == "__main__":
                with smp.host(2) as machine:
                    machine.run(program)
            """
        )
    )
    trials = screen(script, functions=["stacking.push", "helping.helped"], treatment="1us", replicates=1)
    assert {name: (one.passes, one.by) for name, one in trials.met.items()} == {
        "stacking.push": (4, 2),
        "helping.helped": (4, 2),
    }
