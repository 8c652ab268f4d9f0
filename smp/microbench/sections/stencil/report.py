"""The report's section on red-black relaxation: time per cell and iteration by layout, next to a copy of the grid."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import number
from smp._output.table import Cell, Column, Table, counted, text
from smp.microbench.output.format import flagged, judged
from smp.models.supersteps.locality import SMALL
from smp.profiles.profile import Profile

from ..programs import report as programs
from ..programs.exceptions import outside
from .rows import GridRun, GridStep, OnGrid, Stencil

FORM_TITLES = {"blocked": "fast form", "one by one": "fast form, unblocked", "copy": "copy of the grid"}
NAMED = (text("layout"), counted("grid"), counted("p"))
TIMES = (*NAMED, Column("iteration", "ns"), Column("in copies"), Column("once", "ns"))
INTERVALS = (*NAMED, Column("steps", "ns"), *programs.INTERVAL)
STEPS = (
    *(text("layout"), counted("p"), text("superstep"), counted("h_r"), counted("h_w"), counted("M")),
    *(*programs.PLACE, programs.milli("local")),
)
MEANING = (
    "iteration: its two supersteps. in copies: over a copy of the grid by the streams that the fast form uses. once: "
    "the copies before and after all iterations. The fast form works in place and blocks its iterations in time; "
    "unblocked: one iteration after another."
)
AVERAGES = (
    f"Loc and M/G: of communication alone, averages over the grids in which M is {SMALL:,} and more; below that, the "
    "runtime's noise is as wide as the interval. local: the measured local computation.\n"
    '"shared" reads in place, which is not counted.'
)


def line(found: Stencil) -> tuple[str, str] | None:
    """Return the heading and text for the first screen: the fastest layout and the fast form on the largest grid.

    The text gives the time of a copy of the grid as well.
    """
    every = [*(found.rows or found.forms)]
    if not every:
        return None
    largest = max(map(_cells, every))
    said = []
    rows = [row for row in found.rows if _cells(row) == largest]
    if rows:
        best = min(rows, key=lambda row: row.ns_per_cell)
        where = programs.place_text(best.loc)
        said.append(f"{title_of(best.layout, best.blocks)} {number(best.ns_per_cell)}{where} with p = {best.p}")
    times = {form.form: form.ns_per_cell for form in found.forms if _cells(form) == largest}
    if times:
        fast, plain, copy = (number(times.get(name)) for name in ("blocked", "one by one", "copy"))
        said.append(f"fast form {fast}, unblocked {plain}; a copy of the grid {copy}")
    return "Relaxation", f"{_grid(max(every, key=_cells))}, in ns per cell and iteration: {'; '.join(said)}"


def title_of(layout: str, blocks: str) -> str:
    """Return the printed name of a layout.

    Examples
    --------
    >>> title_of("rectangular", "4x2"), title_of("uniprocessor", "1x1")
    ('rectangular 4x2', 'uniprocessor')
    """
    return layout if layout == "uniprocessor" else f"{layout} {blocks}"


def tables(found: Stencil, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which grids were relaxed."""
    copies = {form.rows: form.ns_per_cell for form in found.forms if form.form == "copy"}
    rows: list[list[Cell]] = []
    for side in sorted({row.rows for row in found.rows} | {form.rows for form in found.forms}):
        for form in (form for form in found.forms if form.rows == side):
            rows.append(
                [FORM_TITLES[form.form], _grid(form), form.streams, judged(form.ns_per_cell, form), form.copies, None]
            )
        for row in (row for row in found.rows if row.rows == side):
            over = row.ns_per_cell / copies[side] if side in copies else None
            rows.append([*_named(row), judged(row.ns_per_cell, row), over, row.around_ns])
    left_out = ", ".join(f"{n:,} x {n:,}" for n in found.left_out or ())
    notes = [
        MEANING,
        f"Left out, since memory is short: {left_out}." if left_out else "",
        flagged([*found.rows, *found.forms]),
    ]
    yield Table("Time per cell and iteration, float64", TIMES, rows, notes)
    if programs.predicted(found.rows):
        rows = []
        for row in sorted(found.rows, key=_cells):
            work = _cells(row) * (row.iterations or 1)
            rows.append([*_named(row), programs.each(row, "measured_s", work), *programs.interval(row, work)])
        notes = [programs.MEANING, *programs.remarks(profile, found, found.rows)]
        yield Table("Intervals, per cell and iteration", INTERVALS, rows, notes)
    if found.analysis:
        title = f"Supersteps, counted on {_grid(max(found.analysis, key=_cells))}; all iterations together"
        yield Table(title, STEPS, [_step(row) for row in found.analysis], [AVERAGES])
    yield from outside(found.steps, profile, _called)


def _called(step: GridStep) -> str:
    return f"{title_of(step.layout, step.blocks)}, {step.label}, {_grid(step)}"


def _named(row: GridRun) -> list[Cell]:
    return [title_of(row.layout, row.blocks), _grid(row), row.p]


def _step(row: GridStep) -> list[Cell]:
    counts: list[Cell] = [row.p, row.label, row.hr, row.hw, row.m]
    return [title_of(row.layout, row.blocks), *counts, *programs.places(row, row.m), row.compute_s]


def _grid(row: OnGrid) -> str:
    return f"{row.rows:,} x {row.columns:,}"


def _cells(row: OnGrid) -> int:
    return row.rows * row.columns
