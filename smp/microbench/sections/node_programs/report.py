"""The report's section on programs on a machine of MPI: their times, and their places in the predicted intervals."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, number
from smp._output.table import Cell, Column, Table, counted, text
from smp.microbench.output.format import flagged, judged
from smp.profiles.profile import Profile

from ..programs import report as programs
from .rows import NodePrograms, NodeStep

NAMED = (text("program"), counted("n"), counted("p"))
INTERVALS = (*NAMED, Column("steps", "ns"), *programs.INTERVAL)
STEP = (
    *(text("superstep"), counted("times"), counted("h_r"), counted("h_w"), counted("M")),
    *(counted("far reads"), counted("far writes"), counted("messages")),
)
STEP_TIMES = tuple(programs.milli(name) for name in ("local", "measured", "good", "bad"))


def line(found: NodePrograms) -> tuple[str, str] | None:
    """Return the heading and text for the first screen: each program at its longest length."""
    longest = {row.program: row for row in sorted(found.rows, key=lambda row: row.n)}
    said = [
        f"{name} of {count(row.n)} {number(row.ns_per_element)}{programs.place_text(row.loc)}"
        for name, row in longest.items()
    ]
    return ("Programs on nodes", f"in ns per element: {', '.join(said)}") if said else None


def tables(found: NodePrograms, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which programs ran on a machine of MPI."""
    rows: list[list[Cell]] = []
    for row in found.rows:
        took = judged(row.ns_per_element, row)
        rows.append([row.program, row.n, row.p, took, *programs.interval(row, row.n)])
    parts = [f"{row.program} of {count(row.n)}: {row.note}" for row in found.rows if row.note]
    notes = [programs.MEANING, *parts, *programs.limits(profile, found, found.rows), flagged(found.rows)]
    yield Table("Time per element, and its interval", INTERVALS, rows, notes)
    for program in dict.fromkeys(row.program for row in found.steps):
        longest = max(step.n for step in found.steps if step.program == program)
        steps = [step for step in found.steps if (step.program, step.n) == (program, longest)]
        title = f"{program[0].upper()}{program[1:]}, n = {count(longest)}: supersteps of one label together"
        yield Table(title, (*STEP, *STEP_TIMES, *programs.PLACE, text("verdict")), [_step(step) for step in steps])


def _step(step: NodeStep) -> list[Cell]:
    times = (step.compute_s, step.measured_s, step.good_s, step.bad_s)
    counts = (step.hr, step.hw, step.m, step.far_reads, step.far_writes, step.messages)
    return [step.label, step.times, *counts, *times, *programs.places(step, step.m), step.verdict]
