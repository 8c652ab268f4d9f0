"""Linear fits: certified data sets, planted coefficients, coverage of intervals, signs, what is not known."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from smp.errors import FitError
from smp.models.linear import Fit, fit

NIST = Path(__file__).parent / "data" / "nist"

# Correct decimal digits asked of (estimates, standard deviations). Double precision offers 16, a set's
# condition takes its share; Filip's 5e9 leaves 7. One digit below what was seen, for other LAPACKs.
DIGITS = {
    "norris": (11, 13),
    "pontius": (11, 12),
    "noint1": (13, 13),
    "filip": (6.5, 6.5),
    "longley": (9.5, 11.5),
    "wampler1": (9, None),
    "wampler2": (11.5, None),
    "wampler3": (9, 12),
    "wampler4": (6.5, 12),
    "wampler5": (4.5, 12),
}


def digits(found: ArrayLike, certified: ArrayLike) -> float:
    found, certified = np.atleast_1d(np.asarray(found)), np.atleast_1d(np.asarray(certified))
    return float(-np.log10(np.max(np.abs(found - certified) / np.abs(certified)) + 1e-16))


def nist(name: str) -> tuple[Fit, dict[str, Any]]:
    data = json.loads((NIST / f"{name}.json").read_text())
    x, y = np.array(data["x"], dtype=float), np.array(data["y"], dtype=float)
    powers = data["powers"]
    matrix = np.column_stack([np.ones(len(y)), x]) if powers is None else x[:, None] ** np.array(powers)
    return fit(matrix, y, [f"b{i}" for i in range(matrix.shape[1])], relative=False), data["certified"]


@pytest.mark.parametrize("name", DIGITS)
def test_certified_values(name: str) -> None:
    model, certified = nist(name)
    estimates, deviations = DIGITS[name]
    assert digits(model.coefficients, certified["estimates"]) > estimates
    if deviations is None:  # a perfect fit: the certified deviations are zero
        assert model.errors.max() < 1e-8
        assert model.residual < 1e-8
    else:
        assert digits(model.errors, certified["deviations"]) > deviations
        assert digits(model.residual, certified["residual"]) > min(deviations, 8)
    assert digits(model.r_squared, certified["r_squared"]) > 9.5


def test_certified_sets_that_are_named_unidentified() -> None:
    # Filip (a polynomial of degree 10 over a short range) has no digit to spare, Norris has all.
    filip, norris = nist("filip")[0], nist("norris")[0]
    assert filip.condition > 1e9
    assert len(filip.unidentified) == 11
    assert norris.condition < 10
    assert norris.unidentified == ()


def test_a_constant_by_hand() -> None:
    # min (1 - c)^2 + (1 - c/2)^2 is at c = 1.5 / 1.25 = 1.2; the errors are 20% and 40%.
    model = fit([[1.0], [1.0]], [1.0, 2.0], ["c"])
    assert model.coefficients[0] == pytest.approx(1.2)
    assert model.average == pytest.approx(0.3)
    assert model.maximum == pytest.approx(0.4)
    assert model.mre == pytest.approx(np.sqrt(1.2 * 1.4) - 1.0)
    assert model.residual == pytest.approx(np.sqrt(0.2))
    assert model.errors[0] == pytest.approx(np.sqrt(0.2 / 1.25))
    t975 = np.tan(np.pi * 0.475)  # Student's t with one degree of freedom is Cauchy's distribution
    assert model.high[0] - 1.2 == pytest.approx(t975 * model.errors[0])
    assert 1.2 - model.low[0] == pytest.approx(t975 * model.errors[0])
    assert model.r_squared == pytest.approx(0.0, abs=1e-12)
    assert (model.count, model.condition, model.held, model.unidentified) == (2, 1.0, (), ())


@st.composite
def systems(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns in units from 1e-6 to 1e6, and coefficients such that every term matters."""
    k = draw(st.integers(1, 5))
    n = draw(st.integers(k + 2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    units = 10.0 ** np.array(draw(st.lists(st.integers(-6, 6), min_size=k, max_size=k)))
    spread = rng.uniform(0.1, 1.0, (n, k)) * 10.0 ** rng.uniform(-2, 2, (n, 1))
    return spread * units, rng.uniform(0.5, 2.0, k) / units


@given(systems())
def test_planted_coefficients_are_recovered(system: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    columns, planted = system
    y = columns @ planted
    model = fit(columns, y, [f"t{i}" for i in range(len(planted))])
    norms = np.linalg.norm(columns / y[:, None], axis=0)
    assert np.abs(model.coefficients - planted) * norms == pytest.approx(0.0, abs=1e-12 * model.condition)
    assert model.predict(columns) == pytest.approx(y)
    assert model.maximum < 1e-9
    assert model.r_squared == pytest.approx(1.0)


@given(systems(), st.floats(1e-6, 1e6), st.integers(0, 2**32 - 1))
def test_units_do_not_matter(system: tuple[NDArray[np.float64], NDArray[np.float64]], scale: float, seed: int) -> None:
    columns, planted = system
    y = columns @ planted * np.random.default_rng(seed).uniform(0.9, 1.1, len(columns))
    terms = [f"t{i}" for i in range(len(planted))]
    one, other = fit(columns, y, terms), fit(columns / scale, y, terms)
    again = fit(columns, y * scale, terms)
    size = 1e-9 * one.condition * np.abs(one.coefficients).max()
    assert other.coefficients / scale == pytest.approx(one.coefficients, rel=1e-6, abs=size)
    assert again.coefficients / scale == pytest.approx(one.coefficients, rel=1e-6, abs=size)
    assert again.average == pytest.approx(one.average, rel=1e-6)
    assert other.condition == pytest.approx(one.condition, rel=1e-6)


@given(systems(), st.integers(0, 2**32 - 1))
def test_it_minimises_the_relative_error(system: tuple[NDArray[np.float64], NDArray[np.float64]], seed: int) -> None:
    columns, planted = system
    rng = np.random.default_rng(seed)
    y = columns @ planted * rng.uniform(0.7, 1.3, len(columns))
    model = fit(columns, y, [f"t{i}" for i in range(len(planted))])

    def squares(coefficients: NDArray[np.float64]) -> float:
        return float((((columns @ coefficients) / y - 1.0) ** 2).sum())

    least = squares(model.coefficients)
    for _ in range(5):
        assert squares(model.coefficients + planted * rng.normal(0, 1e-2, len(planted))) >= least
    off = np.abs(columns @ model.coefficients - y) / y
    assert model.average == pytest.approx(off.mean())
    assert model.maximum == pytest.approx(off.max())
    assert model.mre == pytest.approx(np.exp(np.log1p(off).mean()) - 1.0)
    assert model.residual == pytest.approx(np.sqrt(least / (len(y) - len(planted))))


def test_the_95_percent_interval_covers_95_percent() -> None:
    rng = np.random.default_rng(1)
    words = np.geomspace(1e3, 1e6, 40)
    columns = np.column_stack([np.ones(40), words, rng.permutation(words)])
    planted = np.array([5e-6, 1e-9, 3e-9])
    noise = 1.0 + 0.02 * rng.standard_normal((10_000, 40))
    hits = np.zeros(3)
    for y in columns @ planted * noise:
        model = fit(columns, y, ["L", "g", "h"])
        hits += (model.low <= planted) & (planted <= model.high)
    coverage = hits / len(noise)
    # The share has a standard error of 0.22%, so 1% is more than four of them.
    assert coverage == pytest.approx(0.95, abs=0.01)


@given(systems(), st.data())
def test_non_negative_fits_are_the_best_of_all_sign_patterns(
    system: tuple[NDArray[np.float64], NDArray[np.float64]], data: st.DataObject
) -> None:
    columns, planted = system
    k = len(planted)
    signs = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=k, max_size=k)))
    bounded = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    y = np.abs(columns @ (planted * signs)) + 0.1 * columns @ planted * rng.uniform(0.5, 1.5, len(columns))
    model = fit(columns, y, [f"t{i}" for i in range(k)], bounded.tolist())

    rows = columns / y[:, None]
    norms = np.linalg.norm(rows, axis=0)

    def least(free: tuple[int, ...]) -> float:
        solution = np.linalg.lstsq(rows[:, free] / norms[list(free)], np.ones(len(y)), rcond=1e-12)[0]
        if (solution[bounded[list(free)]] < 0.0).any():
            return np.inf
        return float(((rows[:, free] / norms[list(free)] @ solution - 1.0) ** 2).sum())

    subsets = itertools.chain.from_iterable(itertools.combinations(range(k), r) for r in range(1, k + 1))
    best = min([float(len(y)), *(least(free) for free in subsets)])
    assert (model.coefficients[bounded] >= 0.0).all()
    assert ((rows @ model.coefficients - 1.0) ** 2).sum() == pytest.approx(best, rel=1e-7, abs=1e-12)
    zero = [f"t{i}" for i in range(k) if model.coefficients[i] == 0.0]
    assert list(model.held) == zero
    assert (model.low[bounded] >= 0.0).all()


def test_held_terms_are_named_and_have_no_interval() -> None:
    words = np.geomspace(1e3, 1e6, 20)
    columns = np.column_stack([np.ones(20), words, np.sqrt(words)])
    y = columns @ [1e-3, 1e-6, -1e-7]
    free = fit(columns, y, ["L", "g", "s"])
    held = fit(columns, y, ["L", "g", "s"], [False, True, True])
    assert free.coefficients[2] == pytest.approx(-1e-7, rel=1e-6)
    assert held.held == ("s",)
    assert (held.coefficients[2], held.low[2], held.high[2], held.errors[2]) == (0.0, 0.0, 0.0, 0.0)
    # The rest is the fit without it: its errors count 20 - 2 degrees of freedom.
    alone = fit(columns[:, :2], y, ["L", "g"])
    assert held.coefficients[:2] == pytest.approx(alone.coefficients)
    assert held.errors[:2] == pytest.approx(alone.errors)


def test_terms_that_cannot_be_told_apart_are_named_and_predict_all_the_same() -> None:
    rng = np.random.default_rng(2)
    reads = rng.uniform(1e3, 1e6, 30)
    columns = np.column_stack([np.ones(30), reads, reads, rng.uniform(1e3, 1e6, 30)])
    y = columns @ [1e-5, 1e-9, 2e-9, 4e-9] * rng.uniform(0.99, 1.01, 30)
    terms = ["L", "ghr", "ghw", "gM"]
    for nonnegative in (None, [True] * 4):
        model = fit(columns, y, terms, nonnegative)
        assert model.unidentified == ("ghr", "ghw")
        assert model.condition == np.inf
        assert model.coefficients[1] + model.coefficients[2] == pytest.approx(3e-9, rel=0.05)
        assert model.coefficients[1] == pytest.approx(model.coefficients[2])
        assert (model.high[1], model.high[2]) == (np.inf, np.inf)
        assert model.low[1] == (-np.inf if nonnegative is None else 0.0)
        assert 3.8e-9 < model.low[3] < model.coefficients[3] < model.high[3] < 4.2e-9
        assert model.maximum < 0.02


def test_a_column_of_zeros_is_unidentified_and_harmless() -> None:
    words = np.geomspace(1e3, 1e6, 10)
    columns = np.column_stack([words, np.zeros(10)])
    model = fit(columns, 2e-9 * words, ["g", "beyond"], [True, True])
    assert model.unidentified == ("beyond",)
    assert model.coefficients == pytest.approx([2e-9, 0.0])
    assert np.isfinite(model.high[0])
    assert model.high[1] == np.inf


def test_nearly_collinear_terms_are_named_from_a_condition_of_1e3() -> None:
    rng = np.random.default_rng(3)
    words = rng.uniform(1e3, 1e6, 50)
    other = rng.uniform(1e3, 1e6, 50)
    for jitter, names in ((1e-1, ()), (1e-4, ("hr", "hw"))):
        columns = np.column_stack([words, words * rng.uniform(1 - jitter, 1 + jitter, 50), other])
        model = fit(columns, columns @ [1e-9, 1e-9, 1e-9], ["hr", "hw", "M"])
        assert model.unidentified == names
        assert (model.condition > 1e3) == bool(names)
        assert model.coefficients == pytest.approx(1e-9, rel=1e-8)  # rounding is not noise: still right


def test_as_many_points_as_terms_leave_the_interval_open() -> None:
    model = fit([[1.0, 1.0], [1.0, 2.0]], [3.0, 5.0], ["L", "g"], [True, False])
    assert model.coefficients == pytest.approx([1.0, 2.0])
    assert model.low.tolist() == [0.0, -np.inf]
    assert model.high.tolist() == [np.inf, np.inf]


def test_equal_times_are_all_explained_by_the_constant() -> None:
    model = fit(np.column_stack([np.ones(5), np.arange(5.0)]), [3.0] * 5, ["L", "g"], [True, True])
    assert model.r_squared == 1.0
    assert model.coefficients == pytest.approx([3.0, 0.0], abs=1e-12)


@pytest.mark.parametrize(
    ("columns", "y", "terms", "nonnegative", "message"),
    [
        ([[1.0, 2.0]], [1.0], ["L", "g"], None, "1 measurements cannot fit 2 terms"),
        (np.empty((3, 0)), [1.0, 2.0, 3.0], [], None, "cannot fit 0 terms"),
        ([[1.0], [1.0]], [1.0, 2.0, 3.0], ["L"], None, r"columns of shape \(2, 1\) and y of shape \(3,\)"),
        ([[1.0], [1.0]], [1.0, 2.0], ["L", "g"], None, "for 2 terms do not agree"),
        ([1.0, 1.0], [1.0, 2.0], ["L"], None, r"columns of shape \(2,\)"),
        ([[1.0], [np.nan], [np.inf]], [1.0, 2.0, 3.0], ["L"], None, "2 of 3 rows .* the first is row 1"),
        ([[1.0], [1.0]], [1.0, np.inf], ["L"], None, "1 of 2 rows hold NaN or infinity, the first is row 1"),
        ([[1.0], [1.0]], [1.0, 0.0], ["L"], None, r"y\[1\] = 0 is not above zero"),
        ([[1.0], [1.0]], [-3.0, 1.0], ["L"], None, r"y\[0\] = -3 is not above zero.*relative=False"),
        ([[1.0], [1.0]], [1.0, 2.0], ["L"], [True, False], "2 flags of non-negative terms for 1 terms"),
    ],
)
def test_what_cannot_be_fitted_says_why(
    columns: ArrayLike, y: ArrayLike, terms: list[str], nonnegative: list[bool] | None, message: str
) -> None:
    with pytest.raises(FitError, match=message):
        fit(columns, y, terms, nonnegative)


def test_predict_refuses_other_terms() -> None:
    model = fit([[1.0], [1.0]], [1.0, 2.0], ["c"])
    with pytest.raises(FitError, match=r"columns of shape \(4, 2\) for a model of 1 terms"):
        model.predict(np.ones((4, 2)))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_absolute_fits_equal_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model = fit(columns, y, ["a", "b", "c"], relative=False)
    assert model.coefficients == pytest.approx(np.linalg.lstsq(columns, y)[0], abs=1e-10)
