"""Figure of the cost of polling: the slow-down of a bandwidth-bound stream by the number of those who poll."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import GREY, Axis, Figure, Panel, Series
from smp.microbench.output.curves import Samples, column, curve, nth, select

from .report import PLACES, title_of
from .rows import Polling


def figures(found: Polling, samples: Samples = None) -> Iterator[Figure]:
    """Describe the slow-down by pollers, a line for each limit, a panel for each place."""
    limits = sorted({row.limit for row in found.rows if row.pollers}, key=lambda limit: (limit is None, limit or 0))
    panels = []
    for place, where in PLACES.items():
        mine = select(found.rows, "pollers", place=place)
        if not mine:
            continue
        lines = [
            curve(
                title_of(limit),
                [row for row in mine if limit == row.limit or not row.pollers],
                "pollers",
                "slowdown",
                **nth(k),
            )
            for k, limit in enumerate(limits)
        ]
        highest = column(mine, "slowdown").max()
        if place == "beside":
            most = mine[-1].pollers
            lines.append(Series("an equal share\nof the CPU", [0, most], [1, most + 1], colour=GREY, dash="dashed"))
            highest = max(highest, most + 1)
        y = Axis("slow-down", "times", low=0, high=max(2.0, 1.1 * highest))
        panels.append(Panel(Axis("pollers of one empty cell", "streams"), y, lines, f"pollers {where}"))
    yield Figure(
        "polling",
        "Polling one empty cell: what a bandwidth-bound stream pays for it",
        "slow-down of triad on one CPU, median of the visits; ringed: not valid (what the MTA evaluation left undone)",
        panels,
        legend="looks until\na wait traps",
    )
