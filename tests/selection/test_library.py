"""Libraries choose the smallest of made-up predictions: parameters, preconditions, rules, and models from JSON."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.formulas import EXACT, VALUES
from support.libraries import use
from support.sampled import examples

from smp.errors import ModelError
from smp.selection.implementation import Choice, Implementation, Parameter
from smp.selection.library import Library


def library_of(*made: Implementation, **options: Any) -> Library:
    library = Library("sums", {"n": "100..1e6"}, lambda a: (len(a),), **options)
    library.add(*made)
    return library


def called(name: str) -> Callable[..., Any]:
    """Return an implementation that returns its name and the keywords of the call."""
    return lambda *arguments, **keywords: (name, keywords)


def two() -> Library:
    """Return a library: ``slow`` takes 1 us per element, ``fast`` 900 us plus 0.1 us each; they cross at 1,000."""
    made = library_of(Implementation("slow", called("slow"), ["n"]), Implementation("fast", called("fast"), ["n"]))
    return use(made, {"slow": {"n": 1e-6}, "fast": {"1": 900e-6, "n": 0.1e-6}})


# ---------------------------------------------------------------------------------------------------- the choice


@given(st.integers(100, 10**6))
@settings(max_examples=examples(50), deadline=None)
def test_the_smallest_prediction_wins(n: int) -> None:
    library = two()
    expected = {"slow": 1e-6 * n, "fast": 900e-6 + 0.1e-6 * n}
    best = min(expected, key=expected.__getitem__)
    assert library.choose(n) == best
    assert library.best(n) == Choice(best, {}, pytest.approx(expected[best]))  # type: ignore[arg-type]
    assert {name: each.seconds for name, each in library.predictions(n).items()} == pytest.approx(expected)


def test_calling_a_library_calls_the_chosen_implementation() -> None:
    library = two()
    assert library([0] * 500) == ("slow", {})
    assert library([0] * 2000) == ("fast", {})
    assert repr(library) == "<library sums: slow, fast; calibrated>"


@given(st.lists(EXACT, min_size=2, max_size=4), VALUES, VALUES)
@settings(max_examples=examples(50), deadline=None)
def test_the_closed_function_agrees_with_the_models_one_by_one(texts: list[str], n: float, m: float) -> None:
    """This holds for any terms, with preconditions; models that predict no time above zero do not count."""
    ranges = {"n": "0.01..1e6 real", "m": "0.01..1e6 real"}
    library = Library("any", ranges, lambda n, m: (n, m), rule=lambda n, m: "none")
    for k, text in enumerate(texts):
        library.add(Implementation(f"i{k}", called(f"i{k}"), [text], when="n < m" if k % 2 else ""))
    use(library, {f"i{k}": {"1": 1e-6, text: 1e-9} if text != "1" else {"1": 1e-6} for k, text in enumerate(texts)})
    try:
        alone = {name: model.predict(n, m) for name, model in library.models.items()}
    except (ZeroDivisionError, OverflowError):
        assume(False)
    assume(all(map(math.isfinite, [0 if each == math.inf else each for each in alone.values()])))
    positive = {name: seconds for name, seconds in alone.items() if 0 < seconds < math.inf}
    best = min(positive, key=positive.__getitem__) if positive else "none"
    assert library.choose(n, m) == library.best(n, m).name == best
    if positive:
        assert library.best(n, m).seconds == positive[best]


def test_a_prediction_below_zero_is_ignored() -> None:
    library = use(two(), {"slow": {"n": 1e-6}, "fast": {"1": -1.0, "n": 0.1e-6}})
    assert library.choose(1000) == "slow"
    assert use(library, {"slow": {"n": -1e-6}, "fast": {"1": -1.0}}).best(1000).name == "slow"  # the rule
    assert math.isnan(library.best(1000).seconds)


def test_an_input_below_its_range_is_predicted_at_the_lower_end() -> None:
    library = use(two(), {"slow": {"n": 1e-6}, "fast": {"1": 50e-6, "n": 0.1e-6}})
    assert library.best(3) == library.best(100) == Choice("fast", {}, pytest.approx(60e-6))  # type: ignore[arg-type]
    assert library.predictions(3) == library.predictions(100)
    assert library.held(3) == [100]
    assert library.held(10**9) == [10**6]


def test_a_model_that_is_not_defined_predicts_nothing() -> None:
    made = Library("logarithms", {"n": "linear 0..10"}, lambda n: (n,))
    made.add(Implementation("only", called("only"), ["log2(n)"]))
    library = use(made, {"only": {"log2(n)": 1e-6}})
    assert math.isnan(library.best(0).seconds)
    assert math.isnan(library.predictions(0)["only"].seconds)


def test_later_calls_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    library = two()
    library.choose(500)
    monkeypatch.setattr(Library, "_compiled", None)
    assert [library.choose(n) for n in (500, 5000)] == ["slow", "fast"]


# ------------------------------------------------------------------------------------- preconditions and the rule


def conditional() -> Library:
    """Return a library in which ``few`` would always win, but may be chosen for 16 to 999 elements only."""
    few = Implementation("few", called("few"), ["n"], when="16 <= n < 1000")
    made = library_of(few, Implementation("any", called("any"), ["n"]))
    return use(made, {"few": {"n": 1e-9}, "any": {"n": 1e-6}})


@pytest.mark.parametrize(("n", "name"), [(5, "any"), (16, "few"), (100, "few"), (999, "few"), (1000, "any")])
def test_a_precondition_applies_to_the_actual_inputs(n: int, name: str) -> None:
    library = conditional()  # its range begins at 100: n = 5 is predicted as 100, but its condition sees 5
    assert library.choose(n) == library.best(n).name == name
    assert math.isinf(library.predictions(n)["few"].seconds) == (name == "any")
    uncalibrated = library_of(*library.implementations.values())
    assert uncalibrated.choose(n) == name


def test_the_rule_decides_if_no_condition_holds() -> None:
    library = library_of(Implementation("few", called("few"), ["n"], "n < 1000"), rule=lambda n: f"rule {n}")
    use(library, {"few": {"n": 1e-9}})
    assert library.choose(500) == "few"
    assert library.choose(5000) == "rule 5000"
    assert library.best(5000).name == "rule 5000"


def test_without_models_the_rule_decides_and_no_parameter_is_passed() -> None:
    digit = Parameter("digit", "1..8", 1, 8)
    library = library_of(
        Implementation("a", called("a"), ["n"]),
        Implementation("b", called("b"), ["n"], parameter=digit),
        rule=lambda n: "a" if n < 10 else "b",
    )
    assert [library([0] * n) for n in (3, 10)] == [("a", {}), ("b", {})]
    assert repr(library) == "<library sums: a, b; not calibrated>"
    assert library.predictions(3) == {}


def test_by_default_the_first_applicable_implementation_is_chosen() -> None:
    library = library_of(
        Implementation("few", called("few"), ["n"], "n < 10"), Implementation("more", called("more"), ["n"], "n < 100")
    )
    assert [library.choose(n) for n in (9, 10)] == ["few", "more"]
    with pytest.raises(ModelError, match=r"no implementation of sums applies to \{'n': 100\}: add one that does"):
        library.choose(100)


# ------------------------------------------------------------------------------------------------------ parameters


def radix() -> Library:
    """Return radix sort by Brewer's equation 37, its digit given by the number of passes; and one that takes 60 ms."""
    digit = Parameter("digit", "1..16", 1, lambda n, width: width, lambda passes, n, width: -(-width // passes))
    library = Library("sort", {"n": "10..1e6", "width": "4..32"}, lambda n, width: (n, width))
    library.add(
        Implementation("radix", called("radix"), ["2 ** digit", "ceil(width / digit) * n"], "digit <= 16", digit),
        Implementation("other", called("other"), []),
    )
    return use(library, {"radix": {"2 ** digit": 11.41e-6, "ceil(width / digit) * n": 9.92e-6}, "other": {"1": 60e-3}})


@given(st.integers(10, 3000), st.integers(4, 32))
@settings(max_examples=examples(60), deadline=None)
def test_the_parameter_is_optimised_before_the_choice(n: int, width: int) -> None:
    library = radix()
    model = library.models["radix"]
    digits = sorted({-(-width // passes) for passes in range(1, width + 1)})
    least = min(model.predict(n, width, digit) for digit in digits)
    chosen = library.predictions(n, width)["radix"]
    assert chosen.seconds == least == model.predict(n, width, chosen.keywords["digit"])
    best = library.best(n, width)
    assert best == (chosen if least < 60e-3 else Choice("other", {}, 60e-3))
    assert library(n, width) == (best.name, best.keywords)


def test_a_parameter_is_a_whole_number_even_below_the_range() -> None:
    library = radix()
    keywords = library.best(3, 2).keywords  # raised to 10 keys of 4.0 bits, which give the last step
    assert keywords == {"digit": 2}
    assert type(keywords["digit"]) is int


def test_a_parameter_is_searched_in_its_steps() -> None:
    plain = Parameter("depth", "1..8", 1, 8)
    assert plain.ends((5,)) == (1, 8)
    assert plain.at(3, (5,)) == 3
    assert plain.best(lambda n, depth: (depth - n) ** 2, (5,)) == 5
    exponent = Parameter("sublists", "powers 1..1024", 0, lambda n: math.log2(n), lambda step, n: 2**step)
    assert exponent.ends((1000,)) == (0, 9)
    assert exponent.best_step(lambda n, sublists: abs(sublists - 70), (1000,)) == 6
    assert exponent.best(lambda n, sublists: abs(sublists - 70), (1000,)) == 64


def test_a_condition_on_the_parameter_limits_it_but_does_not_bind_the_rule() -> None:
    depth = Parameter("depth", "1..64", 1, 64)
    library = library_of(Implementation("blocked", called("blocked"), ["n"], "depth <= n / 50", depth))
    assert library([0] * 10) == ("blocked", {})
    use(library, {"blocked": {"n": 1e-6, "depth": -1e-9}})
    assert library([0] * 1000) == ("blocked", {"depth": 20})


# -------------------------------------------------------------------------------------- refused input, and storage


def test_invalid_implementations_are_refused() -> None:
    library = two()
    with pytest.raises(ModelError, match="already has an implementation 'slow'"):
        library.add(Implementation("slow", called("slow"), ["n"]))
    with pytest.raises(ModelError, match="names 'x'"):
        library.add(Implementation("third", called("third"), ["x"]))
    with pytest.raises(ModelError, match="names 'x'"):
        library.add(Implementation("third", called("third"), ["n"], "x > 1"))
    with pytest.raises(ModelError, match="the parameter 'n' of third has the name of an input"):
        library.add(Implementation("third", called("third"), ["n"], parameter=Parameter("n", "1..9", 1, 9)))
    assert list(library.implementations) == ["slow", "fast"]
    assert library.choose(2000) == "fast"  # refused implementations change nothing


def test_adding_an_implementation_discards_the_models() -> None:
    library = two()

    @library.implementation(["n"], when="n > 5")
    def third(a: list[int]) -> str:
        return "third"

    assert library.models == {}
    assert library.choose(10**6) == "slow"
    assert library.implementations["third"] == Implementation("third", third, ["n"], "n > 5")


def test_a_library_has_a_specification_for_each_implementation() -> None:
    made = {each.name: each for each in radix().specifications()}
    assert list(made) == ["sort/radix", "sort/other"]
    assert made["sort/radix"].keywords == ("digit",)
    assert list(made["sort/radix"].inputs) == ["n", "width", "digit"]
    assert made["sort/radix"].when == "digit <= 16"
    looped = Library("sort", {"n": "1..9"}, len, loops={"size": "1..9", "kind": "0, 1"}, setup=lambda size, kind: ())
    looped.add(Implementation("a", called("a"), ["n"], parameter=Parameter("digit", "1..4", 1, 4)))
    (only,) = looped.specifications()
    assert [each.name for each in only.nested] == ["size", "kind", "digit"]
    assert only.of is len


def test_models_with_other_names_or_inputs_are_refused() -> None:
    library = two()
    models = {f"sums/{name}": model for name, model in library.models.items()}
    with pytest.raises(ModelError, match=r"no model of sums/fast\(n\) was given: calibrate the library again"):
        library.use({"sums/slow": models["sums/slow"]})
    other = radix().models["other"]
    with pytest.raises(ModelError, match=r"no model of sums/fast\(n\) was given"):
        library.use(models | {"sums/fast": other})


def test_stored_models_make_the_same_choices() -> None:
    library = radix()
    again = Library("sort", library.inputs, library.of)
    again.add(*library.implementations.values())
    again.use_json(json.loads(json.dumps(library.to_json())))
    points = [(n, width) for n in (3, 100, 5000, 10**6) for width in (4, 17, 32)]
    assert [again.best(*point) for point in points] == [library.best(*point) for point in points]


@pytest.mark.parametrize(
    "changed",
    [{"format": "other"}, {"version": 2}, {"version": None}, {"name": "sort"}, {"models": []}, {"models": {"slow": 3}}],
)
def test_damaged_json_is_refused_and_changes_nothing(changed: dict[str, Any]) -> None:
    library = two()
    with pytest.raises(ModelError):
        library.use_json(library.to_json() | changed)
    with pytest.raises(ModelError, match="this is not a calibration of the library sums: calibrate it again"):
        library.use_json([])  # type: ignore[arg-type]
    assert library.choose(2000) == "fast"
