"""The benchmark of choices computes regrets of public calls.  The times are made up."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines import Machines

from smp.kernels.sorting.by_vectors import vectors

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import regrets
from regrets import AUTO, Problem, Visited


def visited(*visits: regrets.Times) -> Visited:
    return Visited(Problem("sort", "made up", dict), list(visits))


def constant(auto: float, **forms: float) -> regrets.Times:
    return {AUTO: [auto] * 5} | {n: [s] * 5 for name, s in forms.items() for n in (name, regrets.again(name))}


def test_regret_is_over_the_fastest_named_form() -> None:
    times = constant(1.2, a=1.0, b=3.0)
    assert regrets.lost(times, AUTO) == pytest.approx(0.2)
    assert regrets.lost(times, "a") == 0
    assert regrets.lost(times, "b") == pytest.approx(2.0)
    assert regrets.fastest(times) == "a"
    assert regrets.lost(constant(0.9, a=1.0), AUTO) == 0  # as fast as the only form, or faster


def test_a_choice_is_wrong_only_if_both_visits_show_it() -> None:
    slow, right, close = constant(1.2, a=1.0), constant(1.0, a=1.0), constant(1.015, a=1.0)
    noisy = {AUTO: [1.2, 1.0, 1.2, 1.0, 1.2], "a": [1.0] * 5}
    for other, wrong in [(slow, True), (right, False), (close, False), (noisy, False)]:
        assert visited(slow, other).is_wrong([AUTO, AUTO]) is wrong
        assert visited(other, slow).is_wrong([AUTO, AUTO]) is wrong


def test_the_oracle_decides_by_three_rounds_of_the_other_visit() -> None:
    first = {AUTO: [1.0] * 5, "a": [1.0, 1.0, 1.0, 9.0, 9.0], "b": [2.0] * 5}
    second = constant(1.0, a=3.0, b=1.0)
    assert visited(first, second).oracle() == ["b", "a"]


def test_the_floor_has_the_noise_of_a_second_time(capsys: pytest.CaptureFixture[str]) -> None:
    times = constant(1.05, a=1.0, b=2.0) | {regrets.again("a"): [1.04] * 5}
    regrets.print_regrets("sort", [visited(times, times)])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "oracle of 3 rounds (the floor) 4.0% 4.0% 0.0%" in lines  # slower than itself is not wrong
    assert "mean regret of auto above the floor: 1.0%" in lines


def test_one_slow_moment_in_two_rounds_is_no_regret() -> None:
    times = {AUTO: [1.0] * 3, "a": [1.0] * 3, "b": [50.0, 1.4, float("nan")]}
    assert regrets.lost(times, "b") == pytest.approx(0.4)


def test_all_is_printed_with_the_best_single_form(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [visited(*[constant(1.3, a=1.0, b=1.5)] * 2), visited(*[constant(1.0, a=1.1, b=1.0, c=0.99)] * 2)]
    regrets.print_regrets("sort", [*cases, visited(constant(1.0, a=1.0, b=2.0)), visited()])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "sort: 3 cases, of which 1 were visited once" in lines
    assert "oracle of 3 rounds (the floor) 0.0% 0.0% 0.0%" in lines
    assert "auto 10.3% 30.0% 50.0%" in lines
    assert any(line.startswith("always a (the best single form)") for line in lines)
    assert "mean regret of auto above the floor: 15.5%" in lines
    assert "30.0% made up: 30.0% over a and 30.0% over a" in lines


def test_ctrl_c_keeps_the_finished_visits() -> None:
    def stops() -> None:
        raise KeyboardInterrupt

    def calls(second: Any) -> regrets.Calls:
        return {AUTO: partial(sum, range(10)), "a": second}

    found = [
        Visited(Problem("sort", "fine", lambda: calls(partial(sum, range(10))))),
        Visited(Problem("sort", "stops", lambda: calls(stops))),
    ]
    with pytest.raises(KeyboardInterrupt):
        regrets.visit_all(found, 0.0, 1, lambda share, text: None)
    assert [len(each.visits) for each in found] == [1, 0]
    assert set(found[0].visits[0]) == {AUTO, "a", regrets.again("a")}


@pytest.mark.parametrize("section", ["sort", "lists", "stencil"])
def test_every_named_form_gives_the_result_of_auto(section: str, machines: Machines) -> None:
    made = list(regrets.problems(section, 1, (300, 2000), np.random.default_rng(1), machines(2)))
    assert len({(problem.function, problem.text) for problem in made}) == len(made)
    for problem in made:
        calls = problem.calls()
        expected = calls[AUTO]()
        assert len(calls) >= 3
        for name, call in calls.items():
            if problem.function != "argsort":  # equal keys come in any order
                assert np.array_equal(call(), expected), (problem.text, name)


def test_layouts_run_on_the_given_machine(machines: Machines) -> None:
    machine = machines(2)
    made = list(regrets.problems("stencil", 1, (300, 2000), np.random.default_rng(1), machine))
    calls: dict[str, Any] = next(problem.calls() for problem in made if problem.function == regrets.LAYOUTS)
    asked = {name: call.keywords["layout"] for name, call in calls.items() if call.keywords["machine"] is machine}
    layouts = "uniprocessor", "shared", "horizontal", "vertical"
    assert asked == {AUTO: "program"} | {name: name for name in layouts}


def test_sorting_has_the_forms_of_this_cpu(machines: Machines) -> None:
    made = list(regrets.problems("sort", 1, (300, 2000), np.random.default_rng(1), machines(2)))
    texts = [problem.text for problem in made if problem.function == "sort"]
    assert all(any(kind in text for text in texts) for kind in (*regrets.TYPES, *regrets.KEYS))
    named = set[str]().union(*(problem.calls() for problem in made))
    fast = "vectors" if vectors.has_vectors() else "partition"
    assert {AUTO, "numpy", f"{fast}, 1 thread", "counting, 1 thread"} <= named
