"""The report on two machines: a table for each section, and which of them would run a program faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from ..output.format import count, number, table
from .figures import titles
from .programs import kernel_of

if TYPE_CHECKING:
    from .compare import Comparison, Foretold, Row

HEADERS = ("", "unit", "a", "b", "b/a", "b: times\nas fast")
SHORT_HEADERS = ("", "figures", "b: times\nleast", "as fast\nmean", "\nmost")
FORETOLD_HEADERS = (
    *("", "n", "p", "a, ms\ngood", "\nbad", "b, ms\ngood", "\nbad"),
    *("b: times\ngood", "as fast\nbad", "faster"),
)
NOT_VALID = "! one of the two, or both, is not valid: see the reports."
SHORT = "Mean: geometric, of all figures of a section."
FORETOLD = "By factored models, with all accesses good and all bad; undecided where the two ends do not agree."


def comparison(found: Comparison) -> Group:
    """Return the report of a comparison."""
    by_title = {
        title[0].upper() + title[1:]: [row for row in found.rows if row.section == section]
        for section, title in titles().items()
    }
    sections = {title: rows for title, rows in by_title.items() if rows}
    short = [_in_short(title, rows) for title, rows in sections.items()]
    parts: list[RenderableType] = [Text(f"a: {found.a}\nb: {found.b}"), Text()]
    parts += [table(SHORT_HEADERS, short, title="In short", caption=SHORT), Text()]
    for title, rows in sections.items():
        caption = "" if all(row.valid for row in rows) else NOT_VALID
        parts += [table(HEADERS, map(_cells, rows), title=title, caption=caption, words=2), Text()]
    if found.foretold:
        title = "Which machine would run it faster"
        parts += [table(FORETOLD_HEADERS, map(_foretold, found.foretold), title=title, caption=FORETOLD), Text()]
    parts += [Text(f"{line}.") for line in found.missing]
    return Group(*parts)


def _in_short(title: str, rows: Sequence[Row]) -> list[str]:
    gains = np.array([row.gain for row in rows])
    return [title, count(len(rows)), *map(number, (gains.min(), np.exp(np.log(gains).mean()), gains.max()))]


def _cells(row: Row) -> list[str]:
    mark = "" if row.valid else " !"
    return [row.what + mark, row.unit, *map(number, (row.a, row.b, row.ratio, row.gain))]


def _foretold(row: Foretold) -> list[str]:
    ends = [number(seconds * 1e3) for each in (row.a, row.b) for seconds in (each.good, each.bad)]
    gains = map(number, row.gains)
    return [kernel_of(row.kernel).title, count(row.n), str(row.p), *ends, *gains, row.faster or "undecided"]
