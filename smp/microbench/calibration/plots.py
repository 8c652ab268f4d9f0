"""The figures of a calibration: the implementation that is predicted to be fastest, and the errors of the models.

choice-LIBRARY       after figures 4-7 and 4-14 of Brewer's thesis
errors-LIBRARY       after figure 4-8: errors at the measured points, and wrong choices
parameter-LIBRARY-IMPLEMENTATION    after figures 5-3 and 5-5, for implementations that have a parameter
timings-LIBRARY      after figure 3-6: the histogram of all timings
residuals-LIBRARY-IMPLEMENTATION, and residuals-SUITE-TASK of each model of a suite with a large error
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smp._output.drawing import save
from smp._output.figure import Axis, Cells, Figure, Panel, Series
from smp.models.fit.fitting import TOLERATED
from smp.models.fit.inputs import Input
from smp.models.fit.model import Model
from smp.selection.best_values import parameter_figure
from smp.selection.error_map_figure import errors_figure
from smp.selection.sampled import shared_inputs
from smp.selection.suite import FORMAT as SUITE

from ..output.format import Data
from ..output.timings import timings_figure
from .residuals import residual_figure

CELLS = 240
"""Cells of the map along each axis."""
DISTINCT = ("listed", "powers")
"""Spacings with no values between those of the grid."""
FloatArray = NDArray[np.float64]


def figures(data: Data) -> Iterator[Figure]:
    """Describe the figures of a calibration's document, one at a time."""
    for name, library in data["libraries"].items():
        yield from of_library(name, library)


def of_library(name: str, library: Data) -> Iterator[Figure]:
    """Describe the figures of a library or suite, one at a time."""
    found = {key: Model.from_json(model) for key, model in library["models"].items()}
    suite = library["format"] == SUITE
    if len(found) > 1 and not suite:
        yield choice(name, found)
        if (errors := errors_figure(name, found)) is not None:
            yield errors
    shared = {given.name for given in shared_inputs(found)} if found else set()
    for key, model in found.items():
        own = [given.name for given in model.inputs if given.name not in shared]
        if len(own) == 1 and not suite:
            yield parameter_figure(f"{name}/{key}", model, own[0])
    taken = [model.samples.raw for model in found.values() if model.samples is not None]
    timings = timings_figure(f"timings-{_plain(name)}", name, [point for raw in taken for point in raw], unit="s")
    if timings is not None and not suite:
        yield timings
    for key, model in found.items():
        if suite and model.quality.mre <= TOLERATED:
            continue  # of the many models of a suite, only those that the report recommends to look at
        figure = residuals(f"residuals-{_plain(name)}-{_plain(key)}", model)
        if figure is not None:
            yield figure


def draw(data: Data, folder: Path) -> list[Path]:
    """Draw a calibration as PNG files of 1200 x 800 pixels; return their paths."""
    return save(figures(data), folder)


def choice(name: str, found: Mapping[str, Model]) -> Figure:
    """Describe the predicted times over the first input, and the fastest implementation over the first two inputs.

    Inputs that not all implementations share are parameters, each at the best value of its grid.
    """
    shared = [g for g in next(iter(found.values())).inputs if all(g.name in model.names for model in found.values())]
    first, others = shared[0], shared[1:]
    taken = next(iter(found.values())).samples
    fixed = {given.name: middle(given) if taken is None else median(taken.inputs[given.name]) for given in others}
    x, values = _axis(first), axis_of(first)
    lines = []
    for k, (key, model) in enumerate(found.items()):
        seconds = fastest(model, {first.name: values} | {n: np.full_like(values, v) for n, v in fixed.items()})
        seconds[~np.isfinite(seconds) | (seconds <= 0)] = np.nan
        lines.append(Series(key, values, seconds / values * 1e9, colour=k, bold=True))
    panels = [Panel(x, Axis(f"predicted time over {first.name}", "ns", "log"), lines)]
    if others:
        second, distinct = axis_of(others[0]), others[0].spacing in DISTINCT
        grid_x, grid_y = np.meshgrid(values, second)
        places = {first.name: grid_x, others[0].name: grid_y}
        places |= {given.name: np.full_like(grid_x, fixed[given.name]) for given in others[1:]}
        times = np.stack([fastest(model, places) for model in found.values()])
        winner = np.where(np.isfinite(times).any(axis=0), times.argmin(axis=0), np.nan)
        y = Axis(others[0].name, names=[f"{value:g}" for value in second]) if distinct else _axis(others[0])
        cells = Cells(values, np.arange(len(second)) if distinct else second, winner, named=True)
        panels.append(Panel(x, y, cells=cells))
    at = ", ".join(f"{key} = {value:.3g}" for key, value in fixed.items())
    return Figure(
        f"choice-{_plain(name)}",
        f"{name}: which implementation is the fastest?",
        f"predicted times{f' at {at}' if at else ''}"
        + ("; right: the fastest for the first two inputs" if others else ""),
        panels,
        legend_at="below",
    )


def _axis(given: Input) -> Axis:
    return Axis(given.name, scale="linear" if given.spacing == "linear" else "log")


def residuals(id: str, model: Model) -> Figure | None:
    """Describe the errors of a model at every point; return None if its samples were not kept."""
    taken = model.samples
    if taken is None:
        return None
    predicted = model.of(taken.inputs)
    slow, apart = model.left_out(), taken.verification
    fitted = ~apart & ~slow

    def part(some: NDArray[np.bool_]) -> dict[str, FloatArray]:
        return {key: values[some] for key, values in taken.inputs.items()}

    return residual_figure(
        *(id, model.name),
        part(fitted),
        taken.seconds[fitted],
        predicted[fitted],
        verification=(part(apart), taken.seconds[apart], predicted[apart]),
        left_out=(part(slow), taken.seconds[slow], predicted[slow]),
    )


def fastest(model: Model, inputs: Mapping[str, FloatArray]) -> FloatArray:
    """Return the predicted times, with each parameter at the best value of its grid."""
    own = [given for given in model.inputs if given.name not in inputs]
    if not own:
        return model.of(inputs)
    shape = next(iter(inputs.values())).shape
    first = own[0]
    times = [fastest(model, {**inputs, first.name: np.full(shape, v)}) for v in first.grid]
    return np.asarray(np.min(times, axis=0))


def axis_of(given: Input) -> FloatArray:
    """Return the values along an axis of a map."""
    if given.spacing in DISTINCT:
        return np.array(given.grid)
    spread = np.linspace if given.spacing == "linear" else np.geomspace
    return np.asarray(spread(given.low, given.high, CELLS))


def median(values: FloatArray) -> float:
    """Return the value in the middle, which is one of those that were measured."""
    return float(np.sort(values)[len(values) // 2])


def middle(given: Input) -> float:
    """Return the value in the middle of an input's grid, which is the middle of its range on its own scale."""
    return given.grid[len(given.grid) // 2]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
