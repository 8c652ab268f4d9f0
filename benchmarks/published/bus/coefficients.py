"""Tables 1 to 4: the coefficients of the functions, and what the study reads from them."""

from __future__ import annotations

from smp._output.figure import Axis, Figure, Panel, Series
from smp.models.supersteps.published import PROCESSORS, paper_functions

from ..rows import Part, Row
from .functions import BEST, Fitted

SET_FROM = {
    ("good", 8, "R0", "ghr1"): "processor.copy_per_byte",
    ("good", 8, "R0", "ghw1"): "memory.write_per_byte",
    ("bad", 2, "all", "ghr"): "memory.local_miss",
}
"""The printed coefficients from which the machine file was set."""
US = 1e6


def part(fits: dict[int, Fitted]) -> Part:
    """Compare the coefficients of the most accurate functions, and check how they depend on p."""
    rows = []
    for function in paper_functions():
        p, family = function["p"], function["family"]
        if p not in fits or function["name"] != BEST[family]:
            continue
        ours = fits[p].function(family, function["name"], function["set"])
        mine = dict(zip(ours["terms"], ours["coefficients"], strict=True))
        for term, printed in zip(function["terms"], function["coefficients"], strict=True):
            what = f"{family} {function['set']}, p = {p}: {term}"
            kind = "set" if (family, p, function["set"], term) in SET_FROM else "shown"
            target = (0.9 * printed * US, 1.1 * printed * US) if kind == "set" else (None, None)
            rows.append(Row(function["source"], what, printed * US, mine[term] * US, "us", kind, *target))
    return Part("coefficients", [*rows, *_relations(fits)], [_figure(fits)])


def _relations(fits: dict[int, Fitted]) -> list[Row]:
    """Return what the study reads from its coefficients (section 4.3)."""
    rows = []
    for p, fit in fits.items():
        cached, beyond, bad = (
            dict(zip(one["terms"], one["coefficients"], strict=True))
            for one in (
                fit.function("good", BEST["good"], "R0"),
                fit.function("good", BEST["good"], "R1"),
                fit.function("bad", BEST["bad"], "all"),
            )
        )
        rows += [
            Row(
                "table 2",
                f"p = {p}: read / write in cache",
                "about 2",
                cached["ghr1"] / cached["ghw1"],
                "",
                "set",
                1.6,
                2.6,
            ),
            Row(
                *("table 2", f"p = {p}: read / write in memory", "about 1", beyond["ghr2"] / beyond["ghw2"]),
                *("", "pred", 0.75, 1.35),
            ),
            Row(
                "table 4",
                f"p = {p}: write - read in bad",
                "> 0",
                US * (bad["ghw"] - bad["ghr"]),
                "us",
                "pred",
                0.0,
                None,
            ),
            Row(
                "tables 2, 4",
                f"p = {p}: gM in bad / in good",
                ">> 1",
                bad["gM"] / max(beyond["gM"], 1e-12),
                "",
                "pred",
                10.0,
            ),
        ]
    first, last = fits[min(fits)], fits[max(fits)]
    for term, wanted in (("ghr", -1), ("ghw", -1), ("gM", 1)):
        ends = []
        for fit in (first, last):
            found = fit.function("bad", BEST["bad"], "all")
            ends.append(found["coefficients"][found["terms"].index(term)])
        low, high = (1.0, None) if wanted > 0 else (None, 1.0)
        what = f"{term} in bad, p = {last.p} / p = {first.p}"
        rows.append(Row("table 4", what, "> 1" if wanted > 0 else "< 1", ends[1] / ends[0], "", "pred", low, high))
    return rows


def _figure(fits: dict[int, Fitted]) -> Figure:
    """Draw the coefficients of the bad family against p."""
    series = []
    printed = [row for row in paper_functions() if (row["family"], row["name"]) == ("bad", BEST["bad"])]
    for n, (term, text) in enumerate(
        (("ghr", "a word read"), ("ghw", "a word written"), ("gM", "a word of any processor"))
    ):
        ours = []
        for fit in fits.values():
            found = fit.function("bad", BEST["bad"], "all")
            ours.append(US * found["coefficients"][found["terms"].index(term)])
        theirs = [US * row["coefficients"][row["terms"].index(term)] for row in printed]
        series.append(Series(text, list(fits), ours, colour=n, marker=n))
        series.append(Series(f"{text}, printed", list(PROCESSORS), theirs, "points", colour=n, marker=n, hollow=True))
    return Figure(
        "bus-table-04",
        "Prices of a word in the bad family (table 4)",
        "As the bus fills, the words of all processors count instead of those of the busiest one.",
        [Panel(Axis("processors", ticks=(2, 4, 8, 12, 16)), Axis("price", "us", low=0), series)],
        legend_at="upper right",
    )
