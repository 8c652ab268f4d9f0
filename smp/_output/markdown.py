"""Writes tables in the Markdown that GitHub shows, with the numbers of the terminal and the notes below."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .table import Cell, Column, Part, Table, mark


def report(parts: Sequence[Part]) -> str:
    """Return a report in Markdown: a heading for each part, and its tables with bold titles."""
    blocks = []
    for part in parts:
        blocks += [f"## {_escaped(part.title)}"] if part.title else []
        blocks += [f"**{_escaped(part.note)}**"] if part.note else []
        for table in part.tables:
            blocks += [f"**{_escaped(table.title)}**"] if table.title else []
            blocks += ["\n".join(_grid(table))] if table.columns else []
            notes = [f"- {_escaped(' '.join(note.split()))}" for note in table.notes if note]
            blocks += ["\n".join(notes)] if notes else []
    return "\n\n".join(blocks)


def _grid(table: Table) -> Iterator[str]:
    yield _line([_header(one) for one in table.columns])
    yield _line(["---" if one.left else "---:" for one in table.columns])
    for row in table.rows:
        yield _line([_shown(one, cell) for one, cell in zip(table.columns, row, strict=True)])


def _header(column: Column) -> str:
    both = column.name and column.unit
    return _escaped(f"{column.name} ({column.unit})" if both else column.name or column.unit)


def _shown(column: Column, cell: Cell) -> str:
    return _escaped(f"{column.shown(cell).strip()} {mark(cell)}".strip())


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]~])", r"\\\1", text)
