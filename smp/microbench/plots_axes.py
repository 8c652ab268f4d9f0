"""What all plots share: the size of the picture, titles, axes in bytes and plain numbers, colours.

Figures are made by themselves, not through pyplot: no window system, and nothing kept between plots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from .report_format import size

Data = Mapping[str, Any]
Rows = Sequence[Data]

INCHES, DPI = (12.0, 8.0), 100
"""1200 x 800 pixels."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Told apart by all eyes (Okabe and Ito)."""
GREY = "#777777"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def canvas(
    title: str,
    subtitle: str = "",
    rows: int = 1,
    columns: int = 1,
    right: float = 0.97,
    top: float = 0.86,
    bottom: float = 0.085,
    gap: float = 0.12,
    **shared: Any,
) -> tuple[Figure, NDArray[Any]]:
    """Return a figure and its axes.

    Parameters
    ----------
    title : str
        What to see.
    subtitle : str
        How to read it, smaller below the title.
    rows, columns : int
    right, top, bottom : float
        Where the axes end, as fractions of the figure; legends have the place beyond.
    gap : float
        Between columns, as a fraction of their width.
    **shared
        ``sharex`` and ``sharey`` of the axes.

    Returns
    -------
    Figure
    ndarray of Axes, shape (rows, columns)
    """
    figure = Figure(figsize=INCHES, dpi=DPI)
    figure.text(0.075, 0.955, title, fontsize=15, weight="bold")
    figure.text(0.075, 0.922, subtitle, fontsize=10.5, color="#444444")
    place = {"left": 0.075, "right": right, "top": top, "bottom": bottom, "wspace": gap, "hspace": 0.2}
    axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw=place, **shared)
    for one in axes.flat:
        one.grid(color="#dddddd", linewidth=0.7)
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


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
