"""Figures of sorting: measured times against both predictions (after figure 3 of the SMP paper), and all times with
NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel, Series
from smp.microbench.output.curves import Samples, column, nth, select
from smp.microbench.output.format import by_streams, few

from ..programs.plots import BARS, TIME, every_time, measured, per_element, timed
from .report import FORM_TITLES, title_of
from .rows import Sorting, SortRun

KEYS = Axis("keys", scale="log")
FORMS: dict[str, dict[str, Any]] = {"numpy": {"colour": BLACK}, "fast": {"colour": GREY, "dash": "dashed"}}
ENDS = {"good": "the good end", "bad": "the bad end (the larger of bad and random)"}


def figures(found: Sorting, samples: Samples = None) -> Iterator[Figure]:
    """Describe the predictions where there are some, and all times."""
    placed = [row for row in found.rows if row.good_s is not None]
    if placed:
        yield predictions(placed)
    if found.rows or found.forms:
        yield times(found, samples)


def predictions(rows: list[SortRun]) -> Figure:
    """Return measured times and the good or the bad prediction, a row for each p."""
    panels = []
    for p in few(sorted({row.p for row in rows})):
        for end, title in ENDS.items():
            series = []
            for k, name in enumerate(dict.fromkeys(row.algorithm for row in rows)):
                mine = select(rows, "n", algorithm=name, p=p)
                n, seconds = column(mine, "n"), column(mine, f"{end}_s")
                if end == "bad":
                    seconds = np.fmax(seconds, column(mine, "random_s"))
                series.append(Series(title_of(name), n, measured(mine), **nth(k)))
                series.append(Series("", n, per_element(mine, seconds), colour=k, dash="dashed"))
            series.append(Series("predicted", (), (), colour=GREY, dash="dashed"))  # for the legend
            panels.append(Panel(KEYS, TIME, series, f"{title}, p = {p}"))
    return Figure(
        "sorting-predicted",
        "Sorting between the best and the worst that the machine could make of it",
        "supersteps with their computation: measured, and predicted from accesses (after figure 3 of the SMP paper)",
        panels,
        columns=2,
        share_x="all",
        share_y="all",
    )


def times(found: Sorting, samples: Samples) -> Figure:
    """Return ns an element by n for every sort and p, NumPy's and the fast form, with bars where samples are kept."""
    lines = []
    for name, look in FORMS.items():
        mine = select(found.forms, "n", form=name)
        if mine:
            streams = mine[-1].streams
            label = FORM_TITLES[name] + (f", {by_streams(streams)}" if name == "fast" else "")
            lines.append(timed(label, mine, samples, name, streams or 1, marker=0, bold=True, **look))
    lines += every_time(found.rows, title_of, samples)
    return Figure(
        "sorting-time",
        "Sorting: below the black line, faster than NumPy on one CPU",
        f"random keys of 32 bits, median of the repeats{BARS if samples is not None else ''}",
        [Panel(KEYS, TIME, lines)],
    )
