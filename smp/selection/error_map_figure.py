"""The figure of a calibrated library's errors: where predictions are wrong, and where that makes choices wrong.

The first panel has a point for each choice, in the colour of the implementation that is predicted to be the fastest.
So the predicted regions show, and wrong choices should lie only at their boundaries.  The other panels have the errors
of each implementation's predictions.

Source: Brewer, Portable High-Performance Supercomputing, figure 4-8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._output.figure import BLACK, Axis, Figure, Panel, Series
from ..errors import ModelError
from ..models.fit.inputs import Input
from ..models.fit.model import Model
from .library import Library
from .sampled import SampledChoice, said_of, sampled_choices, sampled_errors, shared_inputs

BOUNDS = (0.0, 0.02, 0.05, 0.1, 0.2, math.inf)
"""Bounds of the classes of errors."""
APART = 3
"""Marker of points that were not fitted, a diamond."""
CROSS = 6
MOST_NOTES = 6
"""Most wrong choices whose loss is written next to them, the worst first."""


def plot_errors(library: Library) -> Any:
    """Draw how wrong the models of a library are at the measured points, and which choices are wrong there.

    Parameters
    ----------
    library : Library
        A library that was calibrated in this process. Models that are kept for later programs have no measured points.

    Returns
    -------
    matplotlib.figure.Figure
        Notebooks show it; ``savefig`` writes it to a file.

    Raises
    ------
    ModelError
        If the models have no measured points.
    """
    figure = errors_figure(library.name, library.models) if library.models else None
    if figure is None:
        raise ModelError(f"the library {library.name} has no measured points to draw: calibrate it first")
    from .._output.drawing import draw  # imported late, like Matplotlib

    return draw(figure)


def errors_figure(name: str, models: Mapping[str, Model]) -> Figure | None:
    """Describe the errors at the measured points over two inputs; None if no model has its samples.

    The inputs are the first one, and of the others the one that was measured at the most values.  If there is no other
    one, the implementations take its place.
    """
    found = sampled_errors(models)
    if not found:
        return None
    first, second = _plane(shared_inputs(models), models)
    choices = sampled_choices(models) if len(models) > 1 else []
    numbers = {key: float(k) for k, key in enumerate(models)}
    x = _axis(first)
    y = Axis(low=-0.5, high=len(models) - 0.5, names=list(models)) if second is None else _axis(second)
    panels = [_choices_panel(x, y, choices, numbers, _places(first, second, models))] if choices else []
    together: list[Series] = []
    for key, errors in found.items():
        up = np.full(len(errors.errors), numbers[key]) if second is None else errors.inputs[second.name]
        series = list(_classes(errors.inputs[first.name], up, errors.errors, errors.apart))
        if second is None:
            together += series
        else:
            panels.append(Panel(x, y, series, f"error of {key}"))
    if second is None:
        panels.append(Panel(x, y, _named_once(together), "errors"))
    rows = 1 if len(panels) < 3 else 2
    return Figure(
        f"errors-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}",
        f"{name}: where are the predictions wrong, and the choices?",
        f"{said_of(choices)} Errors are shares of the measured time; diamonds were not fitted.".lstrip(),
        panels,
        columns=math.ceil(len(panels) / rows),
        share_x="all",
        share_y="all" if second is not None else "none",
        legend_at="below",
    )


def _plane(shared: Sequence[Input], models: Mapping[str, Model]) -> tuple[Input, Input | None]:
    taken = next(model.samples for model in models.values() if model.samples is not None)
    others = sorted(shared[1:], key=lambda given: -len(np.unique(taken.inputs[given.name])))
    return shared[0], others[0] if others else None


def _axis(given: Input) -> Axis:
    return Axis(given.name, scale="linear" if given.spacing == "linear" or given.low <= 0 else "log")


def _places(first: Input, second: Input | None, models: Mapping[str, Model]) -> list[int]:
    names = [given.name for given in shared_inputs(models)]
    return [names.index(given.name) for given in (first, second) if given is not None]


def _choices_panel(
    x: Axis, y: Axis, choices: Sequence[SampledChoice], numbers: Mapping[str, float], places: Sequence[int]
) -> Panel:
    def points(some: Sequence[SampledChoice]) -> tuple[list[float], list[float]]:
        up = [one.at[places[1]] if len(places) > 1 else numbers[one.chosen] for one in some]
        return [one.at[places[0]] for one in some], up

    series = [
        Series(name, *points([one for one in choices if one.chosen == name]), "points", colour=round(k))
        for name, k in numbers.items()
    ]
    wrong = sorted((one for one in choices if not one.right), key=lambda one: -one.loss)
    notes = [f"{one.loss:.0%}" if k < MOST_NOTES else "" for k, one in enumerate(wrong)]
    series.append(Series("wrong choice", *points(wrong), "points", notes=notes, colour=BLACK, marker=CROSS))
    return Panel(x, y, [one for one in series if np.size(one.x)], "predicted to be the fastest")


def _classes(
    x: NDArray[np.float64], y: NDArray[np.float64], errors: NDArray[np.float64], apart: NDArray[np.bool_]
) -> list[Series]:
    """Return a series for each class of errors; those not fitted have another marker, and are not in the legend."""
    made = []
    for k, (low, high) in enumerate(pairwise(BOUNDS)):
        name = f"error over {low:.0%}" if math.isinf(high) else f"error {low:.0%} to {high:.0%}"
        for own, marker in ((~apart, 0), (apart, APART)):
            here = own & (errors >= low) & (errors < high)
            shade = k / (len(BOUNDS) - 2)
            made.append(Series("" if marker else name, x[here], y[here], "points", shade=shade, marker=marker))
    return [one for one in made if one.name or np.size(one.x)]


def _named_once(series: Sequence[Series]) -> list[Series]:
    """Join the series of the same class and marker."""
    joined: dict[tuple[float | None, int | None], Series] = {}
    for one in series:
        key = one.shade, one.marker
        before = joined.get(key)
        x, y = ([], []) if before is None else (list(np.asarray(before.x)), list(np.asarray(before.y)))
        joined[key] = Series(
            *(one.name, [*x, *np.asarray(one.x)], [*y, *np.asarray(one.y)], "points"),
            shade=one.shade,
            marker=one.marker,
        )
    return list(joined.values())
