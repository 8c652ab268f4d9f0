"""The plot of residuals shows relative errors against the prediction and each input, and names the worst samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support import pictures

from smp._output.drawing import draw
from smp.microbench.calibration.residuals import EDGE, SPIKES, residual_figure

Array = NDArray[np.float64]


def samples(names: tuple[str, ...], count: int, seed: int) -> tuple[dict[str, Array], Array, Array]:
    """Return inputs, measured times, and predicted times, from which the measured ones differ by at most 5%."""
    rng = np.random.default_rng(seed)
    inputs = {name: rng.permutation(np.geomspace(1e2, 1e5, count)) for name in names}
    predicted = 1e-6 + 1e-9 * inputs[names[0]]
    return inputs, predicted * rng.uniform(0.95, 1.05, count), predicted


@pytest.mark.parametrize("names", [("n",), ("n", "m"), ("n", "m", "blocks"), tuple("abcdef"), tuple("abcdefgh")])
def test_there_is_a_panel_for_the_prediction_and_for_each_input(names: tuple[str, ...]) -> None:
    fitted, apart = samples(names, 30, 0), samples(names, 20, 1)
    figure = residual_figure("residuals", "sort", *fitted, verification=apart)
    pictures.check(figure)
    assert [panel.x.label for panel in figure.panels] == ["predicted time", *names]
    assert figure.panels[0].x.unit == "s"
    for label, (inputs, measured, predicted) in (("fitted", fitted), ("verification", apart)):
        for panel, expected in zip(figure.panels, (predicted, *inputs.values()), strict=True):
            found = pictures.series(panel, label)
            assert found.x == expected.tolist()
            assert found.y == pytest.approx(100 * (measured - predicted) / measured)
    assert len({(one.marker, one.colour) for one in figure.panels[0].series}) == 2


def test_rows_of_panels_do_not_overlap() -> None:
    drawn = draw(residual_figure("residuals", "sort", *samples(tuple("abcdefgh"), 30, 0)))
    drawn.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in drawn.axes]
    assert len(boxes) == 9
    for row in range(2):
        for column in range(3):
            assert boxes[3 * row + column].y0 > boxes[3 * row + 3 + column].y1


def test_there_are_lines_at_zero_and_at_10_percent() -> None:
    figure = residual_figure("residuals", "sort", *samples(("n",), 30, 0))
    for panel, axes in zip(figure.panels, draw(figure).axes, strict=True):
        assert sorted((mark.value, mark.axis) for mark in panel.marks) == [(-10, "y"), (0, "y"), (10, "y")]
        low, high = axes.get_ylim()
        assert low < -10
        assert high == -low


def test_mean_errors_are_those_of_the_samples() -> None:
    inputs = {"n": np.array([100.0, 200.0])}
    apart = (inputs, [1.0, 2.0], [1.0, 2.0])
    figure = residual_figure("residuals", "f", inputs, [1.0, 1.0], [1.2, 1.4], verification=apart)
    # sqrt(1.2 * 1.4) - 1 = 29.6%
    assert "mean relative error 29.6% of 2 fitted samples, 0.0% of 2 verification samples" in figure.reading


def test_the_worst_samples_are_numbered_in_every_panel_and_named_below() -> None:
    inputs, measured, predicted = samples(("n", "m"), 30, 0)
    measured[7], measured[11] = 1.5 * predicted[7], predicted[11] / 3.0
    apart = samples(("n", "m"), 20, 1)
    apart[1][4] = 1.2 * apart[2][4]
    figure = residual_figure("residuals", "sort", inputs, measured, predicted, verification=apart)
    drawn = pictures.check(figure)
    # 1: -200%, shown at the edge; 2: 33%; 3: 17%, of the verification.
    for axes, name in zip(drawn.axes, (None, "n", "m"), strict=True):
        x = [(predicted if name is None else inputs[name])[i] for i in (11, 7)]
        x.append(apart[2][4] if name is None else apart[0][name][4])
        notes = {note.get_text(): note.xy for note in axes.texts}
        for number, at in zip("123", zip(x, [-EDGE, 100 / 3, 100 / 6], strict=True), strict=True):
            assert notes.pop(number) == pytest.approx(at)
        assert not notes
    named = figure.remarks.split("    ")
    assert [text.split(" (")[1].split(", ")[1] for text in named] == ["-200%)", "+33%)", "+17%)"]
    assert named[0].startswith(f"1: n = {inputs['n'][11]:,.0f}, m = ")
    assert "residuals beyond 50% are shown at the edge" in figure.reading


def test_only_the_few_worst_samples_are_named_and_none_within_10_percent() -> None:
    inputs, measured, predicted = samples(("n",), 30, 0)
    assert residual_figure("residuals", "sort", inputs, measured, predicted).remarks == ""
    measured[:10] = predicted[:10] * np.linspace(1.3, 1.4, 10)
    figure = residual_figure("residuals", "sort", inputs, measured, predicted)
    (found,) = figure.panels[1].series
    named = {note: x for note, x in zip(found.notes, found.x, strict=True) if note}
    assert [named[str(k)] for k in range(1, len(named) + 1)] == inputs["n"][9 : 9 - SPIKES : -1].tolist()


def test_only_inputs_with_a_wide_range_have_a_logarithmic_axis() -> None:
    count = 12
    inputs = {"n": np.geomspace(1.0, 1e4, count), "blocks": np.arange(1.0, 13.0), "offset": np.arange(count) * 100.0}
    predicted = np.linspace(1.0, 2.0, count)
    figure = residual_figure("residuals", "sort", inputs, predicted, predicted)
    assert [panel.x.scale for panel in figure.panels] == ["linear", "log", "linear", "linear"]


def test_without_verification_there_are_no_marks_for_it() -> None:
    fitted = samples(("n",), 30, 0)
    empty: tuple[dict[str, Array], Array, Array] = ({"n": np.empty(0)}, np.empty(0), np.empty(0))
    for verification in (None, empty):
        figure = residual_figure("residuals", "sort", *fitted, verification=verification)
        assert [one.name for panel in figure.panels for one in panel.series] == ["fitted", "fitted"]


def test_samples_that_were_left_out_of_the_fit_have_a_series_of_their_own() -> None:
    inputs = {"n": np.array([1.0, 2.0])}
    slow = {"n": np.array([3.0])}, np.array([9.0]), np.array([3.0])
    figure = residual_figure("residuals", "f", inputs, [1.0, 2.0], [1.0, 2.0], left_out=slow)
    assert [series.name for series in figure.panels[0].series] == ["fitted", "left out"]
    assert "66.7% of 1 left out samples" in figure.reading
