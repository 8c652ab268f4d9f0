"""The figures of grid relaxation that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import count
from smp.microbench.method.figures import Figure

if TYPE_CHECKING:
    from .rows import OnGrid, Stencil


def compared(found: Stencil) -> Iterator[Figure]:
    """Yield what a cell takes in each form and by each layout."""
    for form in found.forms:
        yield Figure(f"{form.form}, {_grid(form)}", "ns/cell", form.ns_per_cell)
    for run in found.rows:
        yield Figure(f"{run.layout} {run.blocks}, {_grid(run)}, p = {run.p}", "ns/cell", run.ns_per_cell)


def _grid(row: OnGrid) -> str:
    return f"{count(row.rows)} x {count(row.columns)}"
