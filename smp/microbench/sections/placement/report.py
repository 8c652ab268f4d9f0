"""The report's section on the placement of the CPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smp._output.numbers import number, percent
from smp._output.table import Cell, Column, Table, counted, share, text
from smp.profiles.profile import Profile
from smp.profiles.records import PlacementState

from .rows import Placement, Seen

SEVERAL = 1.5
"""Two CPUs share a core if a loop takes at least this many times as long on all CPUs at once as on one alone."""
COLUMNS = (
    counted("p"),
    Column("hand-off", "ns"),
    share("share of time"),
    counted("looks"),
    Column("clock", "GHz"),
    Column("slowest CPU", "GHz"),
    Column("together", "x"),
    text("cores"),
)
MEANING = (
    "hand-off: of a line between neighbours, one way, the pair that takes longest. Figures of several processors are "
    "those of the state that is most frequent in the whole measurement.\n"
    "clock: from a chain of operations of one cycle each, the median of all CPUs, and the slowest. together: the time "
    "of a loop of multiplications on all CPUs at once, over that on one CPU alone; about 2 if two CPUs are threads of "
    "one core."
)


def line(found: Placement) -> tuple[str, str] | None:
    """Return the heading and text of this section for the first screen."""
    said = [f"p = {p}: {describe(states)}" for p, states in (found.states or {}).items() if states]
    return ("Placement", "; ".join(said)) if said else None


def describe(states: Sequence[PlacementState]) -> str:
    """Return the states of a placement in words."""
    if len(states) == 1:
        return f"one state, hand-off of a line in {number(states[0].ns)} ns"
    each = ", ".join(f"{number(state.ns)} ns ({percent(state.share)}%)" for state in states)
    return f"{len(states)} states, hand-off of a line in {each} of the time"


def tables(found: Placement, profile: Profile) -> Iterator[Table]:
    """Yield a table of the states that the looks of the section have shown."""
    if not found.rows:
        yield Table(notes=["There is no placement: no run of two or more processors with a CPU each was requested."])
        return
    said = line(found)
    notes = [MEANING, *([f"In all sections: {said[1]}."] if said else [])]
    yield Table("States of the placement, by looks", COLUMNS, [cells(row) for row in found.rows], notes)


def cells(row: Seen) -> list[Cell]:
    """Return the cells of a state in the columns `COLUMNS`."""
    return [row.p, row.ns, row.share, row.looks, row.clock_GHz, row.slowest_GHz, row.together, _so(row)]


def _so(row: Seen) -> str:
    if row.together is None:
        return ""
    return "two CPUs share a core" if row.together >= SEVERAL else "a core each"
