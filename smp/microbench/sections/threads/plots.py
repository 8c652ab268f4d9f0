"""Plot of starting and remapping streams (after tables 1 to 3 of the MTA evaluation)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, GREY, Data, canvas, column, valid
from smp.microbench.output.format import number, percent

from .report import EVENTS, PARTS


def threads(profile: Data) -> Figure | None:
    """Draw the events as bars, and the parts of a remapping under its whole; None where it was not measured."""
    data = profile.get("threads") or {}
    if not data.get("rows"):
        return None
    found = data["accounting"]
    figure, ((upper,), (lower,)) = canvas(
        f"Starting and remapping: the parts explain {percent(found['explained'])}% of a remapping",
        "median; whiskers: minimum and 95th percentile, cut at the edge; hollow: not valid "
        "(after tables 1 to 3 of the MTA evaluation)",
        rows=2,
        right=0.95,
    )
    for one, bottom in ((upper, 0.52), (lower, 0.085)):  # the names are long
        one.set_position((0.32, bottom, 0.63, 0.34))
    rows = sorted(data["rows"], key=lambda row: list(EVENTS).index(row["what"]))
    us = column(rows, "ns") / 1e3
    for k, (row, good) in enumerate(zip(rows, valid(rows), strict=True)):
        upper.barh(k, us[k], color=COLOURS[0] if good else "none", edgecolor=COLOURS[0])
        low, high = row["minimum_ns"] / 1e3, row["p95_ns"] / 1e3
        upper.plot([low, high], [k, k], "|-", color="black", linewidth=1)
    names = [f"{EVENTS[row['what']].strip()}:\n{number(each)} us" for row, each in zip(rows, us, strict=True)]
    upper.set_yticks(np.arange(len(rows)), names)
    upper.set_xlim(0, 1.3 * us.max())
    upper.invert_yaxis()
    upper.set_xlabel("from the call until the thread runs (us)")
    start = 0.0
    parts = sorted(data["parts"], key=lambda row: list(PARTS).index(row["what"]))
    names = [PARTS[row["what"]] for row in parts] + ["not explained", "remapping in all"]
    total = found["total_ns"] / 1e3
    times = [row["ns"] / 1e3 for row in parts] + [total - found["explained_ns"] / 1e3]
    for k, each in enumerate(times):
        colour = GREY if k == len(parts) else COLOURS[k % len(COLOURS)]
        lower.barh(k, each, left=start, color=colour)
        lower.text(
            max(start, start + each), k, f" {number(each)} us, {percent(each / total)}%", fontsize=9, va="center"
        )
        start += each
    lower.barh(len(times), total, color=COLOURS[0])
    lower.text(total, len(times), f" {number(total)} us", fontsize=9, va="center")
    lower.set_yticks(np.arange(len(names)), names)
    lower.set_xlim(0, 1.25 * max(total, start, *np.cumsum(times)))
    lower.invert_yaxis()
    lower.set_xlabel(f"time of a remapping after {data['looks']} looks and a trap, on one CPU, part by part (us)")
    return figure
