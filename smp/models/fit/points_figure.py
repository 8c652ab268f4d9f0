"""The figure of a model: its measured points against their predictions."""

from __future__ import annotations

import numpy as np

from smp._output.figure import BLACK, Axis, Figure, Panel, Series

from .._types import BoolArray, FloatArray
from .linear import mean_relative_error


def model_figure(
    name: str,
    formula: str,
    predicted: FloatArray,
    seconds: FloatArray,
    verification: BoolArray,
    left_out: BoolArray,
) -> Figure:
    """Describe the figure.

    Parameters
    ----------
    name, formula : str
        Of the model.
    predicted, seconds : ndarray (n,)
        Predicted and measured times of the points.
    verification : ndarray (n,) bool
        True for points that were kept apart from the fit.
    left_out : ndarray (n,) bool
        True for points that were left out of the fit because they were slow.
    """
    ends = [predicted.min(), predicted.max()]
    series = [Series("measured = predicted", ends, ends, colour=BLACK, dash="dashed")]
    kinds = (
        (~verification & ~left_out, "fitted", 0),
        (verification, "not fitted", 1),
        (left_out, "left out as slow", 2),
    )
    for which, what, marker in kinds:
        if which.any():
            error = mean_relative_error(np.abs(predicted[which] / seconds[which] - 1))
            label = f"{which.sum()} points {what}, MRE {error:.1%}"
            series.append(Series(label, predicted[which], seconds[which], "points", colour=marker, marker=marker))
    axes = Axis("predicted time", "s", "log"), Axis("measured time", "s", "log")
    title = f"{name}: measured and predicted times"
    return Figure(f"model-{name}", title, formula, [Panel(*axes, series)], legend_at="upper left")
