"""Inputs of a model, and specifications: how ranges are parsed, where their values lie, and which are refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

from smp.errors import ModelError
from smp.models.fit.expressions import RESERVED
from smp.models.fit.inputs import COUNT, Input, drawn, nest, parsed, scattered
from smp.models.fit.specification import Specification, expressions_of


@given(st.integers(1, 10**5), st.integers(2, 10**4), st.integers(2, 30))
@settings(max_examples=examples(60), deadline=None)
def test_a_geometric_grid_has_equal_ratios(low: int, times: int, count: int) -> None:
    real = Input.parse("n", f"{low}..{low * times} x {count} real")
    assert (real.low, real.high, len(real.grid)) == (low, low * times, count)
    ratios = np.divide(real.grid[1:], real.grid[:-1])
    assert ratios == pytest.approx(times ** (1 / (count - 1)), rel=1e-9)
    whole = Input.parse("n", f"geometric {low}..{low * times} x {count}")
    assert whole.grid == tuple(sorted({float(round(value)) for value in real.grid}))


@given(st.integers(-100, 100), st.integers(1, 100), st.integers(2, 30))
@settings(max_examples=examples(60), deadline=None)
def test_a_linear_grid_has_equal_distances(low: int, length: int, count: int) -> None:
    made = Input.parse("n", f"linear {low}..{low + length} x {count} real")
    assert np.diff(made.grid) == pytest.approx(length / (count - 1))
    assert (made.low, made.high) == (low, low + length)


@given(st.integers(1, 1000), st.integers(1, 10**6))
@settings(max_examples=examples(60), deadline=None)
def test_powers_are_all_powers_of_two_in_the_range(low: int, length: int) -> None:
    expected = [2.0**k for k in range(25) if low <= 2**k <= low + length]
    if expected:
        assert list(Input.parse("p", f"powers {low}..{low + length}").grid) == expected
    else:
        with pytest.raises(ModelError, match="contains no power of two"):
            Input.parse("p", f"powers {low}..{low + length}")


def test_a_range_without_a_count_has_twelve_values() -> None:
    assert len(Input.parse("n", "100..1e6").grid) == COUNT == 12


def test_listed_values_are_sorted_and_unique() -> None:
    assert Input.parse("n", " 64, 8,8 , 4 ") == Input("n", " 64, 8,8 , 4 ", "listed", (4.0, 8.0, 64.0), True)
    assert not Input.parse("n", "0.5, 8").whole


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "cannot be read"),
        ("many", "cannot be read"),
        ("1..", "cannot be read"),
        ("1..2..3", "cannot be read"),
        ("square 1..2", "cannot be read"),
        ("1..10 x", "cannot be read"),
        ("1..10 real x 3", "cannot be read"),
        ("10..1", "its ends must ascend"),
        ("1..1", "its ends must ascend"),
        ("1..1e999", "its ends must ascend"),
        ("0..10", "a geometric range must begin above zero"),
        ("powers -1..8", "a powers range must begin above zero"),
        ("1.5..10", "ends that are not whole numbers: add 'real'"),
        ("1..10 x 1", "must have at least 2 values"),
        ("linear 0..10 x 0", "must have at least 2 values"),
        ("powers 1..8 x 3", "leave out 'x'"),
        ("powers 5..7", "contains no power of two"),
    ],
)
def test_invalid_ranges_are_refused(text: str, part: str) -> None:
    with pytest.raises(ModelError, match=part):
        Input.parse("n", text)


def test_a_range_must_be_text() -> None:
    with pytest.raises(ModelError, match="the range of n is 100: write it as text"):
        Input.parse("n", 100)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "2n", "n m", "_n", "µ", *sorted(RESERVED)])
def test_names_that_are_invalid_in_python_or_c_are_refused(name: str) -> None:
    with pytest.raises(ModelError, match="cannot name an input"):
        Input.parse(name, "1..10")


@given(
    st.sampled_from(["7..900", "7..900 real", "linear -5..40", "linear -5..40 real", "powers 3..70", "2, 9, 30"]),
    st.integers(0, 99),
)
@settings(max_examples=examples(60), deadline=None)
def test_random_values_lie_in_the_range_and_are_repeatable(text: str, seed: int) -> None:
    made = Input.parse("n", text)
    values = made.draw(np.random.default_rng(seed), 200)
    assert values.min() >= made.low * (1 - 1e-12 * np.sign(made.low))
    assert values.max() <= made.high * (1 + 1e-12)
    assert (values.tolist() == np.round(values).tolist()) == made.whole
    assert values.tolist() == made.draw(np.random.default_rng(seed), 200).tolist()
    if made.spacing in ("listed", "powers"):
        assert set(values) <= set(made.grid)


def test_random_values_are_uniform_on_the_scale_of_the_grid() -> None:
    rng = np.random.default_rng(1)
    decades = np.floor(np.log10(Input.parse("n", "1..1e4 real").draw(rng, 40_000)))
    assert np.bincount(decades.astype(int), minlength=4) == pytest.approx(10_000, rel=0.05)
    quarters = np.floor(Input.parse("n", "linear 0..4 real").draw(rng, 40_000))
    assert np.bincount(quarters.astype(int), minlength=4) == pytest.approx(10_000, rel=0.05)


def test_the_nested_loops_run_through_all_combinations() -> None:
    inputs = parsed({"n": "10, 20, 30", "p": "1, 2", "width": "8, 64"})
    points = nest(inputs)
    assert list(points) == ["n", "p", "width"]
    rows = list(zip(*points.values(), strict=True))
    assert len(rows) == len(set(rows)) == math.prod(len(given.grid) for given in inputs)
    assert rows[:3] == [(10, 1, 8), (10, 1, 64), (10, 2, 8)]
    some = drawn(inputs, np.random.default_rng(0), 5)
    assert {name: len(values) for name, values in some.items()} == {"n": 5, "p": 5, "width": 5}


@settings(max_examples=examples(50), deadline=None)
@given(count=st.integers(1, 40), seed=st.integers(0, 1000))
def test_scattered_points_are_different_combinations_in_the_order_of_the_nest(count: int, seed: int) -> None:
    inputs = parsed({"n": "10, 20, 30", "p": "1, 2", "width": "8, 16, 32, 64"})
    points = scattered(inputs, np.random.default_rng(seed), count)
    rows, whole = list(zip(*points.values(), strict=True)), list(zip(*nest(inputs).values(), strict=True))
    assert list(points) == ["n", "p", "width"]
    assert len(rows) == min(count, 24)
    assert rows == [row for row in whole if row in set(rows)]


@pytest.mark.parametrize("seed", range(20))
def test_scattered_points_leave_out_no_range(seed: int) -> None:
    """A sixth of the sizes, three orders out of seven and half of the windows: about 4 of 115 points have all three."""
    inputs = parsed({"n": "1e2..8e6 x 30", "run": "linear 0..6 x 7", "window": "linear 0..3 x 4"})
    points = scattered(inputs, np.random.default_rng(seed), 115)
    assert np.sum((points["n"] > 1.2e6) & (points["run"] < 3) & (points["window"] >= 2)) >= 2
    for each in inputs:
        often = [np.sum(points[each.name] == value) for value in each.grid]
        assert np.abs(np.array(often) - 115 / len(each.grid)).max() <= 3


def test_a_model_without_inputs_is_refused() -> None:
    with pytest.raises(ModelError, match="a model needs at least one input"):
        parsed({})


# ------------------------------------------------------------------------------------------------ specifications


def test_a_constant_comes_first_and_terms_have_names() -> None:
    assert list(expressions_of(["n", "n * p"], ["n", "p"])) == ["1", "n", "n * p"]
    named = expressions_of({"work": "n * log2(n)"}, ["n"])
    assert {name: term.text for name, term in named.items()} == {"1": "1", "work": "n * log2(n)"}
    assert list(expressions_of([], ["n"])) == ["1"]


def made(**changed: object) -> Specification:
    given: dict[str, object] = {"name": "t", "inputs": {"n": "1..9", "d": "1, 2"}, "terms": ["n"], "task": print}
    return Specification(**(given | changed))  # type: ignore[arg-type]


def test_a_specification_parses_its_texts() -> None:
    whole = made(when="n > d", keywords=("d",), terms=["n", "n * d"])
    assert [each.name for each in whole.ranges] == ["n", "d"]
    assert whole.nested == whole.ranges
    assert list(whole.expressions) == ["1", "n", "n * d"]
    assert whole.condition is not None
    assert whole.condition.names == {"n", "d"}
    loops = made(loops={"size": "1..9", "d": "1, 2"}, of=lambda size: (size,), keywords=("d",))
    assert [each.name for each in loops.nested] == ["size", "d"]
    assert made().condition is None


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"terms": "n"}, r"not one text: write \['n'\]"),
        ({"terms": ["x"]}, "names 'x'"),
        ({"terms": [3]}, "3 is not an expression"),
        ({"when": "x > 1"}, "names 'x'"),
        ({"inputs": {}}, "a model needs at least one input"),
        ({"inputs": {"max": "1..9"}}, "'max' cannot name an input"),
        ({"keywords": ("x",)}, "'x' is a keyword of t but not one of its inputs: n, d"),
        ({"task": "print"}, "'print', which cannot be called"),
        ({"points": 1}, "points=1 of t: a model needs at least 2 points"),
        ({"loops": {"size": "1..9"}}, "needs both loops and of, or neither"),
        ({"of": len}, "needs both loops and of, or neither"),
        ({"loops": {"size": "1..9"}, "of": len, "keywords": ("d",)}, "not one of its loops"),
    ],
)
def test_invalid_specifications_are_refused(changed: dict[str, object], part: str) -> None:
    with pytest.raises(ModelError, match=part):
        made(**changed)
