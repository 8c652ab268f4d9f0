"""Puts numbers along axes: plain ones at 1, 2 and 5, powers of ten, sizes in bytes, and times in a suitable unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import (
    AutoLocator,
    EngFormatter,
    FixedLocator,
    Formatter,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullLocator,
)

from .figure import Axis, Cells
from .numbers import size

ROOM = 12
"""Approximate count of numbers that have room along an axis as long as the picture."""
LARGE, SMALL = 1e6, 1e-4
"""A logarithmic axis that reaches up to LARGE or down to SMALL has powers of ten."""
CLOSE: tuple[tuple[float, ...], ...] = ((1, 2, 3, 5), (1, 2, 5), (1, 3))
"""Positions of numbers in a decade that has room for more than its power."""
WIDE = 60
"""Most letters, of all names together, that have room next to each other along the x axis."""


def named(about: Axis | Cells) -> str:
    """Return the name of an axis, with its unit unless the numbers show theirs."""
    return f"{about.label} ({about.unit})" if about.unit not in ("", "s") else about.label


def put_numbers(axes: Axes, which: str, about: Axis, room: float = ROOM, whole: bool = False) -> None:
    """Set the scale, the ends and the numbers of an axis.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    which : {"x", "y"}
    about : Axis
    room : float
        Approximate count of numbers that have room.
    whole : bool
        True if only whole numbers are meaningful.
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    if about.scale != "linear":
        options: dict[str, Any] = {"linthresh": 1} if about.scale == "symlog" else {}
        (axes.set_xscale if which == "x" else axes.set_yscale)(about.scale, **options)
    if about.low is not None or about.high is not None:
        (axes.set_xlim if which == "x" else axes.set_ylim)(about.low, about.high)
    if about.names:
        slanted = which == "x" and len("".join(about.names)) > WIDE * room / ROOM
        turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        axis.set_ticks(
            list(range(len(about.names))), about.names, fontsize=10 if len(about.names) < 40 else 8, **turned
        )
        return
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    ticks = np.asarray(about.ticks, np.float64).tolist()
    if about.scale != "linear":
        axis.set_minor_locator(NullLocator())
    if ticks or about.scale == "log":
        axis.set_major_locator(FixedLocator(ticks) if ticks else _log_places(about.unit, low, high, room))
    elif about.scale == "linear":
        axis.set_major_locator(MaxNLocator(max(3, int(room)), integer=True) if whole else AutoLocator())
    if about.scale != "linear" or about.unit in ("bytes", "s"):
        axis.set_major_formatter(_format(about.unit, low, high))


def _log_places(unit: str, low: float, high: float, room: float) -> Locator:
    """Return the positions of numbers on a logarithmic axis, as close as there is room."""
    if unit == "bytes":
        base = next(base for base in (2, 4, 8, 64) if base == 64 or math.log(high / low, base) < room)
        return LogLocator(base, numticks=40)
    decades = math.log10(high / low)
    if decades < 0.5:
        return MaxNLocator(5)
    most = 4 if decades < 1.3 else 1 if _has_powers(low, high) else 3  # in a decade
    close = (steps for steps in CLOSE if len(steps) <= most and len(steps) * decades <= room)
    return LogLocator(10, next(close, (1,)))


def _has_powers(low: float, high: float) -> bool:
    return high >= LARGE or 0 < low <= SMALL


def _format(unit: str, low: float, high: float) -> Formatter:
    if unit == "bytes":
        return FuncFormatter(lambda value, _: size(value))
    if unit == "s":
        return EngFormatter("s")
    return FuncFormatter(_power if _has_powers(low, high) else lambda value, _: f"{value:,.6g}")


def _power(value: float, _: Any) -> str:
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(value) + 1e-9)
    times = f"{value / 10.0**exponent:.3g}"
    return f"$10^{{{exponent}}}$" if times == "1" else rf"${times}\times10^{{{exponent}}}$"
