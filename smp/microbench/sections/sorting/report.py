"""The report's section on sorting: time an element beside NumPy's, and the supersteps of each sort as the SMP paper's
tables 9 to 11 have them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from smp.microbench.output.format import NONE, Data, by_streams, count, number, section, table
from smp.models.supersteps.locality import SMALL

from ..programs import report as programs
from ..programs.report import INTERVAL_HEADERS, few, interval_cells, ratio

HEADERS = ("algorithm", "n", "p", "time\nns", "over\nNumPy")
TITLES = {"radix": "Radix sort", "sample": "Sample sort", "column": "Column sort"}
FORM_TITLES = {"numpy": "NumPy", "fast": "fast form"}
TABLES = {"radix": 9, "sample": 10, "column": 11}
COUNTS = {
    "radix": {
        "count": "n/p; 64; n + 64p",
        "prefix sum": "64; 64; 128p",
        "offsets": "64; 64; 128p",
        "move": "n/p + 64; n/p; 2n + 64p",
    },
    "sample": {
        "sample": "100; 100; 200p",
        "count": "n/p + p; p; n + 2p^2",
        "prefix sum": "p; p; 2p^2",
        "move": "n/p + 3p; n/p; 2n + 3p^2",
        "sort": "n/p; n/p; 2n ideally",
    },
    "column": dict.fromkeys(("init", "sort/transpose", "sort/reverse", "sort", "shift/sort/unshift"), "n/p; n/p; 2n"),
}
"""h_r; h_w; M of each superstep as the paper gives them."""
MOST_LENGTHS = 6
"""Lengths of each p in the table of times; the profile has all."""
MEANING = (
    "time: the sum of the supersteps, as good, bad and random predict it; of NumPy and of the fast form,\n"
    "which uses streams of one process, the whole. over NumPy: its time over this one."
)
AVERAGES = (
    "Supersteps, after the tables of the SMP paper. h_r; h_w; M: as the paper gives them, then as counted, then by the "
    "closed form where that differs, its shares being even. Loc and M/G: of communication alone, averages over the "
    f"lengths at which M is {SMALL:,} and more; below, the runtime's noise is as wide as the interval. local: the "
    "measured local computation at the n and p that were counted."
)


def sorting(profile: Data) -> Group:
    """Return the section of a profile in which keys were sorted."""
    return section("Sorting", profile["sorting"], _parts(profile, profile["sorting"]))


def describe(data: Data) -> str | None:
    """Return what the first screen says: the sorts at the longest length, with the p of the fastest; the fast form."""
    longest = max((row["n"] for row in data.get("rows") or data.get("forms", [])), default=0)
    rows = [row for row in data.get("rows", []) if row["n"] == longest]
    p = min(rows, key=lambda row: float(row["ns_per_element"]))["p"] if rows else 0
    sorts = []
    for row in rows:
        if row["p"] == p:
            where = "" if row.get("loc") is None else f" (Loc {ratio(row['loc'])})"
            sorts.append(f"{TITLES[row['algorithm']].lower()} {number(row['ns_per_element'])}{where}")
    said = [f"{', '.join(sorts)} with p = {p}"] if sorts else []
    for form in data.get("forms", []):
        if (form["n"], form["form"]) == (longest, "fast"):
            what = f"fast form {number(form['ns_per_element'])} with {by_streams(form.get('streams'))}"
            said.append(f"{what}, {number(form.get('speedup'))} times as fast as NumPy")
    return f"n = {count(longest)}, in ns an element: {'; '.join(said)}" if said else None


def _parts(profile: Data, data: Data) -> Iterator[RenderableType]:
    yield _times(profile, data)
    if data.get("analysis"):
        yield Text(AVERAGES)
    for name, title in TITLES.items():
        rows = [row for row in data.get("analysis", []) if row["algorithm"] == name]
        if rows:
            most = max(rows, key=lambda row: (row["p"], row["n"]))
            rounds = min(row["times"] for row in rows)
            title += f" (after table {TABLES[name]}), counted at n = {count(most['n'])}, p = {most['p']}"
            title += f"; its {rounds} rounds taken together" * (rounds > 1)
            yield programs.analysis_table(title, rows, counts)


def counts(row: Data) -> list[str]:
    """Return h_r; h_w; M of a superstep: as the paper gives them, as counted, and the closed form where it differs."""
    counted, closed = ([row[name + end] for name in ("hr", "hw", "m")] for end in ("", "_closed"))
    lines = [COUNTS[row["algorithm"]].get(row["label"], NONE), "; ".join(map(count, counted))]
    return lines + (["; ".join(map(count, closed))] if counted != closed else [])


def _times(profile: Data, data: Data) -> RenderableType:
    ran, forms = data.get("rows", []), data.get("forms", [])
    alone = {form["n"]: form["ns_per_element"] for form in forms if form["form"] == "numpy"}
    shown = {
        p: few(sorted({row["n"] for row in ran if row["p"] == p}), MOST_LENGTHS) for p in {row["p"] for row in ran}
    }
    lengths = sorted({n for some in shown.values() for n in some}) or few(sorted(alone), MOST_LENGTHS)
    order, rows = list(TITLES), []
    for n in lengths:
        for form in forms:
            if form["n"] == n:
                named = [FORM_TITLES[form["form"]], count(n), count(form.get("streams"))]
                times = [number(form["ns_per_element"]), number(form.get("speedup"))]
                rows.append([*named, *times, *[NONE] * len(INTERVAL_HEADERS)])
        same = [row for row in ran if row["n"] == n and n in shown[row["p"]]]
        for row in sorted(same, key=lambda row: (row["p"], order.index(row["algorithm"]))):
            ns = row["ns_per_element"]
            over = number(alone[n] / ns if n in alone else None)
            rows.append([TITLES[row["algorithm"]], count(n), str(row["p"]), number(ns), over, *interval_cells(row, n)])
    predicted, every = programs.predicted(ran), len({row["n"] for row in ran})
    headers = HEADERS + INTERVAL_HEADERS if predicted else HEADERS
    said = [MEANING, *([programs.MEANING] if predicted else []), *programs.remarks(profile, data)]
    if every > len(lengths):
        said.append(f"{len(lengths)} of {every} lengths; the profile has all.")
    title = "Time per element (ns), random keys of 32 bits"
    return table(headers, [row[: len(headers)] for row in rows], title=title, caption="\n".join(said))
