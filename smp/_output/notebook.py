"""Displays of results in notebooks: tables of at most `MOST_ROWS` rows, and one small picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import html
from .figure import Figure
from .small import small_svg
from .table import Part, Table

MOST_ROWS = 20


def displayed(parts: Sequence[Part], figure: Figure | None = None) -> str:
    """Return parts of a report in HTML, under a picture of a figure."""
    short = [replace(part, tables=[_shortened(table) for table in part.tables]) for part in parts]
    return "\n".join([*([] if figure is None else [small_svg(figure)]), html.report(short)])


def _shortened(table: Table) -> Table:
    if len(table.rows) <= MOST_ROWS:
        return table
    more = f"The first {MOST_ROWS} of {len(table.rows):,} rows; print the result, or use its to_frame(), to see all."
    return replace(table, rows=table.rows[:MOST_ROWS], notes=[*table.notes, more])
