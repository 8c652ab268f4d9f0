"""Descriptions of figures as plain data, which fix their titles, units, numbers and invalid points.

    Figure ── Panel ── Axis x, y
                 ├──── Series   lines, points, bars, bands
                 ├──── Mark     a straight line across the panel, with its text
                 └──── Cells    a heat map

`drawing` draws a description and decides how it looks.  Colours and markers are indices in a palette.  Numbers can be
given as any array, and are kept as plain lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777"),
    *("#f0e442", "#332288", "#882255", "#b2df8a", "#8c564b", "#aa4499", "#ddcc77", "#117733"),
)
"""Colours, the first seven of which colour-blind readers can distinguish too (Okabe and Ito). They repeat after the
last."""
BLACK, GREY = 6, 7
"""Indices in the palette; the colours before them are for series."""
FURTHER = range(8, 16)
"""Indices of further colours in the palette, for areas; lines in these colours look too much like others."""
COLOURS, MARKERS = 6, 7
"""Numbers of series that can be distinguished by colour, and by marker."""
Dash = Literal["solid", "dashed", "dashdot", "dotted"]
Sharing = Literal["all", "row", "col", "none"]


class _Plain:
    """A description that keeps its numbers as lists, whatever kind of array they were given as."""

    def __post_init__(self) -> None:
        for name in ("x", "y", "low", "high", "start", "values"):
            if hasattr(self, name):
                object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64).tolist())


@dataclass(frozen=True)
class Axis:
    """Label, unit, scale and ticks of an axis."""

    label: str = ""
    unit: str = ""  # numbers of "bytes" and "s" are shown in the unit that suits their size
    scale: Literal["linear", "log", "symlog"] = "linear"  # symlog: linear from 0 to 1, logarithmic beyond
    low: float | None = None  # the ends, if the numbers do not decide them
    high: float | None = None
    ticks: Sequence[float] = ()  # positions of the numbers, if they are not left to `drawing`
    names: Sequence[str] = ()  # names of the positions 0, 1, 2, ..., if these are not shown as numbers


@dataclass(frozen=True)
class Series(_Plain):
    """Points that belong together. Sequences that are not empty have the same length, with NaN for missing points.

    A bar lies at y. It begins at its start, or at 0, and its length is x. A band has no y.
    """

    name: str  # in the legend; empty for a series that is not in it
    x: ArrayLike
    y: ArrayLike = ()
    kind: Literal["line", "points", "bar", "band"] = "line"
    low: ArrayLike = ()  # the spread of each point
    high: ArrayLike = ()
    spread: Literal["band", "bars"] = "band"  # how the spread is shown
    start: ArrayLike = ()
    invalid: Sequence[str] = ()  # why each point is not valid; empty for one that is
    notes: Sequence[str] = ()  # the text next to each point
    colour: int = 0
    marker: int | None = None  # for a line: the marker at each point, if there is one
    shade: float | None = None  # 0 to 1, light to dark: the colour of a series that is one of an ordered set
    dash: Dash = "solid"
    bold: bool = False  # True for the series with which the others are compared
    hollow: bool = False  # True if markers are not filled


@dataclass(frozen=True)
class Mark:
    """A straight line across a panel at a value of one axis, or the area between two values."""

    value: float
    to: float | None = None
    text: str = ""  # in the legend, or above the panel if there is a group
    axis: Literal["x", "y"] = "x"
    group: str = ""  # a group's texts share a line above the panel, which begins with the group's name
    colour: int = BLACK
    dash: Dash = "solid"


@dataclass(frozen=True)
class Cells(_Plain):
    """A heat map, with a row of values for each y, a value for each x, and NaN for an empty cell.

    Values are above zero, drawn darker the larger they are, and printed. If ``named`` is set, each value is a colour
    index instead, and the cell has the colour of the series with this index.
    """

    x: ArrayLike  # the middles of the cells
    y: ArrayLike
    values: ArrayLike
    label: str = ""
    unit: str = ""
    named: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes, with the series, marks and cells that are drawn there."""

    x: Axis
    y: Axis
    series: Sequence[Series] = ()
    title: str = ""
    marks: Sequence[Mark] = ()
    cells: Cells | None = None


@dataclass(frozen=True)
class Figure:
    """Panels that are arranged row by row, with one legend."""

    id: str  # the name of its file
    title: str  # what the figure shows
    reading: str  # how to read it
    panels: Sequence[Panel]
    columns: int = 0  # number of panels in a row; 0 puts all panels in one row
    share_x: Sharing = "none"  # which panels share the same axis
    share_y: Sharing = "none"
    legend: str = ""  # title of the legend
    legend_at: Literal["right", "below", "upper left", "lower right", "best"] = "right"  # of all, or in the first panel
    remarks: str = ""  # the text below the panels
