"""Figures of sorting: measured times against both predictions (after figure 3 of the SMP paper), and all times next to
NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel, Series
from smp._output.numbers import count
from smp.microbench.output.curves import Samples, column, nth, reasons, select
from smp.microbench.output.format import by_streams, few
from smp.models.supersteps.locality import SMALL
from smp.models.supersteps.published import PAPER_STEPS, PROCESSORS, closest_p

from ..programs.intervals import READING, bad_end, bars, how_many_inside, invalid, remark, side_by_side
from ..programs.plots import BARS, TIME, every_time, fastest, measured, per_element, timed, with_room
from . import paper
from .report import FORM_TITLES, title_of
from .rows import Sorting, SortRun, SortStep

KEYS = Axis("keys", scale="log")
FORMS: dict[str, dict[str, Any]] = {"numpy": {"colour": BLACK}, "fast": {"colour": GREY, "dash": "dashed"}}
ENDS = {"good": "the good end", "bad": "the bad end (the larger of bad and random)"}


def figures(found: Sorting, samples: Samples = None) -> Iterator[Figure]:
    """Describe the predictions and the supersteps, if there are predictions, and all times."""
    placed = [row for row in found.rows if row.good_s is not None]
    if placed:
        yield predictions(placed)
        yield paper.figure()
    steps = [row for row in found.analysis if row.good_s is not None and row.m >= SMALL]
    if steps:
        yield supersteps(steps)
    if found.rows or found.forms:
        yield times(found, samples)


def predictions(rows: list[SortRun]) -> Figure:
    """Return a figure of measured times and the good or the bad prediction, with a row for each p."""
    panels = []
    chosen = few(sorted({row.p for row in rows}))
    rows = [row for row in rows if row.p in chosen]
    for p in chosen:
        for end, title in ENDS.items():
            series = []
            for k, name in enumerate(dict.fromkeys(row.algorithm for row in rows)):
                mine = select(rows, "n", algorithm=name, p=p)
                n, seconds = column(mine, "n"), column(mine, "good_s") if end == "good" else bad_end(mine)
                why = invalid(mine, *(("good",) if end == "good" else ("bad", "random")))
                series.append(Series(title_of(name), n, measured(mine), invalid=reasons(mine), **nth(k)))
                series.append(Series("", n, per_element(mine, seconds), invalid=why, colour=k, dash="dashed"))
            series.append(Series("predicted", (), (), colour=GREY, dash="dashed"))  # for the legend
            panels.append(Panel(KEYS, TIME, series, f"{title}, p = {p}"))
    return Figure(
        "sorting-predicted",
        f"Sorting: {how_many_inside(rows)} runs lie in their intervals",
        f"{READING} (after figure 3 of the SMP paper)",
        panels,
        columns=2,
        share_x="all",
        share_y="all",
        remarks=remark(rows),
    )


def supersteps(rows: list[SortStep]) -> Figure:
    """Return a figure of the supersteps of tables 9 to 11 between good and bad, with a panel for each sort and p."""
    chosen = few(sorted({row.p for row in rows}))
    rows = [row for row in rows if row.p in chosen]
    sorts = list(dict.fromkeys(row.algorithm for row in rows))
    panels = []
    for p in chosen:
        for name in sorts:
            mine = [row for row in rows if (row.algorithm, row.p) == (name, p)]
            labels, n = [row.label for row in mine], column(mine, "n")
            panel = bars(mine, labels, column(mine, "measured_s"), n, f"{title_of(name)}, p = {p}")
            there = [PAPER_STEPS.get(name, {}).get(label) for label in labels]
            locs = np.array([np.nan if step is None else step.at(closest_p(p))[0] for step in there])
            good, end = per_element(mine, column(mine, "good_s")), per_element(mine, bad_end(mine))
            places = good + (1 - locs) * (end - good)
            look: dict[str, Any] = {"colour": 1, "marker": 3, "hollow": True}
            theirs = Series("with the paper's Loc", places, np.arange(len(mine)), "points", **look)
            panels.append(replace(panel, series=[*panel.series, theirs]))
    other = [f"p = {closest_p(p)} for p = {p}" for p in chosen if p not in PROCESSORS]
    return Figure(
        "sorting-supersteps",
        f"Supersteps of the sorts: {how_many_inside(rows)} lie between good and bad",
        f"copy-in and copy-out at the longest length, those with M of {SMALL:,} and more (after tables 9 to 11 of the "
        f"SMP paper{''.join(f'; its {each}' for each in other)})",
        side_by_side(panels, TIME),
        columns=len(sorts),
        legend_at="below",
        remarks=remark(rows),
    )


def times(found: Sorting, samples: Samples) -> Figure:
    """Return a figure of ns an element by n for every sort and p, NumPy, and the fast form.

    It has bars for the spread of the repeats if samples were kept.
    """
    lines = []
    for name, look in FORMS.items():
        mine = select(found.forms, "n", form=name)
        if mine:
            streams = mine[-1].streams
            label = FORM_TITLES[name] + (f", {by_streams(streams)}" if name == "fast" else "")
            lines.append(timed(label, mine, samples, name, marker=0, bold=True, **look))
    lines += every_time(found.rows, title_of, samples)
    panel, cut = with_room(KEYS, TIME, lines)
    return Figure(
        "sorting-time",
        _title(found),
        f"random keys of 32 bits, median of the repeats{BARS if samples is not None else ''}",
        [panel],
        remarks=cut,
    )


def _title(found: Sorting) -> str:
    longest = max([*(row.n for row in found.rows), *(form.n for form in found.forms)])
    every: dict[str, Any] = {FORM_TITLES[form.form]: form for form in found.forms if form.n == longest}
    alone = every.get(FORM_TITLES["numpy"])
    every |= {f"{title_of(row.algorithm)}, p = {row.p}": row for row in found.rows if row.n == longest}
    return f"Sorting {count(longest)} keys: {fastest('form', every, 'ns_per_element', alone, 'NumPy')}"
