"""Figure of red-black relaxation: time a cell and iteration by layout and grid, next to a copy of the grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel
from smp.microbench.output.curves import Samples, curve, nth, select
from smp.microbench.output.format import by_streams, few

from .report import FORM_TITLES
from .rows import Stencil

FORMS: dict[str, dict[str, Any]] = {
    "blocked": {"colour": GREY, "dash": "dashed"},
    "one by one": {"colour": GREY},
    "copy": {"colour": BLACK},
}


def figures(found: Stencil, samples: Samples = None) -> Iterator[Figure]:
    """Describe ns a cell and iteration by the side of the grid, a panel for each p."""
    if not found.rows or not found.forms:
        return
    names = list(dict.fromkeys(row.layout for row in select(found.rows, "rows")))
    x = Axis("rows, and columns, of the grid", scale="log", ticks=sorted({row.rows for row in found.rows}))
    panels = []
    for p in few(sorted({row.p for row in found.rows})):
        lines = [
            curve(FORM_TITLES[name], select(found.forms, "rows", form=name), "rows", "ns_per_cell", bold=True, **look)
            for name, look in FORMS.items()
        ]
        for layout, blocks in dict.fromkeys((row.layout, row.blocks) for row in select(found.rows, "rows", p=p)):
            mine = select(found.rows, "rows", p=p, layout=layout, blocks=blocks)
            lines.append(curve(layout, mine, "rows", "ns_per_cell", **nth(names.index(layout))))
        panels.append(Panel(x, Axis("time per cell and iteration", "ns", "log"), lines, f"p = {p}"))
    yield Figure(
        "stencil-time",
        "Red-black relaxation: what an iteration takes, next to a copy of the grid",
        "square grids of float64, median; without the copies before and after all iterations; "
        f"copy and fast form: {by_streams(select(found.forms, 'rows')[0].streams)}",
        panels,
        share_x="all",
        share_y="all",
    )
