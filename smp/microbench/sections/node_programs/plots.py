"""Figure of programs on a machine of MPI: each in its interval from good to bad."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import Figure
from smp._output.numbers import count
from smp.microbench.output.curves import Samples, column

from ..programs.intervals import READING, bars, how_many_inside, remark, side_by_side
from ..programs.plots import TIME, measured
from .rows import NodePrograms


def figures(found: NodePrograms, samples: Samples = None) -> Iterator[Figure]:
    """Describe the programs in their intervals, if there are predictions."""
    placed = [row for row in found.rows if row.good_s is not None]
    if not placed:
        return
    panels = []
    for n in dict.fromkeys(row.n for row in placed):
        mine = [row for row in placed if row.n == n]
        took = measured(mine) * n * 1e-9
        panels.append(bars(mine, [row.program for row in mine], took, column(mine, "n"), f"n = {count(n)}"))
    yield Figure(
        "node-programs-interval",
        f"Programs on nodes: {how_many_inside(placed)} runs lie in their intervals",
        READING,
        side_by_side(panels, TIME),
        legend_at="below",
        remarks=remark(placed),
    )
