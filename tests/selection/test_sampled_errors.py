"""The measured points of a library show which predictions and which choices are wrong."""

from dataclasses import replace

import numpy as np
import pytest
from support.libraries import made_library
from support.made_models import made_model

import smp
from smp.errors import ModelError
from smp.models.fit.model import Model, Samples
from smp.selection import plot_errors
from smp.selection.error_map_figure import errors_figure
from smp.selection.sampled import SampledChoice, said_of, sampled_choices, sampled_errors

INPUTS = {"n": "1..1000", "m": "1..10"}


def sampled(slope: float, measured: dict[tuple[float, float], float], apart: int = 0) -> Model:
    """Return the model ``slope * n`` with these measured seconds, of which the last ``apart`` were not fitted."""
    points, kept = np.array(list(measured)), np.arange(len(measured)) >= len(measured) - apart
    seconds = np.array(list(measured.values()))
    samples = Samples({"n": points[:, 0], "m": points[:, 1]}, seconds, [[each] for each in seconds.tolist()], kept)
    return replace(made_model({"n": slope}, INPUTS), samples=samples)


MODELS = {
    "a": sampled(1.0, {(10, 1): 10.0, (20, 1): 25.0, (30, 2): 30.0, (40, 2): 40.0}, apart=1),
    "b": sampled(1.1, {(10, 1): 11.0, (20, 1): 20.0, (30, 2): 29.5}),
}


def test_errors_are_shares_of_the_measured_time() -> None:
    found = sampled_errors(MODELS)
    np.testing.assert_allclose(found["a"].errors, [0, 0.2, 0, 0])
    np.testing.assert_allclose(found["b"].errors, [0, 0.1, 3.5 / 29.5])
    assert found["a"].apart.tolist() == [False, False, False, True]
    assert found["b"].inputs["m"].tolist() == [1, 1, 2]


def test_choices_are_compared_where_both_were_measured() -> None:
    found = sampled_choices(MODELS)
    assert found == [
        SampledChoice((10, 1), "a", "a", 0.0),
        SampledChoice((20, 1), "a", "b", 0.25),
        SampledChoice((30, 2), "a", "b", pytest.approx(0.5 / 29.5)),
    ]
    assert [one.right for one in found] == [True, False, True]
    assert said_of(found).startswith("2 of 3 choices are right within 2%; the others lose 25.0%")


def test_the_figure_has_a_panel_of_choices_and_one_of_errors_for_each_implementation() -> None:
    figure = errors_figure("made up", MODELS)
    assert figure is not None
    assert [panel.title for panel in figure.panels] == ["predicted to be the fastest", "error of a", "error of b"]
    chosen, errors, _ = figure.panels
    assert [(one.name, one.x, one.y) for one in chosen.series] == [
        ("a", [10, 20, 30], [1, 1, 2]),
        ("wrong choice", [20], [1]),
    ]
    assert chosen.series[1].notes == ["25%"]
    shown = {one.name: one.x for one in errors.series}
    assert shown["error 0% to 2%"] == [10, 30]
    assert shown["error over 20%"] == [20], "the bounds belong to the class above them"
    assert shown[""] == [40], "points that were not fitted have another marker"


def test_a_library_of_one_input_shows_its_implementations_along_the_other_axis() -> None:
    library, _ = made_library()
    with pytest.raises(ModelError, match="the library two has no measured points"):
        plot_errors(library)
    library = smp.calibrate(library, verification=5)
    figure = errors_figure(library.name, library.models)
    assert figure is not None
    assert [list(panel.y.names) for panel in figure.panels] == [["straight", "steep"]] * 2
    assert sum(np.size(one.x) for one in figure.panels[1].series) == 2 * (12 + 5)
    assert plot_errors(library)._repr_png_().startswith(b"\x89PNG")
