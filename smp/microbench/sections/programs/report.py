"""Common parts of the report's sections on whole programs: runs in their intervals, and single supersteps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from smp._output.numbers import count, fixed
from smp._output.table import Cell, Column, counted, ratio
from smp.models.supersteps.locality import SMALL
from smp.profiles.profile import Profile

from .rows import Counted, Placed, Predicted, Ran

TIMES = ("measured_s", "good_s", "bad_s", "random_s")
PLACE = (ratio("Loc"), ratio("M/G"))
INTERVAL = (
    *(Column(name, "ns") for name in ("local", "good", "bad", "random")),
    *(*PLACE, counted("inside"), counted("steps inside"), counted("of")),
)
MEANING = (
    "steps: all supersteps of the run; good, bad and random predict them.\n"
    "local: the measured local computation; the measured and all predicted times include it (figure 3 of the paper).\n"
    "Loc and M/G: of communication alone. Loc: 1 at good, 0 at the larger of bad and random. M/G: measured over good.\n"
    f"steps inside: the number that lie inside, of the supersteps with M of {SMALL:,} and more."
)
EARLIER = (
    "An earlier version measured this section, so M/G and the times of single supersteps include local computation: "
    "measure it again."
)
INVALID = "The predictions are by cost functions that are not valid: see their section."


def milli(name: str) -> Column:
    """Return a column of seconds that are shown in ms."""
    return Column(name, "ms", scale=1e3)


def places(step: Placed, m: float = SMALL) -> list[Cell]:
    """Return the cells of Loc and M/G; dashes if the m words moved are too few to judge."""
    return [None, None] if m < SMALL else [step.loc, step.m_over_g]


def place_text(value: float | None) -> str:
    """Return Loc in brackets for the first screen; an empty text if there is none."""
    return "" if value is None else f" (Loc {fixed(value)})"


def predicted(rows: Sequence[Ran]) -> bool:
    """Return True if there are intervals."""
    return any(row.good_s is not None for row in rows)


def each(row: Any, name: str, work: float) -> float | None:
    """Return a total of a row, which is stored in seconds, as ns for each unit of work."""
    total = getattr(row, name)
    return None if total is None else float(total) / work * 1e9


def interval(row: Ran, work: float) -> list[Cell]:
    """Return the cells of a row in the columns `INTERVAL`."""
    times = (each(row, name, work) for name in ("compute_s", *TIMES[1:]))
    return [*times, *places(row), row.inside, row.supersteps_inside, row.supersteps]


def remarks(profile: Profile, found: Predicted, rows: Sequence[Ran]) -> Iterator[str]:
    """Yield remarks on the predictions of a section: those of its rows, and `limits`."""
    yield from dict.fromkeys(row.note for row in rows if row.note)
    yield from limits(profile, found, rows)


def limits(profile: Profile, found: Predicted, rows: Sequence[Ran]) -> Iterator[str]:
    """Yield the source of the predictions of a section, and their limits."""
    source = found.functions_of
    if source is not None and source != profile.data.get("created"):
        yield f"Predicted by the cost functions that were measured on {source}."
    elif (profile.data.get("access") or {}).get("valid") is False:
        yield INVALID
    if any(map(with_computation, rows)):
        yield EARLIER


def with_computation(row: Placed) -> bool:
    """Return True if the M/G of a row or superstep includes local computation, as an earlier version measured it."""
    return row.m_over_g is not None and "compute_s" not in row.model_fields_set


def counts_text(step: Counted) -> str:
    """Return h_r, h_w and M as text."""
    return f"h_r {count(step.hr)}, h_w {count(step.hw)}, M {count(step.m)}"
