"""Models of Strata and of Brewer's libraries, regained on emulated machines (figure 6-6, chapters 4 and 5)."""

from __future__ import annotations

import math

from ..rows import Part
from ..rows import Row as Shown
from .measured import measure
from .rows import Row

SUMMARY = "Brewer's models regained: primitives of Strata, relaxation, sorts"


def results(quick: bool) -> list[Part]:
    """Calibrate the models on all machines, and compare them and the programs' times with the printed ones."""
    report = measure(quick)
    parts = [Part(table.title, [_shown(row) for row in table.rows]) for table in report.tables]
    return [*parts, Part("further numbers", figures=report.drawn, data=report.numbers)]


def _shown(row: Row) -> Shown:
    low, high = (None if math.isinf(end) else end for end in (row.low, row.high))
    return Shown("", row.what, row.printed, row.ours, row.unit, "shown" if row.kind == "-" else row.kind, low, high)
