"""Plots of streams that wait for cells: woken, after figures 8 and 9 of the MTA evaluation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, MARKERS, Data, Rows, canvas, column, legend, log_plain, unsettled
from smp.microbench.output.format import time

from . import report

PARTS = (("total_ns", "in all"), ("ns", "per stream"))


def waking(profile: Data) -> Figure | None:
    """Draw the time until all go on, in all and per stream, by the initial loop; None where it was not measured."""
    data = profile.get("waking") or {}
    rows = data.get("rows") or []
    if not rows:
        return None
    kinds = [how for how in report.TITLES if any(row["how"] == how for row in rows)]
    figure, axes = canvas(
        "How long it takes until all who wait for a cell go on",
        f"from the fill to the last report, median of the visits; {data['cpus']} CPUs; ringed: not valid "
        "(after figures 8 and 9 of the MTA evaluation)",
        *(len(kinds), 2),
        right=0.85,
        gap=0.18,
        sharex=True,
        sharey="col",
    )
    for line, how in zip(axes, kinds, strict=True):
        mine = [row for row in rows if row["how"] == how]
        draw_parts(line, mine, lambda row: row["initial_ns"], _loop_style(mine))
        line[0].set_ylabel("time (us)")
        line[0].set_title(report.TITLES[how] + "; in all", fontsize=10.5, loc="left")
        line[1].set_title("per stream", fontsize=10.5, loc="left")
    for one in axes[-1]:
        one.set_xlabel("streams that wait")
    legend(axes[0, 1], title="initial loop of\nthe main thread")
    return figure


def _loop_style(rows: Rows) -> Callable[[Any], Mapping[str, Any]]:
    loops = sorted({row["initial_ns"] for row in rows})

    def style(ns: Any) -> Mapping[str, Any]:
        k = loops.index(ns)
        label = "none" if ns == 0 else time(ns / 1e9)
        return {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "label": label}

    return style


def draw_parts(
    panels: Any, rows: Rows, series: Callable[[Data], Hashable], style: Callable[[Any], Mapping[str, Any]]
) -> None:
    """Draw a line for each series by the number of streams, in each of the two panels."""
    for name in dict.fromkeys(series(row) for row in rows):
        mine = sorted((row for row in rows if series(row) == name), key=lambda row: row["streams"])
        streams = column(mine, "streams")
        for one, (what, _) in zip(panels, PARTS, strict=True):
            us = column(mine, what) / 1e3
            one.plot(streams, us, **style(name))
            unsettled(one, streams, us, mine)
    for one in panels:
        log_plain(one.xaxis)
        log_plain(one.yaxis)
