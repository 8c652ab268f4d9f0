"""What plots begin with: the size of the picture, titles, axes, colours.

Figures are made by themselves, not through pyplot: no window system, and nothing kept between plots.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from numpy.typing import NDArray

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
    left: float = 0.075,
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
    right, left, top, bottom : float
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
    place = {"left": left, "right": right, "top": top, "bottom": bottom, "wspace": gap, "hspace": 0.2}
    axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw=place, **shared)
    for one in axes.flat:
        one.grid(color="#dddddd", linewidth=0.7)
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes
