"""Figures of the cost functions, after figures 1 and 2 of the SMP paper: measured points, predicted lines.

Times are divided by h, while the paper shows them as they are. An error of a fifth is then visible at every size,
and not only at the largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import BLACK, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import count, percent
from smp.microbench.output.curves import Samples, column, select
from smp.profiles.access import Access, Pattern

from .fits import alike
from .predicted import by_choice, by_function

FAMILIES = ("good", "bad", "random")
"""Families in the order of their numbers in the samples."""
KINDS = ("like-gather", "like-scatter", "vary")
FUNCTIONS = {"good": ("H", "HM", "HrHw", "HrHwM-c"), "bad": ("H", "HM", "HrHw", "HrHwM")}
LOOKS: dict[str, dict[str, Any]] = {
    "H": {"dash": "dotted", "colour": 1},
    "HM": {"dash": "dashdot", "colour": 4},
    "HrHw": {"dash": "dashed", "colour": 2},
    "HrHwM": {"colour": 0},
}
SUITES = {"good": 2, "bad": 1, "vary": 3}
"""Suites that the paper shows: for gather and scatter one that the functions were not fitted on; for vary, suite 3."""
SHARE = 5 / 8
"""x divided by p in the paper's figure 1."""
CHOSEN = "the chosen form"
WORDS, TIME = Axis("h", "words", "log"), "time of a superstep over h"


def figures(found: Access, samples: Samples = None) -> Iterator[Figure]:
    """Describe the functions and forms of the largest p that has functions and patterns."""
    fitted = {row.p for row in found.functions}
    p = max((row.p for row in found.patterns if row.p in fitted), default=0)
    if p:
        yield every_function(found, p, samples)
    rows = [row for row in _of(found, "bad", p, 1) if row.kind == "like-gather" or row.x == p]
    if p > 1 and rows:  # one processor has only one x, and its M adds nothing new
        yield h_against_chosen(found, p, rows)
    if any(row.p == p for row in found.forms):
        yield errors_of_forms(found, p)
    footprints = by_footprint(found, p)
    if footprints:
        yield footprints


def every_function(found: Access, p: int, samples: Samples) -> Figure:
    """Return the figure of measured times by h with their spread, and of the times by every function (figure 1)."""
    shown = [kind for kind in KINDS if any(_patterns(found, family, p, kind)[0] for family in FUNCTIONS)]
    panels = []
    for family, functions in FUNCTIONS.items():
        places = []
        for kind in shown:
            rows, suite = _patterns(found, family, p, kind)
            spread = _spread(found, samples, rows) if rows and _in_pieces(samples) else {}
            series = [_measured("measured", rows, colour=BLACK, **spread)]
            series += [_predicted(found, name, rows, LOOKS[name.removesuffix("-c")], name) for name in functions]
            series.append(_predicted(found, CHOSEN, rows, {"colour": 3, "bold": True}, CHOSEN))
            title = f"{family.title()}, {kind}{f', x = {rows[0].x}' if rows else ''}, suite {suite}"
            places.append((title, series))
        y = _from_zero(one for _, series in places for one in series)
        panels += [Panel(WORDS, y, series, title) for title, series in places]
    bars = ", with 5th to 95th percentile" if _in_pieces(samples) else ""
    return Figure(
        "access-functions",
        "How close are the cost functions to the measured times?",
        f"p = {p}; points: measured{bars}; lines: predicted (after figure 1 of the SMP paper)",
        panels,
        columns=len(shown),
        share_x="all",
        share_y="row",
    )


def h_against_chosen(found: Access, p: int, rows: Sequence[Pattern]) -> Figure:
    """Return the figure of Bad like-gather times by h and x, predicted by H and by the chosen form (figure 2)."""
    by_name: dict[str, list[Series]] = {"H": [], CHOSEN: []}
    measured, off = column(rows, "seconds"), []
    for name, series in by_name.items():
        off.append(float(np.nanmean(np.abs(_charged(found, name, rows) / measured - 1))))
        for k, x in enumerate(sorted({row.x for row in rows})):
            mine = select(rows, "h", x=x)
            series += [_measured(f"x = {x}", mine, colour=k), _predicted(found, name, mine, {"colour": k})]
    y = _from_zero(one for series in by_name.values() for one in series)
    return Figure(
        "access-h",
        f"On like-gather patterns H is off by {percent(off[0])}%, the chosen form by {percent(off[1])}%",
        f"Bad, suite 1: x of {p} processors read h words, all write h x / {p}; lines: predicted (after figure 2)",
        [Panel(WORDS, y, series, f"predicted by {name}") for name, series in by_name.items()],
        share_x="all",
        share_y="all",
    )


def errors_of_forms(found: Access, p: int) -> Figure:
    """Return the figure of every form's average error on the suites that it was not fitted on, a panel per family."""
    panels = []
    for family in FUNCTIONS:
        forms = [row for row in found.forms if (row.family, row.p) == (family, p)][::-1]
        series = []
        for k, suite in enumerate(sorted({off.suite for form in forms for off in form.off})):
            errors = [next((off.average for off in form.off if off.suite == suite), math.nan) for form in forms]
            places = np.arange(len(forms), dtype=np.float64)
            series.append(Series(f"suite {suite}", 100 * np.array(errors), places, "points", colour=k, marker=k))
        names = [f"{form.name} (chosen)" if form.chosen else form.name for form in forms]
        panels.append(Panel(Axis("average error", "%", low=0), Axis(names=names), series, family.title()))
    return Figure(
        "access-forms",
        "Which form of cost function predicts this machine?",
        f"p = {p}; every form fitted on the same suite; the best on the others is chosen",
        panels,
        legend="not fitted on",
    )


def by_footprint(found: Access, p: int) -> Figure | None:
    """Return the figure of the cost of a scattered word by footprint, with Good and Bad, which do not depend on it."""
    rows = [row for row in found.patterns if (row.suite, row.x, row.p) == (1, p, p) and row.clean]
    random = [row for row in rows if row.footprint]
    if not random:
        return None
    series = []
    for k, h in enumerate(sorted({row.h for row in random})):
        mine = select(random, "footprint", h=h)
        nbytes, ns = column(mine, "footprint") * found.word_bytes, column(mine, "seconds") / (2 * h) * 1e9
        charged = by_choice(found, mine) / (2 * h) * 1e9
        look: dict[str, Any] = {"colour": k % 6}
        series += [Series(f"h = {count(h)}", nbytes, ns, "points", **look), Series("", nbytes, charged, **look)]
    most = max(row.h for row in random)
    ends = [row for row in rows if row.h == most and not row.footprint]
    marks = [
        Mark(row.seconds / (2 * row.h) * 1e9, text=row.family.title(), axis="y", dash="dashed", colour=BLACK)
        for row in ends
    ]
    return Figure(
        "access-footprint",
        "How long does a scattered word take, by the size of the memory that the accesses fall on?",
        f"Random, p = {p}, every processor reads h words and writes as many; points: measured, lines: predicted; "
        f"dashed: Good and Bad of h = {count(most)}",
        [Panel(Axis("footprint", "bytes", "log"), Axis("time of a word", "ns", "log"), series, "", marks)],
        legend="words of a processor",
    )


def _of(found: Access, family: str, p: int, suite: int) -> list[Pattern]:
    return [row for row in found.patterns if (row.family, row.p, row.suite) == (family, p, suite)]


def _patterns(found: Access, family: str, p: int, kind: str) -> tuple[list[Pattern], int]:
    """Return the patterns of one panel, in ascending h, and their suite."""
    suite = SUITES["vary" if kind == "vary" else family]
    rows = [row for row in _of(found, family, p, suite) if row.kind == kind]
    x = min({row.x for row in rows}, key=lambda x: abs(x - SHARE * p), default=0)
    return select(rows, "h", x=x), suite


def _measured(name: str, rows: Sequence[Pattern], **look: Any) -> Series:
    h = column(rows, "h")
    invalid = ["" if row.clean else "none of its supersteps counts" for row in rows]
    return Series(name, h, column(rows, "seconds") / h * 1e9, "points", invalid=invalid, **look)


def _predicted(found: Access, name: str, rows: Sequence[Pattern], look: dict[str, Any], label: str = "") -> Series:
    h = column(rows, "h")
    return Series(label, h, (_charged(found, name, rows) if rows else h) / h * 1e9, **look)


def _charged(found: Access, name: str, rows: Sequence[Pattern]) -> NDArray[np.float64]:
    return by_choice(found, rows) if name == CHOSEN else by_function(found, name, rows)


def _from_zero(series: Iterator[Series]) -> Axis:
    """Return a y axis that begins at zero and holds all points and lines; a bar may go beyond."""
    highest = np.nanmax(np.concatenate([np.asarray(one.y) for one in series]), initial=1e-3)
    return Axis(TIME, "ns per word", low=0, high=1.1 * float(highest))


def _in_pieces(samples: Samples) -> bool:
    """Return True if there are samples of pieces; samples of an earlier version are of whole supersteps."""
    return samples is not None and "alike" in (samples.dtype.names or ())


def _spread(found: Access, samples: Samples, rows: Sequence[Pattern]) -> dict[str, Any]:
    """Return the spread of the clean supersteps of each pattern, from its pieces: 5th to 95th percentile."""
    assert samples is not None
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
        parts = [(clean["ns"][part], len(np.unique(clean["piece"][part]))) for part in alike(clean)]
        pieces = [np.percentile(ns, [5, 95]) * count for ns, count in parts]
        ends.append(np.sum(pieces, axis=0) / row.h if pieces else [np.nan, np.nan])
    low, high = np.transpose(ends)
    return {"low": low, "high": high, "spread": "bars"}
