"""The plot of residuals shows relative errors against all they may depend on, and names the worst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.typing import NDArray
from support import pictures

from smp.microbench.calibration.residuals import EDGE, SPIKES, residual_figure

Array = NDArray[np.float64]


def samples(names: tuple[str, ...], count: int, seed: int) -> tuple[dict[str, Array], Array, Array]:
    """Inputs, measured and predicted times; measured within 5% of what is predicted."""
    rng = np.random.default_rng(seed)
    inputs = {name: rng.permutation(np.geomspace(1e2, 1e5, count)) for name in names}
    predicted = 1e-6 + 1e-9 * inputs[names[0]]
    return inputs, predicted * rng.uniform(0.95, 1.05, count), predicted


def shown(figure: Any) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_visible()]


def points(axes: Axes, label: str) -> tuple[Array, Array]:
    (found,) = [line for line in axes.get_lines() if line.get_label() == label]
    x, y = found.get_data()
    return np.asarray(x), np.asarray(y)


@pytest.mark.parametrize("names", [("n",), ("n", "m"), ("n", "m", "blocks"), tuple("abcdef"), tuple("abcdefgh")])
def test_a_panel_for_the_prediction_and_for_each_input(names: tuple[str, ...]) -> None:
    fitted, apart = samples(names, 30, 0), samples(names, 20, 1)
    figure = residual_figure("sort", *fitted, verification=apart)
    pictures.check(figure)
    assert [axes.get_xlabel() for axes in shown(figure)] == ["predicted time (s)", *names]
    for label, (inputs, measured, predicted) in (("fitted", fitted), ("verification", apart)):
        for axes, expected in zip(shown(figure), (predicted, *inputs.values()), strict=True):
            x, y = points(axes, label)
            assert x.tolist() == expected.tolist()
            assert y == pytest.approx(100 * (measured - predicted) / measured)
    markers = {
        line.get_marker() for line in shown(figure)[0].get_lines() if line.get_label() in ("fitted", "verification")
    }
    assert len(markers) == 2


def test_rows_do_not_overlap() -> None:
    figure = residual_figure("sort", *samples(tuple("abcdefgh"), 30, 0))
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in shown(figure)]
    assert len(boxes) == 9
    for row in range(2):
        for column in range(3):
            assert boxes[3 * row + column].y0 > boxes[3 * row + 3 + column].y1


def test_lines_at_zero_and_10_percent() -> None:
    figure = residual_figure("sort", *samples(("n",), 30, 0))
    for axes in shown(figure):
        flat = [line.get_ydata()[0] for line in axes.get_lines() if len(set(line.get_ydata())) == 1]
        assert sorted(flat) == [-10, 0, 10]
        low, high = axes.get_ylim()
        assert low < -10
        assert high == -low


def test_mean_errors_are_those_of_the_samples() -> None:
    inputs = {"n": np.array([100.0, 200.0])}
    figure = residual_figure("f", inputs, [1.0, 1.0], [1.2, 1.4], verification=(inputs, [1.0, 2.0], [1.0, 2.0]))
    # sqrt(1.2 * 1.4) - 1 = 29.6%
    assert "mean relative error 29.6% of 2 fitted samples, 0.0% of 2 verification samples" in figure.texts[1].get_text()


def test_the_worst_are_numbered_in_every_panel_and_named_below() -> None:
    inputs, measured, predicted = samples(("n", "m"), 30, 0)
    measured[7], measured[11] = 1.5 * predicted[7], predicted[11] / 3.0
    apart = samples(("n", "m"), 20, 1)
    apart[1][4] = 1.2 * apart[2][4]
    figure = residual_figure("sort", inputs, measured, predicted, verification=apart)
    # 1: -200%, drawn at the edge; 2: 33%; 3: 17%, of the verification.
    for axes, name in zip(shown(figure), (None, "n", "m"), strict=True):
        x = [(predicted if name is None else inputs[name])[i] for i in (11, 7)]
        x.append(apart[2][4] if name is None else apart[0][name][4])
        assert [note.get_text() for note in axes.texts] == ["1", "2", "3"]
        assert [note.xy for note in axes.texts] == [
            pytest.approx(at) for at in zip(x, [-EDGE, 100 / 3, 100 / 6], strict=True)
        ]
    named = figure.texts[-1].get_text().split("    ")
    assert [text.split(" (")[1].split(", ")[1] for text in named] == ["-200%)", "+33%)", "+17%)"]
    assert named[0].startswith(f"1: n = {inputs['n'][11]:,.0f}, m = ")
    assert "further off than 50% is drawn there" in figure.texts[1].get_text()
    pictures.check(figure)


def test_only_the_worst_few_are_named_and_none_within_10_percent() -> None:
    inputs, measured, predicted = samples(("n",), 30, 0)
    assert residual_figure("sort", inputs, measured, predicted).texts[-1].get_text() == ""
    measured[:10] = predicted[:10] * np.linspace(1.3, 1.4, 10)
    figure = residual_figure("sort", inputs, measured, predicted)
    assert [note.xy[0] for note in shown(figure)[1].texts] == inputs["n"][9 : 9 - SPIKES : -1].tolist()


def test_wide_inputs_are_logarithmic_others_not() -> None:
    count = 12
    inputs = {"n": np.geomspace(1.0, 1e4, count), "blocks": np.arange(1.0, 13.0), "offset": np.arange(count) * 100.0}
    predicted = np.linspace(1.0, 2.0, count)
    figure = residual_figure("sort", inputs, predicted, predicted)
    assert [axes.get_xscale() for axes in shown(figure)] == ["linear", "log", "linear", "linear"]


def test_no_verification_no_marks_for_it() -> None:
    fitted = samples(("n",), 30, 0)
    empty: tuple[dict[str, Array], Array, Array] = ({"n": np.empty(0)}, np.empty(0), np.empty(0))
    for verification in (None, empty):
        figure = residual_figure("sort", *fitted, verification=verification)
        (legend,) = [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]
        assert [text.get_text() for text in legend.get_texts()] == ["fitted"]
