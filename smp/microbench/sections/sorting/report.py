"""The report's section on sorting: time per element next to NumPy's, and the supersteps of each sort in the form of
tables 9 to 11 of the SMP paper."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, number
from smp._output.table import Cell, Column, Table, counted, text
from smp.microbench.output.format import by_streams, few, flagged, judged
from smp.models.supersteps.locality import SMALL
from smp.models.supersteps.published import PAPER_STEPS, PROCESSORS, closest_p
from smp.models.supersteps.published.supersteps import TABLES
from smp.profiles.profile import Profile

from ..programs import report as programs
from ..programs.exceptions import outside
from .rows import Sorting, SortStep

NAMED = (text("algorithm"), counted("n"), counted("p"))
TIMES = (*NAMED, Column("time", "ns"), Column("over NumPy"))
INTERVALS = (*NAMED, Column("steps", "ns"), *programs.INTERVAL)
STEP = (counted(""), text("superstep"), text("counts"), counted("h_r"), counted("h_w"), counted("M"))
TITLES = {"radix": "Radix sort", "sample": "Sample sort", "column": "Column sort"}
FORM_TITLES = {"numpy": "NumPy", "fast": "fast form"}
MOST_LENGTHS = 6
"""Largest number of lengths for each p in the table of times; the profile has all."""
MEANING = (
    "time: the sum of the supersteps; for NumPy and the fast form, which uses streams of one process, the whole call. "
    "over NumPy: NumPy's time over this one."
)
AVERAGES = (
    "Supersteps, after the tables of the SMP paper. h_r, h_w and M: as the paper gives them, then as counted, then by "
    "the closed form, which assumes even shares, if that differs. Loc and M/G: of communication alone, averages over "
    f"the lengths at which M is {SMALL:,} and more; below that, the runtime's noise is as wide as the interval. The "
    "paper's are from an SGI Power Challenge{other}. local: the measured local computation at the n and p that were "
    "counted; the paper prints none."
)


def title_of(algorithm: str) -> str:
    """Return the printed name of a sort."""
    return TITLES.get(algorithm, f"{algorithm} sort")


def line(found: Sorting) -> tuple[str, str] | None:
    """Return the heading and text for the first screen: the sorts and the fast form at the longest length.

    All sorts are shown for one p, that of the fastest one.
    """
    longest = max((row.n for row in found.rows or found.forms), default=0)
    rows = [row for row in found.rows if row.n == longest]
    p = min(rows, key=lambda row: row.ns_per_element).p if rows else 0
    sorts = [
        f"{title_of(row.algorithm).lower()} {number(row.ns_per_element)}{programs.place_text(row.loc)}"
        for row in rows
        if row.p == p
    ]
    said = [f"{', '.join(sorts)} with p = {p}"] if sorts else []
    for form in found.forms:
        if (form.n, form.form) == (longest, "fast"):
            what = f"fast form {number(form.ns_per_element)} with {by_streams(form.streams)}"
            said.append(f"{what}, {number(form.speedup)} times as fast as NumPy")
    return ("Sorting", f"n = {count(longest)}, in ns per element: {'; '.join(said)}") if said else None


def tables(found: Sorting, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which keys were sorted."""
    yield from _times(found, profile)
    if found.analysis:
        other = [f"p = {closest_p(p)} for p = {p}" for p in _columns(found.analysis) if p not in PROCESSORS]
        yield Table(notes=[AVERAGES.format(other=f", {', '.join(other)}" * bool(other))])
    for name in dict.fromkeys((*TITLES, *(row.algorithm for row in found.analysis))):
        rows = [row for row in found.analysis if row.algorithm == name]
        if rows:
            most = max(rows, key=lambda row: (row.p, row.n))
            rounds = min(row.times for row in rows)
            source = f" (after table {TABLES[name]})" if name in TABLES else ""
            title = f"{title_of(name)}{source}, counted at n = {count(most.n)}, p = {most.p}"
            yield _supersteps(title + f"; its {rounds} rounds taken together" * (rounds > 1), rows)
    yield from outside(found.steps, profile, lambda step: f"{title_of(step.algorithm)}, {step.label}, {count(step.n)}")


def _times(found: Sorting, profile: Profile) -> Iterator[Table]:
    ran, forms = found.rows, found.forms
    alone = {form.n: form.ns_per_element for form in forms if form.form == "numpy"}
    shown = {p: few(sorted({row.n for row in ran if row.p == p}), MOST_LENGTHS) for p in {row.p for row in ran}}
    lengths = sorted({n for some in shown.values() for n in some}) or few(sorted(alone), MOST_LENGTHS)
    times: list[list[Cell]] = []
    intervals: list[list[Cell]] = []
    for n in lengths:
        for form in (form for form in forms if form.n == n):
            named: list[Cell] = [FORM_TITLES[form.form], n, form.streams]
            times.append([*named, judged(form.ns_per_element, form), form.speedup])
        same = [row for row in ran if row.n == n and n in shown[row.p]]
        for row in sorted(same, key=lambda row: row.p):
            ns, named = row.ns_per_element, [title_of(row.algorithm), n, row.p]
            times.append([*named, judged(ns, row), alone[n] / ns if n in alone else None])
            intervals.append([*named, programs.each(row, "measured_s", n), *programs.interval(row, n)])
    every = len({row.n for row in ran})
    thinned = f"{len(lengths)} of {every} lengths; the profile has all." if every > len(lengths) else ""
    yield Table("Time per element, random keys of 32 bits", TIMES, times, [MEANING, thinned, flagged([*ran, *forms])])
    if programs.predicted(ran):
        notes = [programs.MEANING, *programs.remarks(profile, found, ran)]
        yield Table("Intervals, per element", INTERVALS, intervals, notes)


def _supersteps(title: str, steps: list[SortStep]) -> Table:
    """Return a table of the supersteps of one sort, in the form of tables 9 to 11."""
    processors, rows = _columns(steps), []
    for k, label in enumerate(dict.fromkeys(row.label for row in steps), 1):
        same = {row.p: row for row in steps if row.label == label}
        most, paper = same[max(same)], PAPER_STEPS.get(steps[0].algorithm, {}).get(label)
        found: list[tuple[Cell, ...]] = []
        if paper:
            theirs = (cell for p in processors for cell in paper.at(closest_p(p)))
            found.append(("paper", *paper.counts, *theirs, ""))
        ours = (cell for p in processors for cell in (places(same[p]) if p in same else [None, None]))
        found.append(("counted", most.hr, most.hw, most.m, *ours, most.compute_s))
        if (closed := (most.hr_closed, most.hw_closed, most.m_closed)) != (most.hr, most.hw, most.m):
            found.append(("closed form", *closed, *[""] * (2 * len(processors) + 1)))
        rows += [[*((k, label) if first is found[0] else ("", "")), *first] for first in found]
    place = (Column(f"p = {p} {one.name}", form="fixed") for p in processors for one in programs.PLACE)
    return Table(title, (*STEP, *place, programs.milli("local")), rows)


def _columns(steps: list[SortStep]) -> list[int]:
    """Return the numbers of processors that a table of supersteps has room for."""
    return few(sorted({row.p for row in steps}))


def places(step: SortStep) -> list[Cell]:
    """Return Loc and M/G of a superstep."""
    return programs.places(step, step.m)
