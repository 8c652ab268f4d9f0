"""The plots of a calibration: which implementation is predicted to be the fastest, and how far the models are off.

choice-LIBRARY       after figures 4-7 and 4-14 of Brewer's thesis
residuals-LIBRARY-IMPLEMENTATION
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from smp.models.fit.inputs import Input
from smp.models.fit.model import Model

from ..output.axes import COLOURS, Data, canvas, log_powers
from .residuals import residual_figure

CELLS = 240
"""Of the map, along each axis."""
DISTINCT = ("listed", "powers")
"""Spacings with no values between those of the grid."""
FloatArray = NDArray[np.float64]


def figures(data: Data) -> Iterator[tuple[str, Figure]]:
    """Make the plots of a calibration's document, one at a time, with their names."""
    for name, library in data["libraries"].items():
        found = {key: Model.from_json(model) for key, model in library["models"].items()}
        if len(found) > 1:
            yield f"choice-{_plain(name)}", choice(name, found)
        for key, model in found.items():
            figure = residuals(model)
            if figure is not None:
                yield f"residuals-{_plain(name)}-{_plain(key)}", figure


def draw(data: Data, folder: Path) -> list[Path]:
    """Draw a calibration, as PNG files of 1200 x 800 pixels; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in figures(data):
        written.append(folder / f"{name}.png")
        figure.savefig(written[-1])
    return written


def choice(name: str, found: Mapping[str, Model]) -> Figure:
    """Draw the predicted times over the first input, and who is the fastest over the first two.

    Parameters
    ----------
    name : str
    found : mapping of implementation to Model
        At least one.  Inputs that not all share are parameters, each at its best value of the grid.

    Returns
    -------
    Figure
    """
    shared = [g for g in next(iter(found.values())).inputs if all(g.name in model.names for model in found.values())]
    first, others = shared[0], shared[1:]
    taken = next(iter(found.values())).samples
    fixed = {given.name: middle(given) if taken is None else median(taken.inputs[given.name]) for given in others}
    colours = dict(zip(found, COLOURS * 2, strict=False))
    told = ", ".join(f"{key} = {value:.3g}" for key, value in fixed.items())
    figure, axes = canvas(
        f"{name}: which implementation, where",
        f"predicted times{f' at {told}' if told else ''}"
        + ("; right: the fastest for the first two inputs" if others else ""),
        1,
        2 if others else 1,
        gap=0.22,
        bottom=0.15,
    )
    x = axis_of(first)
    for key, model in found.items():
        seconds = fastest(model, {first.name: x} | {n: np.full_like(x, v) for n, v in fixed.items()})
        seconds[~np.isfinite(seconds) | (seconds <= 0)] = np.nan
        axes[0, 0].plot(x, seconds / x * 1e9, color=colours[key], linewidth=2)
    log_powers(axes[0, 0].yaxis)
    axes[0, 0].set_ylabel(f"predicted time for each of {first.name} (ns)")
    if others:
        y = axis_of(others[0])
        grid_x, grid_y = np.meshgrid(x, y)
        places = {first.name: grid_x, others[0].name: grid_y}
        places |= {given.name: np.full_like(grid_x, fixed[given.name]) for given in others[1:]}
        times = np.stack([fastest(model, places) for model in found.values()])
        winner = np.where(np.isfinite(times).any(axis=0), times.argmin(axis=0), -1)
        _draw_map(axes[0, 1], x, y, winner, others[0], ["white", *colours.values()])
    for one in axes[0]:
        one.set_xlabel(first.name)
        if first.spacing != "linear":
            log_powers(one.xaxis)
    figure.legend(
        handles=[Patch(color=colour, label=key) for key, colour in colours.items()],
        loc="lower center",
        ncols=min(len(found), 7),
        frameon=False,
    )
    return figure


def _draw_map(
    axes: Axes, x: FloatArray, y: FloatArray, winner: NDArray[np.int64], given: Input, colours: list[str]
) -> None:
    """Colour each cell of a map by who wins it; -1 is nobody."""
    places = np.arange(len(y)) if given.spacing in DISTINCT else y
    shown = Normalize(-1.5, len(colours) - 1.5)
    axes.pcolormesh(x, places, winner, cmap=ListedColormap(colours), norm=shown, shading="nearest")
    axes.set_ylabel(given.name)
    if given.spacing in DISTINCT:
        axes.set_yticks(places, [f"{value:g}" for value in y])
        axes.grid(False)
    elif given.spacing == "geometric":
        log_powers(axes.yaxis)


def residuals(model: Model) -> Figure | None:
    """Draw how far a model is off at every point; None where its samples were not kept."""
    taken = model.samples
    if taken is None:
        return None
    predicted = model.of(taken.inputs)
    fitted, apart = ~taken.verification, taken.verification

    def part(some: NDArray[np.bool_]) -> dict[str, FloatArray]:
        return {key: values[some] for key, values in taken.inputs.items()}

    return residual_figure(
        model.name,
        part(fitted),
        taken.seconds[fitted],
        predicted[fitted],
        verification=(part(apart), taken.seconds[apart], predicted[apart]),
    )


def fastest(model: Model, inputs: Mapping[str, FloatArray]) -> FloatArray:
    """Predict, with parameters at the best of their grid's values."""
    own = [given for given in model.inputs if given.name not in inputs]
    if not own:
        return model.of(inputs)
    shape = next(iter(inputs.values())).shape
    first = own[0]
    times = [fastest(model, {**inputs, first.name: np.full(shape, v)}) for v in first.grid]
    return np.asarray(np.min(times, axis=0))


def axis_of(given: Input) -> FloatArray:
    """Values along an axis of a map."""
    if given.spacing in DISTINCT:
        return np.array(given.grid)
    spread = np.linspace if given.spacing == "linear" else np.geomspace
    return np.asarray(spread(given.low, given.high, CELLS))


def median(values: FloatArray) -> float:
    """The value in the middle: one of those that were measured."""
    return float(np.sort(values)[len(values) // 2])


def middle(given: Input) -> float:
    """The middle of a range, on its own scale."""
    return given.grid[len(given.grid) // 2]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
