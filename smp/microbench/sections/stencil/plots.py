"""Figures of red-black relaxation: runs in their intervals, and the time of an iteration next to a copy of the grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel
from smp.microbench.output.curves import Samples, column, curve, nth, reasons, select
from smp.microbench.output.format import by_streams, few

from ..programs.intervals import READING, bars, how_many_inside, remark, side_by_side
from ..programs.plots import UNSTEADY, fastest
from .report import FORM_TITLES, title_of
from .rows import GridRun, Stencil

ITERATION = Axis("time per cell and iteration", "ns", "log")
FORMS: dict[str, dict[str, Any]] = {
    "blocked": {"colour": GREY, "marker": 4, "dash": "dashed"},
    "one by one": {"colour": GREY, "marker": 5},
    "copy": {"colour": BLACK, "marker": 6},
}


def figures(found: Stencil, samples: Samples = None) -> Iterator[Figure]:
    """Describe the runs in their intervals, if there are predictions, and the times of an iteration."""
    placed = [row for row in found.rows if row.good_s is not None]
    if placed:
        yield intervals(placed)
    if found.rows and found.forms:
        yield times(found)


def intervals(rows: list[GridRun]) -> Figure:
    """Return a figure of the runs of each layout and grid between good and bad, with a panel for each p."""
    processors, sides = few(sorted({row.p for row in rows})), few(sorted({row.rows for row in rows}))
    rows = [row for row in rows if row.p in processors and row.rows in sides]
    panels = []
    for p in processors:
        mine = sorted(select(rows, "rows", p=p), key=lambda row: (row.layout, row.blocks))
        names = [f"{title_of(row.layout, row.blocks)}, {row.rows:,}" for row in mine]
        work = column(mine, "rows") * column(mine, "columns") * column(mine, "iterations")
        panels.append(bars(mine, names, column(mine, "measured_s"), work, f"p = {p}"))
    return Figure(
        "stencil-interval",
        f"Red-black relaxation: {how_many_inside(rows)} runs lie in their intervals",
        f"{READING}; by layout and rows of the grid",
        side_by_side(panels, ITERATION),
        legend_at="below",
        remarks=remark(rows),
    )


def times(found: Stencil) -> Figure:
    """Return a figure of ns a cell and iteration by the side of the grid, with a panel for each p."""
    names = list(dict.fromkeys(row.layout for row in select(found.rows, "rows")))
    x = Axis("rows and columns of the grid", scale="log", ticks=sorted({row.rows for row in found.rows}))
    panels = []
    for p in few(sorted({row.p for row in found.rows})):
        lines = [
            curve(FORM_TITLES[name], select(found.forms, "rows", form=name), "rows", "ns_per_cell", bold=True, **look)
            for name, look in FORMS.items()
        ]
        for layout, blocks in dict.fromkeys((row.layout, row.blocks) for row in select(found.rows, "rows", p=p)):
            mine = select(found.rows, "rows", p=p, layout=layout, blocks=blocks)
            lines.append(curve(layout, mine, "rows", "ns_per_cell", **nth(names.index(layout))))
        panels.append(Panel(x, ITERATION, lines, f"p = {p}"))
    return Figure(
        "stencil-time",
        _title(found),
        "square grids of float64, median; without the copies before and after all iterations; "
        f"copy and fast form: {by_streams(select(found.forms, 'rows')[0].streams)}",
        panels,
        share_x="all",
        share_y="all",
        remarks=UNSTEADY * any(reasons([*found.rows, *found.forms])),
    )


def _title(found: Stencil) -> str:
    largest = max(found.rows, key=lambda row: row.rows)
    same = [row for row in found.rows if row.rows == largest.rows]
    layouts = {f"{title_of(row.layout, row.blocks)}, p = {row.p}": row for row in same}
    copy = next((form for form in found.forms if (form.rows, form.form) == (largest.rows, "copy")), None)
    best = fastest("layout", layouts, "ns_per_cell", copy, "a copy")
    return f"Relaxing {largest.rows:,} x {largest.columns:,}: {best}"
