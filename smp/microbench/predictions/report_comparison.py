"""The report on a comparison: conditions of each profile, each section in short, every figure, and predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from smp._output.table import Bounded, Cell, Column, Marked, Part, Table, counted, share, text

from .differences import WRONG
from .figures import titles
from .programs import kernel_of
from .rows import Foretold, Measured, Row

CONDITIONS = (
    *(text(), text("mode"), Column("load before"), share("stolen"), share("clean"), Column("seconds", "s")),
    *(Column("hand-off, p = 2", "ns"), text("smp")),
)
NOT_VALID = "! not valid in one of the two profiles, or in both: see their reports. Such a figure is in no mean."
SHORT_NOTE = "Faster, slower: figures that are different. Least, mean (geometric) and most: of the valid figures."
FORETOLD_NOTE = (
    "By factored models, with all accesses good and all bad; undecided if the two ends do not agree, or if no figure "
    "of the access patterns is different."
)
TOLD = (
    "Different: the interval does not contain 1. Intervals are widened for the number of rows: of the different rows, "
    f"{WRONG:.0%} at most are expected to be the same in truth. +-: standard error."
)
BUSY = "{} was measured on a busy computer, so none of its figures is valid: measure it again when it is quiet."
OTHERWISE = 1.5
"""Ratio of two hand-offs above which the CPUs count as placed differently."""
MOVED = (
    "The hand-off of a line mostly took {1:.0f} ns while a was measured, and {2:.0f} ns while {0} was: the host had "
    "moved the CPUs, which changes the figures of several processors."
)
SAME = {"computer": "{} and a are the same computer.", "kind": "{} and a are computers of the same kind."}
MOST_SLOWER = 10
"""Most rows that are listed as slower than allowed."""


def report(
    profiles: Sequence[Measured], rows: Sequence[Row], foretold: Sequence[Foretold], missing: Sequence[str]
) -> Part:
    """Return a comparison as tables; the parameters are the attributes of a `Comparison`."""
    tables = [
        Table(notes=[f"{each.name}: {each.what}" for each in profiles]),
        Table("Conditions", CONDITIONS, [_conditions(each) for each in profiles], _remarks(profiles)),
    ]
    for other in profiles[1:]:
        name, against = other.name, f": {other.name} against a" if len(profiles) > 2 else ""
        mine = [row for row in rows if row.name == name]
        tables += _against(name, against, mine, [each for each in foretold if each.name == name])
    return Part("", [*tables, Table(notes=[f"{line}." for line in missing])])


def slower(rows: Sequence[Row], percent: float) -> str:
    """Return a sentence on one or more rows that are slower than allowed, the slowest first."""
    named = [
        f"{row.name}, {row.what}: {100 * (1 / row.gain - 1):.1f}%" for row in sorted(rows, key=lambda row: row.gain)
    ]
    more = [f"{len(named) - MOST_SLOWER} more"] if len(named) > MOST_SLOWER else []
    many = f"{len(rows)} figures are" if len(rows) > 1 else "1 figure is"
    return f"{many} different and slower by more than {percent:g}%: {'; '.join(named[:MOST_SLOWER] + more)}"


def _against(name: str, against: str, rows: Sequence[Row], foretold: Sequence[Foretold]) -> Iterator[Table]:
    by_title = {
        title[0].upper() + title[1:]: [row for row in rows if row.section == section]
        for section, title in titles().items()
    }
    sections = {title: found for title, found in by_title.items() if found}
    fast = [Column(f"{name}: times as fast, {which}") for which in ("least", "mean", "most")]
    told = [counted(f"{name} {which}") for which in ("faster", "slower")]
    short = (text(), counted("figures"), counted("valid"), *told, *fast)
    yield Table(
        f"In short{against}", short, [_in_short(title, found) for title, found in sections.items()], [SHORT_NOTE]
    )
    figures = (
        *(text(), text("unit"), Column("a"), Column("+-", "%", digits=2, scale=100.0)),
        *(Column(name), Column("+-", "%", digits=2, scale=100.0)),
        *(Column(f"{name}: times as fast"), text("different")),
    )
    for title, found in sections.items():
        note = "" if all(row.valid for row in found) else NOT_VALID
        yield Table(f"{title}{against}", figures, [_figure(row) for row in found], [note])
    yield Table(notes=[TOLD])
    if foretold:
        ends = [Column(f"{one}, {end}", "ms", scale=1e3) for one in ("a", name) for end in ("good", "bad")]
        gains = [Column(f"{name}: times as fast, {end}") for end in ("good", "bad")]
        columns = (text(), counted("n"), counted("p"), *ends, *gains, counted("faster"))
        yield Table(f"Predicted times of programs{against}", columns, [_ends(row) for row in foretold], [FORETOLD_NOTE])


def _conditions(each: Measured) -> list[Cell]:
    return [
        *(each.name, each.mode, each.load_before, each.stolen_fraction, each.clean_fraction, each.seconds),
        *(each.hand_over_ns, each.version),
    ]


def _remarks(profiles: Sequence[Measured]) -> list[str]:
    same = [SAME[each.same].format(each.name) for each in profiles[1:] if each.same]
    return [
        *same,
        *(BUSY.format(each.name) for each in profiles if each.busy),
        *(
            MOVED.format(each.name, profiles[0].hand_over_ns, each.hand_over_ns)
            for each in profiles[1:]
            if _moved(profiles[0], each)
        ),
    ]


def _moved(one: Measured, other: Measured) -> bool:
    """Return True if the CPUs of one computer, or of one kind of computer, were mostly placed differently."""
    if not other.same or not one.hand_over_ns or not other.hand_over_ns:
        return False
    return abs(math.log(one.hand_over_ns / other.hand_over_ns)) > math.log(OTHERWISE)


def _in_short(title: str, rows: Sequence[Row]) -> list[Cell]:
    told = [sum(row.told == which for row in rows) for which in ("faster", "slower")]
    gains = np.array([row.gain for row in rows if row.valid])
    fast: list[Cell] = [None] * 3
    if len(gains):
        fast = [float(gains.min()), float(np.exp(np.log(gains).mean())), float(gains.max())]
    return [title, len(rows), len(gains), *told, *fast]


def _figure(row: Row) -> list[Cell]:
    gain = row.gain if row.low is None else Bounded(row.gain, row.low, row.high)
    told = "" if not row.valid else row.told or ("no" if row.known else "spread not known")
    return [row.what if row.valid else Marked(row.what), row.unit, row.a, row.a_error, row.b, row.b_error, gain, told]


def _ends(row: Foretold) -> list[Cell]:
    seconds = [row.a.good, row.a.bad, row.b.good, row.b.bad]
    return [kernel_of(row.kernel).title, row.n, row.p, *seconds, *row.gains, row.faster or "undecided"]
