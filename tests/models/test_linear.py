"""Linear fits: planted coefficients, coverage of intervals, signs, and unidentified terms."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from support.sampled import each

from smp.errors import FitError
from smp.models.fit.linear import fit


def test_a_constant_fit_equals_a_calculation_by_hand() -> None:
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
    """Draw columns in units from 1e-6 to 1e6, and coefficients such that every term matters."""
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
def test_a_fit_minimises_the_relative_error(system: tuple[NDArray[np.float64], NDArray[np.float64]], seed: int) -> None:
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


@pytest.mark.slow
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


def straight_line(rng: np.random.Generator, n: int, s: float, relative: bool = True) -> tuple[NDArray[np.float64], ...]:
    """Return columns 1 and words, times with noise s (in ms if absolute), rows beyond their range, and new times."""
    columns = np.column_stack([np.ones(n), np.geomspace(1e3, 1e6, n)])
    rows = np.column_stack([np.ones(20), np.geomspace(2e2, 3e6, 20)])

    def measured(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        true = matrix @ [5e-6, 1e-9]
        return true + s * (true if relative else 1e-3) * rng.standard_normal(len(true))

    return columns, measured(columns), rows, measured(rows)


@pytest.mark.parametrize("n", each(3, [8, 20, 60]))
@pytest.mark.parametrize(
    ("s", "relative", "reweighted"), [(0.1, False, False), (0.03, True, False), (0.03, True, True), (0.15, True, True)]
)
def test_the_interval_of_a_new_time_covers_95_percent(n: int, s: float, relative: bool, reweighted: bool) -> None:
    rng = np.random.default_rng(n)
    shares = np.empty(800)  # share of 20 new times in their intervals, for each fit
    for i in range(len(shares)):
        columns, y, rows, new = straight_line(rng, n, s, relative)
        low, high = fit(columns, y, ["L", "g"], relative=relative, reweighted=reweighted).interval(rows)
        shares[i] = ((low <= new) & (new <= high)).mean()
    assert 0.94 < shares.mean() < 0.96
    assert abs(shares.mean() - 0.95) < 4.0 * shares.std() / np.sqrt(len(shares))


def test_reweighting_removes_the_bias_of_measured_weights() -> None:
    # Dividing by 1 + s e pulls everything down by 2 s^2, 4.5% here, so too few of the narrow intervals hold the truth.
    planted, found, covered = 1e-9, {False: [], True: []}, {False: 0, True: 0}
    for seed in range(500):
        columns, y, *_ = straight_line(np.random.default_rng(seed), 60, 0.15)
        for reweighted in (False, True):
            model = fit(columns, y, ["L", "g"], reweighted=reweighted)
            found[reweighted].append(model.coefficients[1] / planted - 1.0)
            covered[reweighted] += int(model.low[1] <= planted <= model.high[1])
    assert np.mean(found[False]) == pytest.approx(-0.045, abs=0.005)
    assert np.mean(found[True]) == pytest.approx(0.0, abs=0.005)
    assert covered[False] < 0.85 * 500
    assert 0.93 * 500 < covered[True] < 0.97 * 500


def test_reweighting_is_the_fixed_point_of_dividing_by_the_prediction() -> None:
    columns, y, *_ = straight_line(np.random.default_rng(5), 30, 0.05)
    model = fit(columns, y, ["L", "g"], reweighted=True)
    predicted = model.predict(columns)
    rows = columns / predicted[:, None]
    slopes = rows.T @ (1.0 - y / predicted) / np.linalg.norm(rows, axis=0)  # gradient of the squares at the solution
    assert slopes == pytest.approx(0.0, abs=1e-5)
    exact = fit(columns, columns @ [1.0, 2.0], ["L", "g"], reweighted=True)
    assert exact.coefficients == pytest.approx([1.0, 2.0])


def test_predictions_far_off_or_below_zero_do_not_spoil_the_weights() -> None:
    # A line fitted to a valley predicts values below zero on one side. No weight leaves [1/2, 2] / measured.
    x = np.arange(1.0, 9.0)
    columns, y = np.column_stack([np.ones(8), x]), (x - 2.0) ** 2 + 0.1
    assert fit(columns, y, ["1", "x"]).predict(columns).min() < 0.0
    weights = 1.0 / y
    for _ in range(3):
        line = np.linalg.lstsq(columns * weights[:, None], y * weights)[0]
        weights = 1.0 / np.clip(columns @ line, y / 2.0, 2.0 * y)
    assert fit(columns, y, ["1", "x"], reweighted=True).coefficients == pytest.approx(line)


@given(systems(), st.integers(0, 2**32 - 1))
def test_the_covariance_is_that_of_the_normal_equations(
    system: tuple[NDArray[np.float64], NDArray[np.float64]], seed: int
) -> None:
    columns, planted = system
    y = columns @ planted * np.random.default_rng(seed).uniform(0.9, 1.1, len(columns))
    model = fit(columns, y, [f"t{i}" for i in range(len(planted))])
    rows = columns / y[:, None]
    scale = np.linalg.norm(rows, axis=0)
    expected = model.residual**2 * np.linalg.inv((rows / scale).T @ (rows / scale))
    found = model.covariance * np.outer(scale, scale)
    assert found == pytest.approx(expected, rel=1e-12 * model.condition**2, abs=1e-12 * expected.max())
    assert np.diag(model.covariance) == pytest.approx(model.errors**2)
    assert model.freedom == len(y) - len(planted)


def test_an_interval_equals_a_calculation_by_hand() -> None:
    # A straight line through (-1, 0, 1) with residuals (1, -2, 1) / 6: variance 1/6, one degree of freedom.
    model = fit([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]], [1.0, 1.5, 3.0], ["1", "x"], relative=False)
    half = (model.interval([[1.0, 2.0]], 0.9)[1] - model.predict([[1.0, 2.0]]))[0]
    t95 = np.tan(np.pi * 0.45)  # Cauchy's quantile
    assert half == pytest.approx(t95 * np.sqrt(1 / 6 * (1 + 1 / 3 + 2**2 / 2)))
    # The noise of a new relative measurement is proportional to its prediction, down to zero.
    relative = fit([[1.0], [1.0]], [1.0, 2.0], ["c"])
    low, high = relative.interval([[0.0], [1.0], [10.0]])
    assert (low[0], high[0]) == (0.0, 0.0)
    assert high[2] - low[2] == pytest.approx(10.0 * (high[1] - low[1]))


def test_intervals_widen_with_the_confidence_which_must_be_a_probability() -> None:
    model = fit([[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0], ["c"])
    widths = [np.subtract(*model.interval([[1.0]], c)[::-1])[0] for c in (0.5, 0.9, 0.99)]
    assert widths[0] < widths[1] < widths[2]
    for confidence in (0.0, 1.0, 95.0):
        with pytest.raises(FitError, match=f"confidence must be a probability .*, not {confidence:g}$"):
            model.interval([[1.0]], confidence)
    with pytest.raises(FitError, match="do not fit a model of 1 terms"):
        model.interval([[1.0, 2.0]])


def test_only_predictions_that_need_unidentified_terms_are_unbounded() -> None:
    rng = np.random.default_rng(2)
    reads, other = rng.uniform(1e3, 1e6, (2, 30))
    columns = np.column_stack([np.ones(30), reads, reads, other])
    y = columns @ [1e-5, 1e-9, 2e-9, 4e-9] * rng.uniform(0.99, 1.01, 30)
    model = fit(columns, y, ["L", "ghr", "ghw", "gM"])
    assert np.isinf(np.diag(model.covariance)).tolist() == [False, True, True, False]
    equal, unequal = [1.0, 5e5, 5e5, 1e4], [1.0, 5e5, 4e5, 1e4]
    low, high = model.interval([equal, unequal, [1.0, 0.0, 0.0, 1e4]])
    assert (low[1], high[1]) == (-np.inf, np.inf)
    merged = fit(columns[:, [0, 1, 3]], y, ["L", "gh", "gM"])  # the same space
    assert model.freedom == merged.freedom == 27
    alone = merged.interval([[1.0, 5e5, 1e4], [1.0, 0.0, 1e4]])
    assert low[[0, 2]] == pytest.approx(alone[0])
    assert high[[0, 2]] == pytest.approx(alone[1])


def test_the_example_of_the_thesis_is_reproduced() -> None:
    # Measurement 2.2.2: gallons per 100 miles by weight; equations 7, 16, 17 and 21, and the errors in the text.
    gallons = np.array([5.5, 5.9, 6.5, 3.3, 3.6, 4.6, 2.9, 3.6, 3.1, 4.9])
    weight = np.array([3.4, 3.8, 4.1, 2.2, 2.6, 2.9, 2.0, 2.7, 1.9, 3.4])
    columns = np.column_stack([np.ones(10), weight])
    line = fit(columns, gallons, ["1", "Weight"], relative=False)
    assert line.coefficients == pytest.approx([-0.363, 1.64], abs=0.0015)
    assert line.r_squared == pytest.approx(0.954, abs=5e-4)
    assert line.mre == pytest.approx(0.053, abs=5e-4)
    # The thesis' "90% intervals" of 0.38 and 0.13 are one standard error wide; either way the constant is irrelevant.
    assert line.errors == pytest.approx([0.38, 0.13], abs=0.005)
    refined = fit(columns[:, 1:], gallons, ["Weight"], relative=False)
    assert refined.coefficients[0] == pytest.approx(1.52, abs=0.005)
    assert refined.mre == pytest.approx(0.058, abs=5e-4)
    relative = fit(columns[:, 1:], gallons, ["Weight"])
    assert relative.coefficients[0] == pytest.approx(1.50, abs=0.005)
    assert refined.mre - relative.mre == pytest.approx(0.001, abs=0.001)  # "from 5.8% to 5.7%"


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
    # The rest is the fit without that term: its errors count 20 - 2 degrees of freedom.
    alone = fit(columns[:, :2], y, ["L", "g"])
    assert held.coefficients[:2] == pytest.approx(alone.coefficients)
    assert held.errors[:2] == pytest.approx(alone.errors)
    assert held.freedom == 18
    assert held.covariance[:2, :2] == pytest.approx(alone.covariance, rel=1e-6)
    assert not held.covariance[2].any()
    assert not held.covariance[:, 2].any()
    assert np.ravel(held.interval([[1.0, 1e4, 50.0]])) == pytest.approx(np.ravel(alone.interval([[1.0, 1e4]])))


def test_terms_that_cannot_be_distinguished_are_named_and_still_predict() -> None:
    rng = np.random.default_rng(2)
    reads = rng.uniform(1e3, 1e6, 30)
    columns = np.column_stack([np.ones(30), reads, reads, rng.uniform(1e3, 1e6, 30)])
    y = columns @ [1e-5, 1e-9, 2e-9, 4e-9] * rng.uniform(0.99, 1.01, 30)
    terms = ["L", "ghr", "ghw", "gM"]
    for nonnegative in (None, [True] * 4):
        model = fit(columns, y, terms, nonnegative)
        assert model.unidentified == ("ghr", "ghw")
        assert model.condition == np.inf
        assert np.argwhere(model.linked).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
        assert model.coefficients[1] + model.coefficients[2] == pytest.approx(3e-9, rel=0.05)
        assert model.coefficients[1] == pytest.approx(model.coefficients[2])
        assert (model.high[1], model.high[2]) == (np.inf, np.inf)
        assert model.low[1] == (-np.inf if nonnegative is None else 0.0)
        assert 3.8e-9 < model.low[3] < model.coefficients[3] < model.high[3] < 4.2e-9
        assert model.maximum < 0.02


def test_pairs_that_cannot_be_distinguished_are_not_mixed_up() -> None:
    # Both combinations are lost, so any rotation of one into the other is equally good to the solver.
    rng = np.random.default_rng(4)
    a, b, c = rng.uniform(1.0, 2.0, (3, 20))
    model = fit(np.column_stack([a, b, 3 * a, c, b / 7]), a + b + c, list("abcde"))
    assert model.unidentified == ("a", "b", "c", "e")
    assert np.argwhere(np.triu(model.linked, 1)).tolist() == [[0, 2], [1, 4]]
    assert not model.linked[3].any()


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
    assert model.freedom == 0
    assert np.diag(model.covariance).tolist() == [np.inf, np.inf]
    assert [end.tolist() for end in model.interval([[1.0, 3.0], [0.0, 0.0]])] == [[-np.inf] * 2, [np.inf] * 2]


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
        ([[1.0], [1.0]], [1.0, np.inf], ["L"], None, "1 of 2 rows contain NaN or infinity; the first is row 1"),
        ([[1.0], [1.0]], [1.0, 0.0], ["L"], None, r"y\[1\] = 0 is not above zero"),
        ([[1.0], [1.0]], [-3.0, 1.0], ["L"], None, r"y\[0\] = -3 is not above zero.*relative=False"),
        ([[1.0], [1.0]], [1.0, 2.0], ["L"], [True, False], "nonnegative has 2 flags for 1 terms"),
    ],
)
def test_impossible_fits_are_refused_with_the_reason(
    columns: ArrayLike, y: ArrayLike, terms: list[str], nonnegative: list[bool] | None, message: str
) -> None:
    with pytest.raises(FitError, match=message):
        fit(columns, y, terms, nonnegative)


def test_reweighting_an_absolute_fit_is_refused() -> None:
    with pytest.raises(FitError, match="has no weights, so it cannot be reweighted"):
        fit([[1.0], [1.0]], [1.0, 2.0], ["c"], relative=False, reweighted=True)


def test_predictions_for_other_terms_are_refused() -> None:
    model = fit([[1.0], [1.0]], [1.0, 2.0], ["c"])
    with pytest.raises(FitError, match=r"columns of shape \(4, 2\) do not fit a model of 1 terms"):
        model.predict(np.ones((4, 2)))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_absolute_fits_equal_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model = fit(columns, y, ["a", "b", "c"], relative=False)
    assert model.coefficients == pytest.approx(np.linalg.lstsq(columns, y)[0], abs=1e-10)
