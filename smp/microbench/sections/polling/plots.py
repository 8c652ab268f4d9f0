"""Plot of the cost of polling: the slow-down of a bandwidth-bound stream by the number of those who poll."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, GREY, MARKERS, Data, canvas, column, legend, unsettled, whole_numbers

from .report import PLACES, title_of


def slowdown(profile: Data) -> Figure | None:
    """Draw the slow-down by pollers, a line for each limit, a panel for each place; None where not measured."""
    rows = (profile.get("polling") or {}).get("rows") or []
    if not rows:
        return None
    places = [place for place in PLACES if any(row["place"] == place for row in rows)]
    figure, axes = canvas(
        "Polling one empty cell: what a bandwidth-bound stream pays for it",
        "slow-down of triad on one CPU, median of the visits; ringed: not valid (what the MTA evaluation left undone)",
        columns=len(places),
        right=0.83,
        gap=0.2,
    )
    limits = sorted({row["limit"] for row in rows if row["pollers"]}, key=lambda limit: (limit is None, limit))
    for one, place in zip(axes[0], places, strict=True):
        mine = sorted((row for row in rows if row["place"] == place), key=lambda row: row["pollers"])
        for k, limit in enumerate(limits):
            own = [row for row in mine if row["pollers"] == 0 or row["limit"] == limit]
            pollers, slower = column(own, "pollers"), column(own, "slowdown")
            style = {"marker": MARKERS[k % len(MARKERS)], "color": COLOURS[k % len(COLOURS)]}
            one.plot(pollers, slower, **style, label=title_of(limit))
            unsettled(one, pollers, slower, own)
        if place == "beside":
            most = np.array([0.0, max(row["pollers"] for row in mine)])
            one.plot(most, most + 1, "--", color=GREY, label="an equal share\nof the CPU")
        one.set_ylim(bottom=0, top=max(2.0, 1.05 * one.get_ylim()[1]))
        whole_numbers(one.xaxis)
        one.set_title(f"pollers {PLACES[place]}", fontsize=10.5, loc="left")
        one.set_xlabel("pollers of one empty cell (streams)")
        one.set_ylabel("slow-down (times)")
    legend(axes[0, -1], title="looks until\na wait traps")
    return figure
