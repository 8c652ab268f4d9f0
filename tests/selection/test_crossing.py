"""Crossovers are the sizes at which the predicted times of two implementations are equal."""

import math

import pytest
from support.made_models import made_model

from smp.errors import ModelError
from smp.models.fit.model import Model
from smp.selection import crossovers
from smp.selection.library import Implementation, Library, Parameter

INPUTS = {"n": "1..1e6", "width": "4, 8"}


def model(coefficients: dict[str, float], inputs: dict[str, str] | None = None, mre: float = 0.0) -> Model:
    return made_model(coefficients, inputs or INPUTS, mre)


def test_the_change_is_where_the_lines_cross() -> None:
    # 1 us n width against 1 ms + 1 us n: equal at n = 1000 / (width - 1)
    found = crossovers({"slow": model({"n * width": 1e-6}), "fast": model({"1": 1e-3, "n": 1e-6})})
    assert [(one.at, one.size, one.before, one.after) for one in found] == [
        ({"width": 4}, 334, "slow", "fast"),
        ({"width": 8}, 143, "slow", "fast"),
    ]
    assert found[0].seconds == pytest.approx(1e-3 + 334e-6)


def test_there_are_several_changes_in_the_order_of_size() -> None:
    made = {"a": model({"n ** 2": 1e-6}), "b": model({"1": 1e-4, "n": 1e-6}), "c": model({"1": 1e-2, "n": 1e-7})}
    found = crossovers(made, at={"width": [4]})
    # n^2 = 100 + n at 10.5; 100 + n = 10,000 + n / 10 at 11,000
    assert [(one.size, one.before, one.after) for one in found] == [(11, "a", "b"), (11_001, "b", "c")]


def test_an_implementation_that_is_always_the_fastest_has_one_entry() -> None:
    found = crossovers({"slow": model({"n": 2e-6}), "fast": model({"n": 1e-6})})
    assert [(one.before, one.after, math.isnan(one.size)) for one in found] == [("fast", "fast", True)] * 2


def test_the_range_around_a_change_follows_from_the_errors() -> None:
    # n against 1000: they differ by less than 1.1 * 1.1 - 1 from 1000 / 1.21 to 1210
    found = crossovers({"grows": model({"n": 1e-6}, mre=0.1), "constant": model({"1": 1e-3}, mre=0.1)})
    step = 1e6 ** (1 / 239)
    for one in found:
        assert one.size == 1001 or one.size == 1000
        assert 1000 / 1.21 <= one.low <= 1000 / 1.21 * step * 1.001
        assert 1210 / step * 0.999 <= one.high <= 1210


def test_an_input_of_few_values_changes_at_one_of_them() -> None:
    found = crossovers({"slow": model({"n * width": 1e-6}), "fast": model({"n": 6e-6})}, over="width", at={"n": [10]})
    assert [(one.at, one.size, one.after) for one in found] == [({"n": 10}, 8, "fast")]


def test_a_real_size_is_not_rounded() -> None:
    inputs = {"share": "linear 0.1..1 real"}
    found = crossovers({"a": model({"share": 1.0}, inputs), "b": model({"1": 0.3}, inputs)})
    assert found[0].size == pytest.approx(0.3, abs=1e-9)


def test_a_parameter_has_its_best_value() -> None:
    own = {**INPUTS, "step": "1, 2, 3"}
    # |step - 2| n + n / 2 is least for a step of 2
    models = {"simple": model({"n": 1e-6}), "stepped": model({"1": 1e-4, "abs(step - 2) * n": 1e-6, "n": 5e-7}, own)}
    assert [one.size for one in crossovers(models)] == [pytest.approx(200, abs=1)] * 2

    library = Library("made", INPUTS, lambda n, width: (n, width))
    parameter = Parameter("step", "1, 2, 3", 1, 3)
    library.add(Implementation("simple", len, ["n"]))
    library.add(Implementation("stepped", len, ["abs(step - 2) * n", "n"], parameter=parameter))
    library.use({f"made/{name}": each for name, each in models.items()})
    assert crossovers(library) == crossovers(models)
    for one in crossovers(library):
        assert library.choose(one.size - 1, one.at["width"]) == "simple"
        assert library.choose(one.size, one.at["width"]) == "stepped"


def test_missing_models_and_unknown_inputs_are_errors() -> None:
    with pytest.raises(ModelError, match="no models"):
        crossovers({})
    with pytest.raises(ModelError, match=r"'m' is not among the inputs .* n, width"):
        crossovers({"a": model({"n": 1.0})}, over="m")
    with pytest.raises(ModelError, match=r"'n' is not among the inputs .* width"):
        crossovers({"a": model({"n": 1.0})}, at={"n": [1.0]})
