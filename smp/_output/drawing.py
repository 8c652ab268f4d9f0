"""Draws figures from their descriptions with Matplotlib, which only this module, `shapes` and `ticks` import.

Pictures are made without pyplot, so they need no window system, and nothing is kept between them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any
from urllib.parse import quote

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Matplotlib
from matplotlib.figure import SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from .figure import Figure, Panel
from .shapes import MIDDLE, SMALL, draw_cells, draw_marks, draw_series, mark_cuts, write_notes
from .ticks import ROOM, named, put_numbers

INCHES, DPI = (12.0, 8.0), 100
"""1200 x 800 pixels."""
LETTERS = 165
"""Most letters in a line of remarks."""
LEFT = 0.02
"""Margin to the left of lines of text, and to their right, as a fraction of the picture's width."""
MANY_POINTS = 60
"""A panel with more points than this has small markers."""


class Picture(Matplotlib):
    """A figure of Matplotlib that notebooks also show without pyplot."""

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png")
        return drawn.getvalue()


def draw(figure: Figure) -> Picture:
    """Draw a figure as a picture of 1200 x 800 pixels."""
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    picture = Picture(figsize=INCHES, dpi=DPI, layout=layout)
    _write(picture, 0.955, figure.title, 15, weight="bold")
    _write(picture, 0.922, figure.reading, 10.5, color="#444444")
    picture.text(LEFT, 0.015, fill(figure.remarks, LETTERS), fontsize=9, color="#444444")
    foot = 0.06 if figure.remarks else 0.001
    body = picture.subfigures(3, 1, squeeze=False, height_ratios=(0.09, 0.91 - foot, foot))[1, 0]
    columns = figure.columns or len(figure.panels)
    rows = -(-len(figure.panels) // columns)
    grid = body.subplots(rows, columns, squeeze=False, sharex=figure.share_x, sharey=figure.share_y)
    for axes, panel in zip(grid.flat, figure.panels, strict=False):
        _draw_panel(axes, panel)
    for axes in grid.flat[len(figure.panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(grid.flat, figure.panels, strict=False):  # only now: panels may share the ends of axes
        whole = all(np.equal(np.mod(one.x, 1), 0).all() for one in panel.series)
        put_numbers(axes, "x", panel.x, ROOM / columns, whole)
        put_numbers(axes, "y", panel.y, 1.2 * ROOM / rows)
        if any(one.kind == "bar" for one in panel.series):
            axes.set_ylim(len(panel.y.names) - 0.4, -0.6)  # the first bar on top
        mark_cuts(axes, panel.series)
        draw_marks(axes, panel.marks)
        write_notes(axes, panel.series)
    _name_axes(body, grid, figure)
    _draw_legend(body, grid, figure)
    layout.execute(picture)
    picture.set_layout_engine(None)  # with it, each drawing would arrange the picture again
    return picture


def save(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Draw figures, and save them as PNG files of 1200 x 800 pixels, named by their ids.

    Parameters
    ----------
    figures : iterable of Figure
    folder : Path
        Folder of the files. It is made if it is missing, and files of the same names are replaced.

    Returns
    -------
    list of Path
        Paths of the files that were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        written.append(folder / f"{quote(figure.id, safe='')}.png")
        draw(figure).savefig(written[-1])
    return written


def _write(picture: Picture, height: float, text: str, size: float, **look: Any) -> None:
    """Write a line above the panels, in smaller letters if it has no room."""
    line = picture.text(LEFT, height, text, fontsize=size, **look)
    room = (1 - 2 * LEFT) * INCHES[0] * DPI
    if (width := line.get_window_extent().width) > room:
        line.set_fontsize(0.97 * size * room / width)  # the width of letters does not follow their size exactly


def _draw_panel(axes: Axes, panel: Panel) -> None:
    axes.grid(color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(panel.title, fontsize=10.5, loc="left")
    if panel.cells:
        draw_cells(axes, panel.cells)
    points = sum(np.size(one.x) for one in panel.series if one.kind == "points" or one.marker is not None)
    for one in panel.series:
        draw_series(axes, one, SMALL if points > MANY_POINTS else MIDDLE)


def _name_axes(body: SubFigure, grid: Any, figure: Figure) -> None:
    """Name the axes. A shared axis is named once, at the left of a row or at the foot of a column."""
    columns = grid.shape[1]
    one_name = figure.share_y == "all" and len(grid) > 1
    if one_name:
        body.supylabel(named(figure.panels[0].y), fontsize=10)
    for k, (axes, panel) in enumerate(zip(grid.flat, figure.panels, strict=False)):
        if figure.share_x not in ("all", "col") or k + columns >= len(figure.panels):
            axes.set_xlabel(named(panel.x))
        if not one_name and (figure.share_y not in ("all", "row") or k % columns == 0):
            axes.set_ylabel(named(panel.y))


def _draw_legend(body: SubFigure, grid: Any, figure: Figure) -> None:
    found: dict[str, Any] = {}
    for axes in grid.flat:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    if not found:
        return
    about: dict[str, Any] = {
        "handles": list(found.values()),
        "labels": list(found),
        "title": figure.legend,
        "alignment": "left",
    }
    if figure.legend_at == "right":
        body.legend(loc="outside right upper", frameon=False, **about)
    elif figure.legend_at == "below":
        body.legend(loc="outside lower center", ncols=min(len(found), 7), frameon=False, **about)
    else:
        grid[0, 0].legend(loc=figure.legend_at, framealpha=1, edgecolor="none", **about)
