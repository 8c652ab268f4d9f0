"""Draws the contents of panels with Matplotlib: series, heat maps, lines across the panel, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from numpy.typing import ArrayLike

from .figure import PALETTE, Axis, Cells, Mark, Series
from .ticks import named, put_numbers

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SHADES = colormaps["viridis_r"]
SMALL, MIDDLE, LARGE = 4.5, 6.0, 11.0
"""Sizes of markers, in points."""
MOST_NUMBERS, LARGE_NUMBERS = 500, 100
"""A heat map with more filled cells than MOST_NUMBERS shows no numbers. One with more cells than LARGE_NUMBERS shows
them in small letters."""


def draw_series(axes: Axes, one: Series, size: float) -> None:
    """Draw a series, with markers of the given size."""
    if one.kind == "bar":
        _draw_bars(axes, one)
    elif one.kind == "band":
        axes.fill_between(one.x, one.low, one.high, color=_colour(one), alpha=0.25, linewidth=0, label=one.name or None)
    else:
        _draw_points(axes, one, size)


def _draw_points(axes: Axes, one: Series, size: float) -> None:
    """Draw a line or points, their spread, and a ring around each point that is not valid."""
    colour, points = _colour(one), one.kind == "points"
    size = LARGE if one.bold and points else SMALL if np.size(one.low) and points else size
    axes.plot(
        *(one.x, one.y),
        label=one.name or None,
        color=colour,
        linestyle="none" if points else one.dash,
        linewidth=2.5 if one.bold else 1.5,
        marker=MARKERS[one.marker or 0] if points or one.marker is not None else "",
        markersize=size,
        markerfacecolor="white" if one.hollow else colour,
        zorder=2.0 if not points else 1.5 if one.bold else 2.5,
    )
    if np.size(one.low) and one.spread == "bars":
        axes.vlines(one.x, one.low, one.high, color=colour, linewidth=1.2, alpha=0.7)
    elif np.size(one.low):
        axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.18, linewidth=0)
    _draw_rings(axes, one, one.x, size + 5)


def _draw_rings(axes: Axes, one: Series, x: ArrayLike, size: float) -> None:
    """Draw a ring around each point, or the end of each bar, that is not valid; ``x`` has their positions."""
    bad = np.array([bool(why) for why in one.invalid])
    if bad.any():
        axes.plot(
            np.asarray(x)[bad],
            np.asarray(one.y)[bad],
            "o",
            markersize=size,
            markerfacecolor="none",
            markeredgecolor="#cc0000",
            zorder=5,
        )


def _draw_bars(axes: Axes, one: Series) -> None:
    """Draw bars along x with whiskers. Bars that are not valid are hollow, with a ring at the end."""
    axes.grid(False, axis="y")
    colour = _colour(one)
    fill = ["none" if why else colour for why in one.invalid] or colour
    start = one.start if np.size(one.start) else None
    axes.barh(one.y, one.x, 0.7, left=start, color=fill, edgecolor=colour, label=one.name or None)
    if np.size(one.low):
        axes.hlines(one.y, one.low, one.high, color="black", linewidth=1)
        for end in (one.low, one.high):
            axes.plot(end, one.y, "|", color="black")
    _draw_rings(axes, one, np.add(one.x, one.start) if start is not None else one.x, MIDDLE + 5)


def mark_cuts(axes: Axes, series: Iterable[Series]) -> None:
    """Draw an arrowhead at the end of an axis for each whisker that extends beyond it."""
    for one in series:
        bars = one.kind == "bar"
        if not np.size(one.low) or not (bars or one.spread == "bars"):
            continue
        first, last = sorted(axes.get_xlim() if bars else axes.get_ylim())
        along, heads = np.asarray(one.y if bars else one.x), "<>" if bars else "v^"
        cut = (np.asarray(one.low) < first, np.asarray(one.high) > last)
        for end, beyond, head in zip((first, last), cut, heads, strict=True):
            for at in along[beyond]:
                colour = "black" if bars else _colour(one)
                (drawn,) = axes.plot(
                    *((end, at) if bars else (at, end)), head, color=colour, markersize=8, clip_on=False
                )
                drawn.set_in_layout(False)  # half of it stands outside


def draw_cells(axes: Axes, cells: Cells) -> None:
    """Draw a heat map, with its numbers if there are not too many."""
    axes.grid(False)
    values = np.ma.masked_invalid(cells.values)
    if cells.named:
        colours, norm = ListedColormap(PALETTE), Normalize(-0.5, len(PALETTE) - 0.5)
        look: dict[str, Any] = {"cmap": colours, "norm": norm, "shading": "nearest"}
        axes.pcolormesh(cells.x, cells.y, values % len(PALETTE), rasterized=True, **look)
        return
    values = np.ma.masked_less_equal(values, 0)
    if not values.count():
        return
    drawn = axes.pcolormesh(cells.x, cells.y, values, cmap=SHADES, norm=LogNorm(), shading="nearest")
    bar = axes.figure.colorbar(drawn, ax=axes, pad=0.015, label=named(cells))
    put_numbers(bar.ax, "y", Axis(scale="log"))
    if values.count() > MOST_NUMBERS:
        return
    middle = float(np.exp(np.log(values).mean()))
    for i, j in np.argwhere(~np.ma.getmaskarray(values)):
        value = values[i, j]
        axes.text(
            *(np.asarray(cells.x)[j], np.asarray(cells.y)[i], f"{value:.1f}" if value < 99.95 else f"{value:.0f}"),
            ha="center",
            va="center",
            fontsize=7.5 if values.size > LARGE_NUMBERS else 10,
            color="white" if value > middle else "black",
        )


def draw_marks(axes: Axes, marks: Sequence[Mark]) -> None:
    """Draw lines across a panel, named in the legend or above it. Names above the panel do not move the axis's ends."""
    groups = {mark.group: PALETTE[mark.colour] for mark in marks if mark.group}
    low, high = axes.get_xlim()
    about: dict[str, Any] = {"va": "bottom", "fontsize": 9.5, "transform": axes.get_xaxis_transform()}
    heights = {group: 1.015 + 0.035 * k for k, group in enumerate(groups)}
    for group, colour in groups.items():
        axes.text(low, heights[group], group, color=colour, **about)
    for mark in marks:
        colour = PALETTE[mark.colour]
        if mark.to is not None:
            (axes.axvspan if mark.axis == "x" else axes.axhspan)(
                mark.value, mark.to, color=colour, alpha=0.25, linewidth=0, zorder=0.5, label=mark.text or None
            )
        elif not mark.group or mark.value <= high:
            (axes.axvline if mark.axis == "x" else axes.axhline)(
                mark.value,
                color=colour,
                linestyle=mark.dash,
                linewidth=1.2,
                zorder=1,
                label=None if mark.group else mark.text or None,
            )
        if mark.group:
            inside = mark.value <= high
            x, text = (mark.value, mark.text) if inside else (high, f"{mark.text} >")
            axes.text(x, heights[mark.group], text, ha="center" if inside else "right", color=colour, **about)


def write_notes(axes: Axes, series: Iterable[Series]) -> None:
    """Write the notes next to points, on the side that has room, and next to the ends of bars."""
    for one in series:
        for k, note in ((k, note) for k, note in enumerate(one.notes) if note):
            x, y = np.asarray(one.x)[k], np.asarray(one.y)[k]
            if one.kind == "bar":
                start = np.asarray(one.start)[k] if np.size(one.start) else 0.0
                aside = 4 + LARGE / 2 * bool(one.invalid and one.invalid[k])  # leave room for the ring
                end = max(start, start + x)
                axes.annotate(note, (end, y), (aside, 0), textcoords="offset points", va="center", size=9)
                continue
            place = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[0]
            side, align = (1, "left") if place < 0.5 else (-1, "right")
            axes.annotate(note, (x, y), (7 * side, 5), textcoords="offset points", ha=align, size=9)


def _colour(one: Series) -> Any:
    return PALETTE[one.colour % len(PALETTE)] if one.shade is None else SHADES(0.05 + 0.95 * one.shade)
