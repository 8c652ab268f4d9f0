"""What a figure shows, as plain data: titles, units, numbers and what is not valid are decided once, here.

    Figure ── Panel ── Axis x, y
                 ├──── Series   lines, points, bars, bands
                 ├──── Mark     a straight line across the panel, with its text
                 └──── Cells    a heat map

What draws a description decides how it looks: see `drawing`.  Colours and markers are numbers of a palette.  Numbers
are given as any array, and kept as plain lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

BLACK, GREY = 6, 7
"""Of the palette; the colours before them are for series."""
COLOURS, MARKERS = 6, 7
"""How many series can be distinguished by colour, and by marker."""
Dash = Literal["solid", "dashed", "dashdot", "dotted"]
Sharing = Literal["all", "row", "col", "none"]


class _Plain:
    """Keeps its numbers as lists, whatever they were computed with."""

    def __post_init__(self) -> None:
        for name in ("x", "y", "low", "high", "start", "values"):
            if hasattr(self, name):
                object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64).tolist())


@dataclass(frozen=True)
class Axis:
    """What runs along an axis."""

    label: str = ""
    unit: str = ""  # numbers of "bytes" and "s" are shown in the unit that suits their size
    scale: Literal["linear", "log", "symlog"] = "linear"  # symlog: linear from 0 to 1, logarithmic beyond
    low: float | None = None  # the ends, where the numbers do not decide them
    high: float | None = None
    ticks: Sequence[float] = ()  # where numbers stand, where this is not left to the drawer
    names: Sequence[str] = ()  # of the places 0, 1, 2, ..., where these are no numbers


@dataclass(frozen=True)
class Series(_Plain):
    """Points that belong together; sequences that are not empty are of the same length, with NaN where there is none.

    A bar lies at y and reaches from its start, or 0, by x; a band has no y.
    """

    name: str  # in the legend; empty for a series that is not in it
    x: ArrayLike
    y: ArrayLike = ()
    kind: Literal["line", "points", "bar", "band"] = "line"
    low: ArrayLike = ()  # how far each point spreads
    high: ArrayLike = ()
    spread: Literal["band", "bars"] = "band"  # how that is shown
    start: ArrayLike = ()
    invalid: Sequence[str] = ()  # why each point is not valid; empty for one that is
    notes: Sequence[str] = ()  # what stands next to each point
    colour: int = 0
    marker: int | None = None  # of a line: at each point, if it is given
    shade: float | None = None  # 0 to 1, light to dark: the colour of one of an ordered set
    dash: Dash = "solid"
    bold: bool = False  # what others are compared with
    hollow: bool = False  # markers that are not filled


@dataclass(frozen=True)
class Mark:
    """A straight line across a panel at a value of one axis, or all between two values."""

    value: float
    to: float | None = None
    text: str = ""  # in the legend, or above the panel where there is a group
    axis: Literal["x", "y"] = "x"
    group: str = ""  # what stands before all texts of a line above the panel
    colour: int = BLACK
    dash: Dash = "solid"


@dataclass(frozen=True)
class Cells(_Plain):
    """A heat map: a row of values for each y, a value for each x, NaN for an empty cell.

    Values are above zero, the darker the larger, and printed; named ones are the colours of the series with the names.
    """

    x: ArrayLike  # the middles of the cells
    y: ArrayLike
    values: ArrayLike
    label: str = ""
    unit: str = ""
    named: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes, and what is drawn there."""

    x: Axis
    y: Axis
    series: Sequence[Series] = ()
    title: str = ""
    marks: Sequence[Mark] = ()
    cells: Cells | None = None


@dataclass(frozen=True)
class Figure:
    """Panels, row by row, with one legend."""

    id: str  # the name of its file
    title: str  # what is seen
    reading: str  # how to read it
    panels: Sequence[Panel]
    columns: int = 0  # in a row; 0 puts all in one
    share_x: Sharing = "none"  # which panels have the same axis
    share_y: Sharing = "none"
    legend: str = ""  # what stands above the names
    legend_at: Literal["right", "below", "upper left", "lower right", "best"] = "right"  # of all, or in the first panel
    remarks: str = ""  # below the panels
