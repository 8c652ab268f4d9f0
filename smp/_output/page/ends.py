"""Computes the ends of the axes of a figure from what its panels hold, as Matplotlib does for its pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Literal

from ..figure import Axis, Figure, Panel, Series, Sharing

Which = Literal["x", "y"]
Ends = tuple[float, float]
MARGIN = 0.05
"""Room between the outermost points and the ends of an axis, as a fraction of its length."""
SCALES: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "linear": (float, float),
    "log": (math.log10, lambda length: 10.0**length),
    "symlog": (
        lambda value: value if value <= 1 else 1 + math.log10(value),
        lambda length: length if length <= 1 else 10.0 ** (length - 1),
    ),
}
"""Functions from a value to a length along the axis, and back."""


def ends_of(figure: Figure) -> list[tuple[Ends, Ends]]:
    """Return the ends of both axes of each panel; panels that share an axis have the same ends."""
    return [
        (_shared(figure, k, "x", figure.share_x), _shared(figure, k, "y", figure.share_y))
        for k in range(len(figure.panels))
    ]


def edges(axis: Axis, middles: Sequence[float]) -> list[float]:
    """Return the edges between the cells of a heat map, and those of the outermost cells."""
    forth, back = SCALES[axis.scale]
    at = [forth(middle) for middle in middles]
    inner = [(a + b) / 2 for a, b in pairwise(at)] or [at[0] + 0.5]
    first, last = 2 * at[0] - inner[0], 2 * at[-1] - inner[-1]
    return [back(length) for length in ([first, *inner, last] if len(at) > 1 else [first, inner[0]])]


def has_bars(panel: Panel) -> bool:
    """Return True if the values of a panel are along x."""
    return any(one.kind == "bar" for one in panel.series)


def _shared(figure: Figure, k: int, which: Which, how: Sharing) -> Ends:
    panels, across = figure.panels, figure.columns or len(figure.panels)
    row, column = divmod(k, across)
    same = {"all": panels, "row": panels[row * across :][:across], "col": panels[column::across], "none": [panels[k]]}
    return _ends(getattr(panels[k], which), list(_of_all(which, same[how])), panels[k])


def _ends(axis: Axis, values: Sequence[float], panel: Panel) -> Ends:
    last = len(axis.names) - 1
    if axis.names and axis.low is None:
        return (last + 0.6, -0.6) if has_bars(panel) else (-0.5, last + 0.5)  # the first bar is on top
    forth, back = SCALES[axis.scale]
    known = [value for value in values if math.isfinite(value) and (axis.scale != "log" or value > 0)] or [1.0, 10.0]
    low, high = forth(min(known)), forth(max(known))
    if low == high:
        low, high = low - (abs(low) / 10 or 0.3), high + (abs(high) / 10 or 0.3)
    room = 0.0 if panel.cells else MARGIN * (high - low)
    beginning = low if has_bars(panel) and min(known) == 0 else low - room  # bars stand on the end of the axis
    return (
        back(beginning) if axis.low is None else axis.low,
        back(high + room) if axis.high is None else axis.high,
    )


def _of_all(which: Which, panels: Sequence[Panel]) -> Iterator[float]:
    """Yield all values along an axis that its ends must enclose."""
    for panel in panels:
        for one in panel.series:
            yield from _of_series(which, one, has_bars(panel))
        if panel.cells:
            yield from edges(getattr(panel, which), getattr(panel.cells, which))
        for mark in panel.marks:
            if mark.axis == which and not mark.group:
                yield from (mark.value, mark.value if mark.to is None else mark.to)


def _of_series(which: Which, series: Series, bars: bool) -> Iterator[float]:
    one: Any = series  # its numbers are lists
    if one.kind == "bar" and which == "x":
        starts = one.start or [0.0] * len(one.x)
        yield from chain(starts, (start + length for start, length in zip(starts, one.x, strict=True)))
    else:
        yield from getattr(one, which)
    if which == ("x" if bars else "y"):
        yield from chain(one.low, one.high)
