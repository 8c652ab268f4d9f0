"""The figure of extra rows: what they cost in computation, and what they save in communication.

The best number of rows is where the difference is largest.  In the source, whose programs have no barrier between
communication and computation, it is where the two lines meet.

Source: Brewer, Portable High-Performance Supercomputing, figure 5-2.
"""

from __future__ import annotations

from collections.abc import Mapping

from smp._output.figure import GREY, Axis, Figure, Mark, Panel, Series

from .extra_rows import Charges, amounts, best_extra
from .layouts import Shape, rectangles

MOST = 20
"""Most extra rows that are drawn."""


def extra_figure(machines: Mapping[str, Charges], shape: Shape, p: int) -> Figure:
    """Describe the figure: a panel for each machine, by the extra rows of the outermost square blocks.

    Parameters
    ----------
    machines : mapping of name to Charges
        In seconds, as `smp.kernels.grids.extra_choice.charges_of` finds them.
    shape : (int, int)
    p : int
    """
    extra = range(min(MOST, (shape[0] - 2) // 2) + 1)
    counts = [amounts(shape, rectangles(shape, p, extra_rows=rows)) for rows in extra]
    panels = []
    for k, (name, charges) in enumerate(machines.items()):
        cost = [charges.cell * (cells - counts[0][0]) for cells, _ in counts]
        saved = [charges.element * (counts[0][1] - exchanged) for _, exchanged in counts]
        lines = [
            Series("saved in communication" if k == 0 else "", list(extra), saved, colour=0, marker=0),
            Series("more computation" if k == 0 else "", list(extra), cost, colour=1, marker=1),
        ]
        best = best_extra(shape, p, charges)[0]
        mark = Mark(float(best), text="best number" if k == 0 else "", colour=GREY, dash="dashed")
        x = Axis("extra rows of the outermost blocks")
        panels.append(Panel(x, Axis("time of an iteration", "s"), lines, name, [mark]))
    return Figure(
        "extra-rows",
        f"What extra rows save and cost, on a grid of {shape[0]} x {shape[1]} with {p} processors",
        "One more row at the border makes the blocks in the middle, and their edges, smaller.",
        panels,
        columns=min(len(panels), 2),
        legend_at="below",
    )
