"""The figure of a parameter shows its minima, and the values among which a library searches."""

import numpy as np
import pytest
from support.made_models import made_model

from smp.errors import ModelError
from smp.selection import plot_parameter
from smp.selection.best_values import minima, parameter_figure
from smp.selection.library import Implementation, Library, Parameter


def radix() -> Library:
    """Return a library of Brewer's model of radix sort on the CM-5 (figure 5-4), for keys of 28 bits; times in us."""
    digits = Parameter("digit", "linear 1..16 x 16", 1, 28, lambda rounds, n: -(-28 // rounds))
    coefficients = {"2 ** digit": 11.41e-6, "ceil(28 / digit) * n": 9.92e-6, "1": 464e-6}
    inputs = {"n": "100..1e6"}
    made = Library("sorts", inputs, lambda keys: (len(keys),))
    made.add(Implementation("radix", sorted, list(coefficients), parameter=digits))
    made.use({"sorts/radix": made_model(coefficients, {**inputs, "digit": digits.text}, name="sorts/radix")})
    return made


def test_a_digit_of_10_bits_is_a_second_minimum_as_in_the_thesis() -> None:
    library = radix()
    model = library.models["radix"]
    visited = sorted({-(-28 // rounds) for rounds in range(2, 29)})
    figure = parameter_figure(model.name, model, "digit", [1000.0], visited)
    left, right = figure.panels
    assert [one.name for one in left.series] == [str(digit) for digit in range(1, 17)]
    times, searched, lowest = right.series
    assert list(times.x) == list(range(1, 17))  # type: ignore[arg-type]
    assert set(lowest.x) >= {7.0}  # type: ignore[arg-type]
    assert len(lowest.x) > 1, "9 bits take as many rounds as 7, with larger tables, and 10 bits one round less"  # type: ignore[arg-type]
    at = dict(zip(times.x, times.y, strict=True))  # type: ignore[arg-type]
    assert at[9] > at[7]
    assert at[9] > at[10], "the drop from 9 to 10 bits of figure 5-5"
    assert len(minima(np.array(searched.y))) == 1, "over the values that are searched there is one minimum"
    assert library.best(1000).keywords == {"digit": 7}


def test_the_figure_is_drawn_from_a_library() -> None:
    assert plot_parameter(radix(), "radix", 1000)._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ModelError, match="no model of an implementation 'sample' with a parameter: those with one are"):
        plot_parameter(radix(), "sample")
