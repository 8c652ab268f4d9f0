"""Numbers of grid relaxation that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import count
from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select

from ..programs.figures import Timed, judged

if TYPE_CHECKING:
    from .rows import OnGrid, Stencil


def compared(found: Stencil, samples: Samples) -> Iterator[Figure]:
    """Yield the time per cell of each form and each layout."""
    return judged(_timed(found, samples))


def _timed(found: Stencil, samples: Samples) -> Iterator[Timed]:
    for form in found.forms:
        seconds = select(samples, "stencil", "seconds", **_sides(form), layout=form.form)
        yield Figure(f"{form.form}, {_grid(form)}", "ns/cell", form.ns_per_cell), form.streams or 1, seconds
    for run in found.rows:
        key = {"p": run.p, "layout": run.layout, "blocks": run.blocks}
        seconds = select(samples, "stencil", "seconds", **_sides(run), **key)
        what = f"{run.layout} {run.blocks}, {_grid(run)}, p = {run.p}"
        yield Figure(what, "ns/cell", run.ns_per_cell), run.p, seconds


def _sides(row: OnGrid) -> dict[str, int]:
    return {"rows": row.rows, "columns": row.columns}


def _grid(row: OnGrid) -> str:
    return f"{count(row.rows)} x {count(row.columns)}"
