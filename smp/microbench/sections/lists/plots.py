"""Figures of list ranking: the interval of each algorithm (after figure 3 of the SMP paper), and the time of all
(after figure 17 of the MTA evaluation)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel, Series
from smp.microbench.output.curves import Samples, column, select

from ..programs.plots import BARS, TIME, every_time, measured, per_element, timed
from .facts import title_of
from .rows import ListRun, Lists

MOST_ROWS = 3
"""Numbers of processors in one figure of intervals: the largest."""


def figures(found: Lists, samples: Samples = None) -> Iterator[Figure]:
    """Describe the intervals where there are predictions, and all times."""
    placed = [row for row in found.rows if row.good_s is not None]
    if placed:
        yield intervals(placed)
    if found.rows:
        yield times(found, samples)


def intervals(rows: list[ListRun]) -> Figure:
    """Return measured times in their intervals, a panel for each p and algorithm."""
    algorithms = list(dict.fromkeys(row.algorithm for row in rows))
    panels = []
    for p in sorted({row.p for row in rows})[-MOST_ROWS:]:
        for name in algorithms:
            mine = select(rows, "n", algorithm=name, p=p)
            n = column(mine, "n")
            good, bad, random = (per_element(mine, column(mine, f"{end}_s")) for end in ("good", "bad", "random"))
            series = [
                Series("interval", n, kind="band", low=good, high=np.fmax(bad, random), colour=5),
                Series("bad", n, bad, colour=1, dash="dashed"),
                Series("random", n, random, colour=GREY, dash="dotted"),
                Series("good", n, good, colour=2, dash="dashed"),
                Series("measured", n, measured(mine), colour=BLACK, marker=0),
            ]
            panels.append(Panel(Axis("elements", scale="log"), TIME, series, f"{title_of(name)}, p = {p}"))
    return Figure(
        "lists-interval",
        "List ranking between the best and the worst that the machine could make of it",
        "supersteps with their computation: measured, and predicted from accesses (after figure 3 of the SMP paper)",
        panels,
        columns=len(algorithms),
        share_x="all",
        share_y="all",
    )


def times(found: Lists, samples: Samples) -> Figure:
    """Return ns an element by n for every algorithm and p (figure 17), with bars where the samples are kept."""
    lines = []
    if found.serial:
        serial = select(found.serial, "n")
        lines.append(timed("serial", serial, samples, "serial", 1, colour=BLACK, marker=0, bold=True))
    if found.fast:
        fast = select(found.fast, "n")
        lines.append(timed("fast form", fast, None, "fast", 1, colour=GREY, marker=1, dash="dashed", bold=True))
    lines += every_time(found.rows, title_of, samples)
    return Figure(
        "lists-time",
        "List ranking: below the black line, a parallel algorithm beats the serial loop",
        f"random lists, median of the repeats{BARS if samples is not None else ''} "
        "(after figure 17 of the MTA evaluation)",
        [Panel(Axis("elements of the list", scale="log"), TIME, lines)],
    )
