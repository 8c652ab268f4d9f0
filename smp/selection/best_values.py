"""The figure of an implementation's parameter: predicted times by its value and by size.

Left, the time over the size has a line for each value.  Right, the time over the value may have several minima.  The
values among which a library searches are circled: over these alone, there is only one minimum.

Source: Brewer, Portable High-Performance Supercomputing, figures 5-3 and 5-5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._output.figure import BLACK, Axis, Figure, Panel, Series
from ..errors import ModelError
from ..models.fit.inputs import Input
from ..models.fit.model import Model
from .library import Library

SIZES = 60
"""Number of sizes of a line."""
MOST_VALUES = 64
"""Most values of the right panel, if they are not those that were measured."""
WIDE = 20.0
"""A parameter whose largest value is more than this many times its least is on a logarithmic axis."""
FloatArray = NDArray[np.float64]


def plot_parameter(library: Library, implementation: str, *inputs: float) -> Any:
    """Draw how the predicted time of an implementation depends on its parameter.

    Parameters
    ----------
    library : Library
        A calibrated library.
    implementation : str
        Name of an implementation that has a parameter.
    *inputs : float
        Inputs of the right panel, in order; by default the middles of their ranges.

    Returns
    -------
    matplotlib.figure.Figure
        Notebooks show it; ``savefig`` writes it to a file.

    Raises
    ------
    ModelError
        If the library is not calibrated, or the implementation does not exist or has no parameter.
    """
    known = library.implementations.get(implementation)
    if known is None or known.parameter is None or implementation not in library.models:
        having = [name for name, each in library.implementations.items() if each.parameter and name in library.models]
        raise ModelError(
            f"{library.name} has no model of an implementation {implementation!r} with a parameter: those with one are "
            f"{', '.join(having) or 'none'}"
        )
    model, parameter = library.models[implementation], known.parameter
    place = list(inputs) or [middle(given) for given in model.inputs if given.name != parameter.name]
    bottom, top = parameter.ends(place)
    visited = sorted({parameter.at(step, place) for step in range(bottom, top + 1)})
    from .._output.drawing import draw  # imported late, like Matplotlib

    return draw(parameter_figure(model.name, model, parameter.name, place, visited))


def parameter_figure(
    name: str, model: Model, parameter: str, place: Sequence[float] = (), visited: Sequence[int] = ()
) -> Figure:
    """Describe the figure.

    Parameters
    ----------
    name : str
        Of the implementation.
    model : Model
    parameter : str
        Name of the input that is the parameter.
    place : sequence of float
        Values of the other inputs; by default the middles of their ranges.
    visited : sequence of int
        Values among which the best one is searched for; by default they are not known.
    """
    own = next(given for given in model.inputs if given.name == parameter)
    others = [given for given in model.inputs if given.name != parameter]
    at = dict(zip((given.name for given in others), place or map(middle, others), strict=True))
    size = others[0]
    sizes = np.geomspace(max(size.low, 1e-9), size.high, SIZES) if size.spacing != "linear" else np.array(size.grid)
    fixed = ", ".join(f"{key} = {value:.3g}" for key, value in at.items() if key != size.name)
    lines = [
        Series(
            f"{value:g}", sizes, seconds(model, {**at, size.name: sizes, parameter: value}) / sizes * 1e9, shade=shade
        )
        for value, shade in zip(own.grid, np.linspace(0, 1, len(own.grid)).tolist(), strict=True)
    ]
    x = Axis(size.name, scale="linear" if size.spacing == "linear" else "log")
    left = Panel(x, Axis(f"predicted time over {size.name}", "ns", "log"), lines, fixed and f"at {fixed}")
    return Figure(
        f"parameter-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}",
        f"{name}: which value of {parameter} is the best?",
        f"left: a line for each measured value of {parameter}; right: the time by {parameter}"
        + ("; circled: the values among which the best one is searched for" if visited else ""),
        [left, _right(model, own, {**at}, size, visited)],
        legend=parameter,
    )


def _right(model: Model, own: Input, at: dict[str, float], size: Input, visited: Sequence[int]) -> Panel:
    every = own.whole and own.high - own.low < MOST_VALUES
    values = np.arange(own.low, own.high + 1) if every else np.array(own.grid)
    times = seconds(model, {**at, own.name: values})
    series = [Series("", values, times, marker=0)]
    places = np.array([value for value in visited if own.low <= value <= own.high], np.float64)
    if len(places):
        series.append(Series("searched", places, seconds(model, {**at, own.name: places}), "points", hollow=True,
                             bold=True, colour=BLACK))  # fmt: skip
    lowest = minima(times)
    notes = [f"{own.name} = {value:g}" for value in values[lowest]]
    series.append(Series("minimum", values[lowest], times[lowest], "points", colour=1, marker=3, notes=notes))
    wide = own.low > 0 and own.high > WIDE * own.low and not every
    title = f"at {size.name} = {at[size.name]:,.4g}"
    return Panel(Axis(own.name, scale="log" if wide else "linear"), Axis("predicted time", "s", "log"), series, title)


def minima(times: FloatArray) -> NDArray[np.intp]:
    """Return the places of local minima; of several equal neighbours, the first.

    Examples
    --------
    >>> minima(np.array([3.0, 2.0, 2.0, 4.0, 1.0, np.nan])).tolist()
    [1, 4]
    """
    known = np.where(np.isfinite(times), times, math.inf)
    padded = np.concatenate([[math.inf], known, [math.inf]])
    found = [k for k in range(len(known)) if known[k] < padded[k] and known[k] <= _next(padded, k + 1)]
    return np.array(found, np.intp)


def _next(padded: FloatArray, k: int) -> float:
    """Return the first value after place k that is not equal to the one there."""
    later = padded[k + 1 :]
    other = later[later != padded[k]]
    return float(other[0]) if len(other) else math.inf


def seconds(model: Model, inputs: dict[str, Any]) -> FloatArray:
    """Return predicted seconds, with NaN where there is no prediction above zero."""
    made = np.asarray(model.of(inputs), np.float64)
    return np.where(np.isfinite(made) & (made > 0), made, np.nan)


def middle(given: Input) -> float:
    """Return the value in the middle of an input's grid."""
    return given.grid[len(given.grid) // 2]
