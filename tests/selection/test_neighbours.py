"""Trials of parameters with a made-up clock: which values are compared, and whether the best one is recognised."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp.errors import ModelError
from smp.selection import rounds, timings
from smp.selection.implementation import Implementation, Parameter
from smp.selection.library import Library
from smp.selection.neighbours import ParameterTrial, parameters, try_parameter, with_neighbours
from smp.selection.trial import Case


@pytest.fixture(autouse=True)
def made_up_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (timings, rounds):
        monkeypatch.setattr(module, "timed", lambda call: call())


def seconds(n: int, bits: int, digit: int) -> float:
    """Return the seconds of radix sort, for passes over n keys and for counters."""
    return 1e-9 * (n * -(-bits // digit) + 20 * 2**digit)


DIGIT = Parameter("digit", "1..12", 1, lambda n, bits: bits, lambda passes, n, bits: -(-bits // passes))
TERMS = ["n * ceil(bits / digit)", "2 ** digit"]


def made(task: Callable[..., float] = seconds, terms: list[str] = TERMS, **options: Any) -> Library:
    library = Library("sort", {"n": "100..1e6 x 6", "bits": "4..32 x 5"}, lambda n, bits: (n, bits))
    library.add(
        Implementation("plain", lambda n, bits: 1e-6, []),
        Implementation("radix", task, terms, parameter=DIGIT, **options),
    )
    return smp.calibrate(library, verification=4)


@given(st.integers(1, 10**6), st.integers(1, 32))
@settings(max_examples=examples(100), deadline=None)
def test_the_neighbours_are_the_adjacent_values(n: int, bits: int) -> None:
    values = sorted({-(-bits // passes) for passes in range(1, bits + 1)})
    best, beside = with_neighbours(DIGIT, seconds, (n, bits))
    at = values.index(best)
    assert beside == values[at + 1 : at + 2] + values[:at][-1:]  # fewer passes first
    assert seconds(n, bits, best) == min(seconds(n, bits, value) for value in [best, *beside])


def test_values_that_are_not_allowed_are_not_neighbours() -> None:
    plain = Parameter("depth", "1..9", 1, 9)
    assert with_neighbours(plain, lambda depth: 9 - depth if depth <= 4 else math.inf, ()) == (4, [3])
    assert with_neighbours(plain, lambda depth: abs(depth - 5), ()) == (5, [4, 6])
    assert with_neighbours(Parameter("depth", "1, 2", 3, 3), lambda depth: 1.0, ()) == (3, [])


def test_a_parameter_that_the_model_sets_best_is_found_right() -> None:
    library = made()
    found = try_parameter(library, "radix", 30)
    assert found.name == "sort/radix: digit"
    assert len(found.cases) == 30
    assert (found.right, found.within, found.losses) == (1.0, 1.0, (0.0, 0.0))
    for case in found.cases:
        n, bits = case.inputs["n"], case.inputs["bits"]
        best, beside = with_neighbours(DIGIT, seconds, (n, bits))
        assert case.chosen == str(best)
        assert list(case.times) == [str(value) for value in (best, *beside)]
        assert case.predicted == pytest.approx(seconds(int(n), int(bits), best))


def test_a_parameter_that_the_model_sets_badly_is_found_wrong() -> None:
    """The model was made when counters cost 21 times as much as now."""
    library = made(lambda n, bits, digit: seconds(n, bits, digit) + 1e-9 * 400 * 2**digit)
    library.implementations["radix"] = replace(library.implementations["radix"], function=seconds)
    found = try_parameter(library, "radix", 30)
    expected = []
    for case in found.cases:
        n, bits = int(case.inputs["n"]), int(case.inputs["bits"])
        least = min(seconds(n, bits, int(value)) for value in case.times)
        expected.append(seconds(n, bits, int(case.chosen)) / least - 1)
    assert [case.loss for case in found.cases] == pytest.approx(expected)
    assert found.right == found.within == np.mean([loss <= 0.02 for loss in expected]) < 0.9
    assert found.losses == pytest.approx((np.median(expected), max(expected)))


def test_cases_with_nothing_to_compare_do_not_count() -> None:
    library = made(when="n > 1e4")
    found = try_parameter(library, "radix", 10)
    assert len(found.cases) == 10
    assert min(case.inputs["n"] for case in found.cases) > 1e4
    assert all(len(case.times) >= 2 for case in found.cases)
    library.implementations["radix"] = replace(
        library.implementations["radix"], parameter=Parameter("digit", "1", 4, 4)
    )
    assert try_parameter(library, "radix", 3).cases == []


def test_noise_does_not_make_a_choice_wrong() -> None:
    """A neighbour that is 4% faster by the median, but in only 13 of 21 rounds, is not surely faster."""
    faster = Case({}, "8", 1.0, {"8": [1.0] * 21, "7": [0.96] * 13 + [1.1] * 8})
    surely = Case({}, "8", 1.0, {"8": [1.0] * 21, "7": [0.96] * 20 + [1.1]})
    little = Case({}, "8", 1.0, {"8": [1.0] * 21, "7": [0.99] * 21})
    trial = ParameterTrial("sort/radix: digit", [faster, surely, little])
    assert [case.right for case in trial.cases] == [False, False, True]
    assert [case.beaten for case in trial.cases] == [False, True, True]
    assert trial.right == pytest.approx(2 / 3)
    assert trial.within == pytest.approx(1 / 3)
    assert trial.losses == pytest.approx((1 / 0.96 - 1, 1 / 0.96 - 1))


def test_progress_is_reported_and_ctrl_c_leaves_the_cases_so_far() -> None:
    cases: list[Case] = []

    def ctrl_c(done: float, text: str) -> None:
        assert done == len(cases) / 30
        assert text.startswith("sort: n = ")
        if len(cases) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        try_parameter(made(), "radix", 30, progress=ctrl_c, into=cases)
    assert len(cases) == 4


def test_implementations_without_a_parameter_or_a_model_are_refused() -> None:
    library = made()
    assert [name for name, _ in parameters(library)] == ["radix"]
    with pytest.raises(ModelError, match="'plain' of the library sort has no parameter to try"):
        try_parameter(library, "plain", 3)
    library.models = {}
    with pytest.raises(ModelError, match="'radix' of the library sort has no model to try"):
        try_parameter(library, "radix", 3)
