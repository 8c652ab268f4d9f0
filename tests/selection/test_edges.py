"""Outside the calibrated ranges, predictions are held to the edges, and the caller is informed once."""

from __future__ import annotations

import math
import warnings

import pytest
from support.libraries import use

from smp.models.fit.inputs import Input, parsed
from smp.selection.edges import ExtrapolationWarning, at_edges, growth, outside
from smp.selection.implementation import Choice, Implementation, Parameter
from smp.selection.library import Library

SUMS = {"n": "100..1e6"}


def library_of(coefficients: dict[str, dict[str, float]], ranges: dict[str, str] = SUMS) -> Library:
    made = Library("sums", ranges, lambda *inputs: inputs)
    made.add(*(Implementation(name, lambda *_: None, list(terms)) for name, terms in coefficients.items()))
    return use(made, coefficients)


def quiet(library: Library, *inputs: float) -> Choice:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        return library.best(*inputs)


def test_a_formula_that_bends_beyond_its_range_is_held_to_the_growth_at_its_edge() -> None:
    """At the edge, n = 1e6, it takes 1 - 0.25 = 0.75 s, and 0.4375 s at half of that; it is below zero from 4e6 on."""
    library = library_of({"bent": {"n": 1e-6, "n * n": -2.5e-13}, "straight": {"n": 2e-6}})
    assert library.models["bent"].predict(8e6) < 0
    power = math.log2(0.75 / 0.4375)
    found = quiet(library, 8e6)
    assert found.name == "bent"
    assert found.seconds == pytest.approx(0.75 * 8**power)
    assert library.predictions(8e6)["bent"].seconds == found.seconds
    assert library.predictions(8e6)["straight"].seconds == pytest.approx(16.0), "a straight line stays straight"


def test_a_falling_time_is_held_constant_beyond_the_range() -> None:
    library = library_of({"falling": {"1": 2.0, "n": -1e-6}})
    assert quiet(library, 1e9).seconds == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1e6, 5e5, 100.0])
def test_within_the_range_nothing_is_said_or_changed(n: float) -> None:
    library = library_of({"bent": {"n": 1e-6, "n * n": -2.5e-13}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = library.best(n)
    assert found.seconds == library.models["bent"].predict(n)
    assert found.outside == ""
    assert str(found) == f"bent: {found.seconds:.3g} s predicted"


def test_the_caller_is_informed_once_and_by_each_printed_choice() -> None:
    library = library_of({"slow": {"n": 2e-6}, "fast": {"n": 1e-6}})
    message = r"sums: n = 5e\+07 is outside the calibrated range 100 to 1e\+06; predictions are held"
    with pytest.warns(ExtrapolationWarning, match=message) as told:
        first = library.best(5e7)
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert library.choose(6e7) == "fast"
        again = library.best(5e7)
    assert str(first) == str(again) == "fast: 50 s predicted; n = 5e+07 is outside the calibrated range 100 to 1e+06"


def test_below_the_range_the_lower_end_decides_without_a_warning() -> None:
    library = library_of({"slow": {"n": 2e-6}, "fast": {"n": 1e-6}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = library.best(3)
    assert found == Choice("fast", {}, pytest.approx(1e-4))  # type: ignore[arg-type]
    assert found.outside == "n = 3 is outside the calibrated range 100 to 1e+06"


def test_an_input_that_is_no_size_is_held_at_the_end_of_its_range() -> None:
    ranges = {"n": "100..1e6", "share": "linear 0..1 real", "width": "4, 8"}
    library = library_of({"one": {"n * share": 1e-6, "n * width": 1e-8}}, ranges)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = library.best(1e5, 1.5, 16)
    assert (
        found.seconds == pytest.approx(1e-6 * 1e5 + 1e-8 * 1e5 * 8) == library.predictions(1e5, 1.5, 16)["one"].seconds
    )
    assert found.outside.count("outside the calibrated range") == 2
    assert at_edges(library.ranges, (1e9, 1.5, 3)) == [1e6, 1.0, 4.0]
    both = quiet(library, 2e6, 1.5, 16)
    assert both.seconds == pytest.approx(20 * found.seconds)


def test_the_parameter_is_the_best_one_at_the_edge() -> None:
    library = Library("blocks", SUMS, lambda n: (n,))
    depth = Parameter("depth", "1..64", 1, 64)
    library.add(Implementation("blocked", lambda n, depth: None, ["n / depth", "depth"], parameter=depth))
    use(library, {"blocked": {"n / depth": 1e-6, "depth": 1e-2}})
    edge, beyond = library.best(10**6), quiet(library, 4 * 10**6)
    assert beyond.keywords == edge.keywords == {"depth": 10}
    predict = library.models["blocked"].predict
    power = math.log2(predict(1e6, 10) / predict(5e5, 10))
    assert beyond.seconds == pytest.approx(edge.seconds * 4**power)


def test_a_time_is_proportional_if_the_formula_is_not_defined_before_the_edge() -> None:
    ranges = parsed(SUMS)
    assert growth(lambda n: math.log(n - 6e5), ranges, [3e6], {}) == pytest.approx(3)
    assert growth(lambda n: n - 6e5, ranges, [3e6], {}) == pytest.approx(3)
    assert growth(lambda n: n**2, ranges, [3e6], {}) == pytest.approx(9)
    assert growth(lambda n: n**2, ranges, [3e5], {}) == 1
    assert outside([Input.parse("p", "powers 2..8")], [8]) == ""


def test_the_rule_decides_beyond_the_range_if_no_model_applies() -> None:
    made = Library("few", SUMS, lambda n: (n,), rule=lambda n: "by rule")
    made.add(Implementation("few", lambda n: None, ["n"], when="n < 1000"))
    library = use(made, {"few": {"n": 1e-6}})
    found = quiet(library, 1e9)
    assert found.name == "by rule"
    assert str(found) == "by rule: by the rule"
