"""Models and their fits: the same prediction in Python, NumPy and C; intervals that cover; JSON without losses."""

import contextlib
import copy
import dataclasses
import json
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.formulas import EXACT, INPUTS, POINTS, SMOOTH, VALUES, conditions, in_c, needs_c, rarely
from support.sampled import campaigns, examples

from smp.errors import FitError, ModelError
from smp.models.fit.fitting import ModelWarning, fit_model
from smp.models.fit.inputs import nest, parsed
from smp.models.fit.linear import mean_relative_error
from smp.models.fit.model import Model
from smp.models.fit.records import Quality
from smp.models.fit.specification import Specification, expressions_of

RANGES = {"n": "1..1e6", "m": "0.01..1e6 real"}
QUALITY = Quality(count=30, verified=20, r_squared=0.999, mre_fit=0.01, mre=0.025, worst=0.05, log="kept 1")


def made(coefficients: dict[str, float], when: str = "", name: str = "task", **changed: Any) -> Model:
    terms = {text: expressions_of([text], INPUTS)[text] for text in coefficients}
    values = np.array(list(coefficients.values()))
    given = {"covariance": np.diag(values**2) * 1e-4, "residual": 0.02, "freedom": 10, "quality": QUALITY}
    return Model(name, parsed(RANGES), terms, values, when=when, **(given | changed))


TEXTS = st.lists(EXACT | SMOOTH, min_size=1, max_size=4, unique=True)
COEFFICIENTS = st.floats(-1e-3, 1e-3, allow_subnormal=False)


@st.composite
def models(draw: st.DrawFn) -> Model:
    texts = draw(TEXTS)
    when = draw(st.just("") | conditions(depth=1))
    return made({text: draw(COEFFICIENTS) for text in texts}, when)


def alone(model: Model, n: float, m: float) -> float:
    """Return the prediction, term by term; drop the example if a term has no value."""
    try:
        values = [eval(term.python, NAMES | {"n": n, "m": m}) for term in model.terms.values()]
        holds = not model.when or eval(model.when, NAMES | {"n": n, "m": m})
    except (ZeroDivisionError, OverflowError):
        assume(False)
    assume(all(math.isfinite(value) for value in values))
    return math.fsum(c * v for c, v in zip(model.coefficients, values, strict=True)) if holds else math.inf


NAMES = {name: getattr(math, name) for name in ("sqrt", "log", "log2", "log10", "exp", "floor", "ceil")}


def near(value: float, model: Model) -> Any:
    """Return the value, up to rounding of the sum of terms."""
    return pytest.approx(value, rel=1e-9, abs=1e-12 * float(np.abs(model.coefficients).sum()) * 1e12)


# ---------------------------------------------------------------------------------------------------- predictions


@given(models(), VALUES, VALUES)
@settings(max_examples=examples(80), deadline=None)
def test_the_closed_function_sums_the_terms(model: Model, n: float, m: float) -> None:
    expected = alone(model, n, m)
    assert model.predict(n, m) == model.predict(m=m, n=n) == near(expected, model)


@given(models(), st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
@settings(max_examples=examples(80), deadline=None)
def test_arrays_are_predicted_like_numbers(model: Model, points: list[tuple[float, float]]) -> None:
    expected = [alone(model, *point) for point in points]
    n, m = np.array(points).T
    assert model.of({"n": n, "m": m}).tolist() == [near(value, model) for value in expected]
    assert model.applies({"n": n, "m": m}).tolist() == [value < math.inf for value in expected]


@needs_c
@given(st.lists(models(), min_size=12, max_size=12))
@rarely
def test_the_exports_predict_like_the_model(tmp_path_factory: pytest.TempPathFactory, some: list[Model]) -> None:
    named = [Model.from_json(model.to_json() | {"name": f"m{k}"}) for k, model in enumerate(some)]
    functions = in_c([model.c() for model in named], [model.name for model in named], tmp_path_factory.mktemp("c"))
    for model, function in zip(named, functions, strict=True):
        space: dict[str, Any] = {}
        exec(model.python(), space)
        for n, m in POINTS:
            with contextlib.suppress(ZeroDivisionError, OverflowError):
                expected = model.predict(n, m)
                assert space[model.name](n, m) == expected
                assert function(n, m) == near(expected, model)


def test_predictions_have_the_broadcast_shape_of_the_inputs() -> None:
    model = made({"n": 1e-9, "m": 1e-6})
    n, m = np.arange(1.0, 4.0)[:, None], np.arange(1.0, 3.0)
    assert model.of({"n": n, "m": m}) == pytest.approx(1e-9 * n + 1e-6 * m)
    low, high = model.interval({"n": n, "m": m})
    assert low.shape == high.shape == model.applies({"n": n, "m": m}).shape == (3, 2)
    assert model.of({"n": 1, "m": 2}).shape == model.interval({"n": 1, "m": 2})[0].shape == ()


def test_a_model_predicts_infinity_outside_its_condition() -> None:
    model = made({"1": 1e-6, "n": 1e-9}, when="n >= 16 and m < 8")
    assert model.predict(15, 1) == model.predict(16, 8) == math.inf
    assert model.predict(16, 7) == 1e-6 + 16e-9
    inputs = {"n": [15, 16], "m": [1, 1]}
    assert model.of(inputs).tolist() == [math.inf, model.predict(16, 1)]
    low, high = model.interval(inputs)
    assert low[0] == high[0] == math.inf
    assert low[1] < model.predict(16, 1) < high[1]


def test_inputs_beyond_the_measured_ranges_are_extrapolations() -> None:
    model = made({"n": 1e-9})
    assert model.extrapolates(n=1, m=1e6) == ()
    assert model.extrapolates(n=0, m=5) == ("n",)
    assert model.extrapolates(n=2e6, m=0.001) == ("n", "m")


@pytest.mark.parametrize("inputs", [{"n": 1}, {"n": 1, "m": 1, "p": 1}, {"x": 1, "m": 1}])
def test_wrong_and_missing_inputs_are_refused(inputs: dict[str, float]) -> None:
    model = made({"n": 1e-9})
    for method in (model.of, model.applies, model.interval):
        with pytest.raises(ModelError, match="the inputs of task are n, m; wrong or missing"):
            method(inputs)  # type: ignore[operator]
    with pytest.raises(ModelError, match="wrong or missing"):
        model.extrapolates(**inputs)


def test_the_interval_equals_a_calculation_by_hand() -> None:
    """Half its width, as a logarithm, is t sqrt(residual^2 + x' covariance x / prediction^2); t(10) = 2.228 for 95%."""
    model = made({"1": 1e-6, "n": 1e-9}, covariance=np.array([[4e-16, 1e-19], [1e-19, 1e-22]]))
    low, high = model.interval({"n": 1000, "m": 1})
    centre, variance = 2e-6, 0.02**2 + (4e-16 + 2 * 1000 * 1e-19 + 1e6 * 1e-22) / 4e-12
    factor = math.exp(2.2281389 * math.sqrt(variance))
    assert (float(low), float(high)) == pytest.approx((centre / factor, centre * factor), rel=1e-7)
    narrow = model.interval({"n": 1000, "m": 1}, confidence=0.5)
    assert low < narrow[0] < centre < narrow[1] < high


# -------------------------------------------------------------------------------------------------------- exports


def test_a_model_prints_its_formula() -> None:
    model = made({"1": 1e-6, "n": -2e-9, "n * m": 1.23456e-9}, when="n > 1")
    assert str(model) == (
        "task(n, m) = 1e-06 - 2e-09 n + 1.235e-09 (n * m)    [s]\n"
        "    n = 1..1e6, m = 0.01..1e6 real; if n > 1; MRE 2.5% on 20 points not fitted, 1.0% on 30 fitted"
    )
    assert repr(model) == "<model task(n, m): MRE 2.5%>"


def test_a_model_exports_its_source() -> None:
    model = made({"n * log2(n)": 2e-9, "max(0, n - m)": 1e-9}, when="n > 1", name="sort[int64]/fast")
    assert model.python() == (
        "from math import log2\nfrom math import inf\n\n\n"
        "def sort_int64__fast(n, m):    # seconds; MRE 2.5%\n"
        "    return 2e-09 * (n * log2(n)) + 1e-09 * max(0, n - m) if (n > 1) else inf\n"
    )
    assert model.c() == (
        "double sort_int64__fast(double n, double m) {    /* seconds; MRE 2.5% */\n"
        "    return (n > 1.0) ? 2e-09 * (n * log2(n)) + 1e-09 * fmax(0.0, (n - m)) : INFINITY;\n}"
    )


@pytest.mark.parametrize(
    ("name", "function"), [("log", "log_"), ("double", "double_"), ("lambda", "lambda_"), ("2d", "_2d"), ("", "_")]
)
def test_an_exported_function_has_a_valid_name(name: str, function: str) -> None:
    model = made({"n": 1e-9}, name=name)
    assert model.python().startswith(f"def {function}(n, m):")
    assert model.c().startswith(f"double {function}(double n, double m)")


# ----------------------------------------------------------------------------------------------------------- JSON


def fitted(samples: bool = True) -> Model:
    """Return a model made by `fit_model`."""
    specification = Specification("copy", {"n": "100..1e5 x 10", "w": "4, 8"}, ["n", "n * w"], print, when="n > w")
    points = nest(specification.nested)
    rng = np.random.default_rng(5)
    seconds = (2e-6 + 1e-9 * points["n"] * points["w"]) * (1 + 0.01 * rng.standard_normal((3, 20)))
    return fit_model(specification, points, seconds.T.tolist(), np.arange(20) % 4 == 0, {"cpu": "made up"})


def same(one: Model, other: Model) -> bool:
    return json.dumps(one.to_json()) == json.dumps(other.to_json())


@given(models(), VALUES, VALUES)
@settings(max_examples=examples(60), deadline=None)
def test_a_model_survives_json(model: Model, n: float, m: float) -> None:
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert same(again, model)
    with contextlib.suppress(ZeroDivisionError, OverflowError):
        assert again.predict(n, m) == model.predict(n, m) or math.isnan(model.predict(n, m))


def test_json_may_include_the_samples() -> None:
    model = fitted()
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert same(again, model)
    assert again.samples is not None
    assert model.samples is not None
    assert again.samples.raw == model.samples.raw
    assert again.samples.verification.tolist() == model.samples.verification.tolist()
    assert again.inputs == model.inputs
    bare = Model.from_json(model.to_json(samples=False))
    assert bare.samples is None
    assert bare.predict(1000, 4) == model.predict(1000, 4)
    assert same(pickle.loads(pickle.dumps(model)), model)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("inputs",), None),
        (("inputs",), {}),
        (("inputs", "n"), "100"),
        (("inputs", "n"), "9..1"),
        (("terms",), []),
        (("terms",), {}),
        (("terms", "n * w"), "n * x"),
        (("terms", "n * w"), "__import__('os')"),
        (("coefficients",), [1.0]),
        (("coefficients",), ["a", "b"]),
        (("coefficients", 0), float("nan")),
        (("covariance",), [[1.0]]),
        (("residual",), "much"),
        (("freedom",), None),
        (("when",), "n >"),
        (("quality",), {"mre": 0.1}),
        (("machine",), 3),
        (("samples", "seconds"), "none"),
        (("samples",), {"inputs": {}}),
    ],
)
def test_damaged_json_is_refused(path: tuple[Any, ...], value: Any) -> None:
    data = copy.deepcopy(fitted().to_json())
    *parents, last = path
    at = data
    for key in parents:
        at = at[key]
    at[last] = value
    if path == ("inputs", "n") and value == "100":
        del data["inputs"]["w"]  # a listed value is valid; the terms still name the other
    with pytest.raises(ModelError, match="damaged"):
        Model.from_json(data)


@pytest.mark.parametrize("key", sorted(fitted().to_json(samples=False).keys() - {"least", "dropped"}))
def test_json_that_lacks_one_of_its_parts_is_refused(key: str) -> None:
    data = {name: value for name, value in fitted().to_json().items() if name != key}
    with pytest.raises(ModelError):
        Model.from_json(data)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ([], "not a model of smp"),
        ({"format": "smp-profile"}, "not a model of smp"),
        ({"format": "smp-model"}, "of version None"),
        ({"format": "smp-model", "version": 2}, "of version 2, but this smp reads up to 1: upgrade smp"),
    ],
)
def test_json_of_another_kind_or_version_is_refused(data: Any, part: str) -> None:
    with pytest.raises(ModelError, match=part):
        Model.from_json(data)


# ------------------------------------------------------------------------------------------------------------ fits

TRUE = {"1": 5e-6, "n * log2(n)": 1e-9, "n * w": 2e-10}


def simulated(
    noise: float, seed: int, *, spikes: float = 0.0, times: int = 1
) -> tuple[Specification, dict[str, Any], Any, Any]:
    """Return a specification with too many terms, points, timings, and a mask of every fourth point to verify with."""
    ranges = {"n": "100..1e6 x 40", "w": "8, 32"}
    specification = Specification("t", ranges, ["n", "n * log2(n)", "n * w", "w", "sqrt(n)"], print)
    points, rng = nest(specification.nested), np.random.default_rng(seed)
    exact = sum(c * expressions_of([text], ["n", "w"])[text].of(points) for text, c in TRUE.items())
    taken = exact[:, None] * (1 + noise * rng.standard_normal((len(exact), times)))
    taken[rng.random(taken.shape) < spikes] *= 3
    return specification, points, taken, np.arange(len(exact)) % 4 == 1


def test_relevant_terms_are_found_and_the_others_removed() -> None:
    """A fit keeps a truly irrelevant term in 5% of cases, so some of 60 are kept; the relevant ones always are."""
    kept = [set(fit_model(*_listed(simulated(0.01, seed))).terms) for seed in range(20)]
    assert all(TRUE.keys() <= names for names in kept)
    assert sum(len(names - TRUE.keys()) for names in kept) <= 9
    model = fit_model(*_listed(simulated(0.01, 3)))
    assert dict(zip(model.terms, model.coefficients.tolist(), strict=True))["n * w"] == pytest.approx(2e-10, rel=0.02)
    assert model.quality.count == 60
    assert model.quality.verified == 20
    assert "without" in model.quality.log


def _listed(made: tuple[Any, ...]) -> tuple[Any, ...]:
    specification, points, taken, verification = made
    return specification, points, taken.tolist(), verification


@pytest.mark.parametrize("noise", [0.02, *campaigns(0.08)])
def test_95_percent_of_new_measurements_fall_into_the_interval(noise: float) -> None:
    """100 fits have 80 new measurements each.  If these 8,000 draws were independent, their standard deviation would be
    0.25%; those of one fit are not quite independent, so 1% is allowed."""
    inside = 0
    for seed in range(100):
        specification, points, taken, verification = simulated(noise, seed, times=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            model = fit_model(specification, points, taken.tolist(), verification)
        new = simulated(noise, 1000 + seed, times=3)[2].min(axis=1)
        low, high = model.interval(points)
        inside += int(((low <= new) & (new <= high)).sum())
    assert inside / 8000 == pytest.approx(0.95, abs=0.01)


def test_the_least_of_the_timings_of_a_point_is_fitted() -> None:
    specification, points, taken, verification = simulated(0.01, 1, spikes=0.05, times=7)
    model = fit_model(specification, points, taken.tolist(), verification)
    assert model.samples is not None
    assert model.samples.seconds.tolist() == taken.min(axis=1).tolist()
    assert model.quality.mre < 0.01
    own = dataclasses.replace(specification, clocked=True)  # its seconds differ by chance, not by slow spells
    by_own_clock = fit_model(own, points, taken.tolist(), verification).samples
    assert by_own_clock is not None
    assert by_own_clock.seconds.tolist() == np.median(taken, axis=1).tolist()


def test_verification_points_do_not_affect_the_fit_but_give_its_errors() -> None:
    specification, points, taken, verification = simulated(0.01, 1)
    model = fit_model(specification, points, taken.tolist(), verification)
    off = np.abs(model.of(points) / taken[:, 0] - 1)
    assert model.quality.mre == pytest.approx(np.exp(np.log1p(off[verification]).mean()) - 1)
    assert model.quality.mre == pytest.approx(mean_relative_error(off[verification]))
    assert model.quality.mre_fit == pytest.approx(mean_relative_error(off[~verification]))
    assert model.quality.worst == pytest.approx(off[verification].max())
    elsewhere = taken.copy()
    elsewhere[verification] *= 2
    with pytest.warns(ModelWarning, match="t predicts with a mean error of 50% on 20 points that it was not fitted to"):
        other = fit_model(specification, points, elsewhere.tolist(), verification)
    assert other.coefficients.tolist() == model.coefficients.tolist()


def test_a_term_that_two_points_determine_makes_no_prediction_vanish() -> None:
    """Of the two points beyond 20, the nearer one is less slow, so the waits from 20 to 22 would be negative."""
    terms = ["n", "n * max(0, min(span, 22) - 20)", "n * max(0, span - 22)"]
    task = Specification("walk", {"n": "1e3..1e6", "span": "linear 10..27 real"}, terms, len)
    span = np.array([*np.linspace(10, 19.9, 10), 23.0, 23.4, 21.9, 15.0])
    n = np.geomspace(1e3, 1e6, len(span))
    seconds = 2e-9 * n * (1 + 0.01 * np.sin(np.arange(len(n)))) * np.where(span > 22, 4.0 + 20 * (span - 23.0), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = fit_model(task, {"n": n, "span": span}, seconds[:, None].tolist(), np.arange(len(n)) >= len(n) - 2)
    assert set(model.terms) == {terms[0], terms[2]}
    assert (model.coefficients > 0).all()
    between = model.predict(n=1e5, span=21.9)
    assert 1e-4 < between < 4e-4
    assert model.predict(n=1e5, span=15.0) == pytest.approx(2e-4, rel=0.05)


def test_an_error_below_ten_per_cent_causes_no_warning() -> None:
    specification, points, taken, verification = simulated(0.0, 1)
    taken[verification] *= 1.09
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit_model(specification, points, taken.tolist(), verification).quality.mre == pytest.approx(0.09 / 1.09)


def test_without_verification_points_the_errors_are_those_of_the_fit() -> None:
    specification, points, taken, _ = simulated(0.01, 1)
    quality = fit_model(specification, points, taken.tolist(), np.zeros(len(taken), bool)).quality
    assert quality.verified == 0
    assert quality.mre == quality.mre_fit


def test_impossible_fits_are_refused() -> None:
    specification, points, taken, verification = simulated(0.01, 1)
    few = {name: values[:6] for name, values in points.items()}
    with pytest.raises(FitError, match="6 points cannot fit the 6 terms of t and show its error"):
        fit_model(specification, few, taken[:6].tolist(), np.zeros(6, bool))
    with pytest.raises(FitError, match="not above zero"):
        fit_model(specification, points, (taken * 0).tolist(), verification)
    undefined = Specification("t", {"n": "linear 0..9 x 10"}, ["log2(n)"], print)
    with pytest.raises(FitError, match="NaN or infinity"):
        fit_model(undefined, nest(undefined.nested), [[1.0]] * 10, np.zeros(10, bool))
