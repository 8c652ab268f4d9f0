"""What all plots share: see `canvas`; axes in bytes and plain numbers, legends, columns of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from smp._output.canvas import COLOURS, DPI, GREY, INCHES, MARKERS, canvas

from .format import size

__all__ = [
    "COLOURS",
    "DPI",
    "GREY",
    "INCHES",
    "MARKERS",
    "canvas",
    "column",
    "legend",
    "log_bytes",
    "log_plain",
    "log_powers",
    "unsettled",
    "valid",
    "whole_numbers",
]

Data = Mapping[str, Any]
Rows = Sequence[Data]


def log_plain(axis: Axis, steps: tuple[float, ...] = (1, 2, 5)) -> None:
    """Make an axis logarithmic, with plain numbers on it."""
    _log(axis, 10)
    axis.set_major_locator(LogLocator(10, subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))


def log_powers(axis: Axis) -> None:
    """Make an axis logarithmic, with powers of ten on it, a label a decade."""
    _log(axis, 10)
    axis.set_major_locator(LogLocator(10))


def log_bytes(axis: Axis, base: int) -> None:
    """Make an axis logarithmic, in bytes; ticks at the powers of ``base``."""
    _log(axis, 2)
    axis.set_major_locator(LogLocator(base, numticks=40))
    axis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))


def whole_numbers(axis: Axis) -> None:
    """Put ticks at whole numbers."""
    axis.set_major_locator(MaxNLocator(integer=True))


def legend(axes: Axes, title: str = "", **options: Any) -> None:
    """Put a legend beside the axes, on the right."""
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0,
        frameon=False,
        title=title,
        alignment="left",
        **options,
    )


def column(rows: Rows, name: str) -> NDArray[np.float64]:
    """Return one number of each row; NaN where it is missing."""
    found = (row.get(name) for row in rows)
    return np.array([math.nan if value is None else value for value in found], np.float64)


def valid(rows: Rows) -> NDArray[np.bool_]:
    """Return which rows are valid."""
    return np.array([row.get("valid") is not False for row in rows], np.bool_)


def unsettled(axes: Axes, x: NDArray[Any], y: NDArray[Any], rows: Rows) -> None:
    """Ring the points that are not valid; nothing is drawn where all are."""
    bad = ~valid(rows)
    if bad.any():
        axes.plot(x[bad], y[bad], "o", markersize=9, markerfacecolor="none", markeredgecolor="#cc0000", zorder=5)


def _log(axis: Axis, base: int) -> None:
    axes = axis.axes
    (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log", base=base)
    axis.set_minor_locator(NullLocator())
