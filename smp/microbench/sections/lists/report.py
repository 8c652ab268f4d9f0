"""The report's section on list ranking: time per element, speed-up, and the place of each run in its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from smp._output.numbers import count, fixed, number, time
from smp._output.table import Cell, Column, Table, counted, text
from smp.microbench.output.format import by_streams, flagged, judged
from smp.models.supersteps.locality import SMALL
from smp.profiles.profile import Profile

from ..programs import report as programs
from ..programs.exceptions import outside
from .facts import title_of
from .rows import Lists, ListStep

NAMED = (text("algorithm"), counted("n"), counted("p"))
TIMES = (*NAMED, Column("run", "ns"), Column("speed-up"))
INTERVALS = (*NAMED, Column("steps", "ns"), *programs.INTERVAL)
STEPS = (
    *(text("algorithm"), text("step"), counted("n"), counted("p"), counted("M")),
    *map(programs.milli, ("local", "measured", "good", "bad", "random")),
    *programs.PLACE,
)
MEANING = "run: the whole run. speed-up: over the serial loop. fast form: rank_list, by streams of one process."
STEP_MEANING = "measured: copy-in and copy-out; good, bad and random predict them. local: the computation between them."


def line(found: Lists) -> tuple[str, str] | None:
    """Return the heading and text for the first screen: the fastest run on the longest list.

    The text gives its speed-up over the serial loop and its place in the interval.
    """
    longest = max((row.n for row in found.rows), default=0)
    row = min((row for row in found.rows if row.n == longest), key=lambda row: row.ns_per_element, default=None)
    if row is None:
        return None
    said = f"n = {count(row.n)}: {title_of(row.algorithm)}, p = {row.p}: {number(row.ns_per_element)} ns per element"
    serial = serial_time(found, row.n)
    if serial is not None:
        said += f", {number(row.speedup)} times as fast as the serial loop ({number(serial)} ns)"
    if row.inside is not None:
        where = "inside" if row.inside else "outside"
        included = " with local computation" * programs.with_computation(row)
        said += f"; Loc {fixed(row.loc)}, M/G {fixed(row.m_over_g)}{included}, {where} its interval"
    for fast in found.fast:
        if fast.n == row.n:
            how = f"with {by_streams(fast.streams)}"
            said += f"; fast form {number(fast.ns_per_element)} ns {how}, {number(fast.speedup)} times as fast"
    return "List ranking", said


def serial_time(found: Lists, n: int) -> float | None:
    """Return ns an element of the serial loop on a list of n nodes; None if it was not measured."""
    return next((row.ns_per_element for row in found.serial if row.n == n), None)


def describe_step(step: ListStep) -> str:
    """Return a text that names a superstep and compares its measured and predicted times."""
    said = (
        f'{title_of(step.algorithm)}, n = {count(step.n)}, p = {step.p}, "{step.label}" '
        f"({programs.counts_text(step)}): measured {time(step.measured_s)}"
    )
    if programs.with_computation(step):
        said += ", local computation included"
    elif step.compute_s is not None:
        said += f" (and {time(step.compute_s)} of local computation)"
    if step.good_s is None:
        return said
    said += f"; predicted: good {time(step.good_s)}, bad {time(step.bad_s)}"
    if step.random_s is not None:
        said += f", random {time(step.random_s)}"
    where = step.verdict or ("inside" if step.inside else "outside")
    loc, m_over_g = (programs.PLACE[0].shown(cell) for cell in programs.places(step, step.m))
    return f"{said}; Loc {loc}, M/G {m_over_g}: {where}"


def tables(found: Lists, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which lists were ranked."""
    order = list(dict.fromkeys(row.algorithm for row in found.rows))
    ranked = sorted(found.rows, key=lambda row: (row.n, row.p, order.index(row.algorithm)))
    rows: list[list[Cell]] = []
    for n in sorted({row.n for row in ranked} | {row.n for row in found.serial}):
        for serial in (one for one in found.serial if one.n == n):
            rows.append(["serial", n, 1, judged(serial.ns_per_element, serial), 1.0])
        rows += [
            ["fast form", n, one.streams, judged(one.ns_per_element, one), one.speedup]
            for one in found.fast
            if one.n == n
        ]
        rows += [[title_of(r.algorithm), n, r.p, judged(r.ns_per_element, r), r.speedup] for r in ranked if r.n == n]
    yield Table("Time per element", TIMES, rows, [MEANING, flagged([*ranked, *found.serial, *found.fast])])
    if programs.predicted(ranked):
        rows = [
            [title_of(r.algorithm), r.n, r.p, programs.each(r, "measured_s", r.n), *programs.interval(r, r.n)]
            for r in ranked
        ]
        notes = [programs.MEANING, *programs.remarks(profile, found, ranked)]
        yield Table("Intervals, per element", INTERVALS, rows, notes)
    rows = [
        [
            *(title_of(step.algorithm), step.label, step.n, step.p, step.m, step.compute_s),
            *(getattr(step, name) for name in programs.TIMES),
            *programs.places(step, step.m),
        ]
        for step in worst_steps(found.steps)
    ]
    if rows:
        title = "The superstep farthest from good on the longest list, for each algorithm and p"
        yield Table(title, STEPS, rows, [STEP_MEANING])
    yield from outside(found.steps, profile, lambda step: f"{title_of(step.algorithm)}, {step.label}, {count(step.n)}")


def worst_steps(steps: Sequence[ListStep]) -> list[ListStep]:
    """Return the superstep with the smallest Loc for each algorithm and p on its longest list, without small ones."""
    worst: dict[Any, tuple[tuple[int, float], ListStep]] = {}
    for step in steps:
        if step.loc is not None and step.m >= SMALL:
            rank, key = (step.n, -step.loc), (step.algorithm, step.p)
            if key not in worst or rank > worst[key][0]:
                worst[key] = rank, step
    return [step for _, step in worst.values()]
