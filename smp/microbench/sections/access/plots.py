"""Figures of the cost functions, after figures 1 and 2 of the SMP paper: measured points, predicted lines.

Times are shown over h, where the paper shows them as they are: so an error of a fifth is seen at every size, and
not at the largest alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import BLACK, Axis, Figure, Panel, Series
from smp.microbench.output.curves import Samples, column, select
from smp.models.supersteps.cost import predict
from smp.profiles.access import Access, Pattern

FAMILIES = ("good", "bad", "random")
"""The families by their numbers in the samples."""
KINDS = ("like-gather", "like-scatter", "vary")
FUNCTIONS = {"good": ("H", "HM", "HrHw", "HrHwM-c"), "bad": ("H", "HM", "HrHw", "HrHwM")}
LOOKS: dict[str, dict[str, Any]] = {
    "H": {"dash": "dotted", "colour": 1},
    "HM": {"dash": "dashdot", "colour": 4},
    "HrHw": {"dash": "dashed", "colour": 2},
    "HrHwM": {"colour": 0},
}
SUITES = {"good": 2, "bad": 1, "vary": 3}
"""What the paper shows: of gather and scatter a suite that the functions were not fitted on; of vary, suite 3."""
SHARE = 5 / 8
"""x over p in the paper's figure 1."""
WORDS, TIME = Axis("h", "words", "log"), "time of a superstep over h"


def figures(found: Access, samples: Samples = None) -> Iterator[Figure]:
    """Describe every function, and h against the best, of the largest p that has functions and patterns."""
    fitted = {row.p for row in found.functions}
    p = max((row.p for row in found.patterns if row.p in fitted), default=0)
    if p:
        yield every_function(found, p, samples)
    rows = [row for row in _of(found, "bad", p, 1) if row.kind == "like-gather" or row.x == p]
    if p > 1 and rows:  # one processor has one x, and its M says nothing new
        yield h_against_best(found, p, rows)


def predicted(found: Access, family: str, p: int, name: str, rows: Sequence[Pattern]) -> NDArray[np.float64]:
    """Return the seconds that a cost function charges for patterns.

    Each is charged by the function of the set (R0, R1) that it is in, else by the one for all; NaN without one.
    """
    tiers = [math.inf if tier.words is None else tier.words for tier in found.tiers]
    of_set = {row.set: row for row in found.functions if (row.family, row.p, row.name) == (family, p, name)}
    hr, hw, m = (column(rows, count) for count in ("hr", "hw", "m"))
    edge = found.private_words or math.inf
    small = np.maximum(hr, hw) <= edge
    seconds = np.full(len(rows), np.nan)
    for label, chosen in (("all", small | True), ("R0", small), ("R1", ~small)):
        if label in of_set and (label == "all" or edge < math.inf):
            seconds = np.where(chosen, predict(of_set[label].model_dump(), hr, hw, m, tiers), seconds)
    return seconds


def every_function(found: Access, p: int, samples: Samples) -> Figure:
    """Return measured and predicted times of patterns by h, for every function (figure 1), and the samples' spread."""
    shown = [kind for kind in KINDS if any(_patterns(found, family, p, kind)[0] for family in FUNCTIONS)]
    panels = []
    for family, functions in FUNCTIONS.items():
        places = []
        for kind in shown:
            rows, suite = _patterns(found, family, p, kind)
            spread = _spread(found, samples, rows) if samples is not None and rows else {}
            series = [_measured("measured", rows, colour=BLACK, **spread)]
            series += [_predicted(found, p, name, rows, LOOKS[name.removesuffix("-c")], name) for name in functions]
            title = f"{family.title()}, {kind}{f', x = {rows[0].x}' if rows else ''}, suite {suite}"
            places.append((title, series))
        y = _from_zero(one for _, series in places for one in series)
        panels += [Panel(WORDS, y, series, title) for title, series in places]
    bars = ", with 5th to 95th percentile" if samples is not None else ""
    return Figure(
        "access-functions",
        "Cost functions: the nearer the line runs to the points, the better its function predicts",
        f"p = {p}; points: measured{bars}; lines: predicted (after figure 1 of the SMP paper)",
        panels,
        columns=len(shown),
        share_x="all",
        share_y="row",
    )


def h_against_best(found: Access, p: int, rows: Sequence[Pattern]) -> Figure:
    """Return like-gather times of the Bad family by h and x, predicted by H and by HrHwM (figure 2)."""
    by_name: dict[str, list[Series]] = {"H": [], "HrHwM": []}
    for name, series in by_name.items():
        for k, x in enumerate(sorted({row.x for row in rows})):
            mine = select(rows, "h", x=x)
            series += [_measured(f"x = {x}", mine, colour=k), _predicted(found, p, name, mine, {"colour": k})]
    y = _from_zero(one for series in by_name.values() for one in series)
    return Figure(
        "access-h",
        "H charges every x alike; HrHwM follows the writes and the total",
        f"Bad, like-gather: x of {p} processors read h words, all write h x / {p}; lines: predicted (after figure 2)",
        [Panel(WORDS, y, series, f"predicted by {name}") for name, series in by_name.items()],
        share_x="all",
        share_y="all",
    )


def _of(found: Access, family: str, p: int, suite: int) -> list[Pattern]:
    return [row for row in found.patterns if (row.family, row.p, row.suite) == (family, p, suite)]


def _patterns(found: Access, family: str, p: int, kind: str) -> tuple[list[Pattern], int]:
    """The patterns of one panel, by h, and their suite."""
    suite = SUITES["vary" if kind == "vary" else family]
    rows = [row for row in _of(found, family, p, suite) if row.kind == kind]
    x = min({row.x for row in rows}, key=lambda x: abs(x - SHARE * p), default=0)
    return select(rows, "h", x=x), suite


def _measured(name: str, rows: Sequence[Pattern], **look: Any) -> Series:
    h = column(rows, "h")
    return Series(name, h, column(rows, "seconds") / h * 1e9, "points", **look)


def _predicted(
    found: Access, p: int, name: str, rows: Sequence[Pattern], look: dict[str, Any], label: str = ""
) -> Series:
    h = column(rows, "h")
    seconds = predicted(found, rows[0].family, p, name, rows) if rows else h
    return Series(label, h, seconds / h * 1e9, **look)


def _from_zero(series: Iterator[Series]) -> Axis:
    """Return a y axis that begins at zero and holds all points and lines; a bar may go beyond."""
    highest = np.nanmax(np.concatenate([np.asarray(one.y) for one in series]), initial=1e-3)
    return Axis(TIME, "ns per word", low=0, high=1.1 * float(highest))


def _spread(found: Access, samples: NDArray[Any], rows: Sequence[Pattern]) -> dict[str, Any]:
    """Return how far the clean supersteps of each pattern spread: 5th to 95th percentile."""
    ends = []
    for row in rows:
        of_suite = _of(found, row.family, row.p, row.suite)
        index = next(i for i, other in enumerate(of_suite) if other is row)
        mine = samples[
            (samples["family"] == FAMILIES.index(row.family))
            & (samples["p"] == row.p)
            & (samples["suite"] == row.suite)
            & (samples["pattern"] == index)
        ]
        clean = mine[mine["clean"]] if mine["clean"].any() else mine
        ns = clean["copy_in_ns"] + clean["copy_out_ns"]
        ends.append(np.percentile(ns, [5, 95]) / row.h if ns.size else [np.nan, np.nan])
    low, high = np.transpose(ends)
    return {"low": low, "high": high, "spread": "bars"}
