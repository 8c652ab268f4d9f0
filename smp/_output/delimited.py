"""Writes tables as CSV, with numbers in full precision and their units in the header.

    # Memory latency: Levels
    level,ns,cycles,ends at [bytes],reported [bytes]
    L1,1.0874,4.0031,46512,49152
    # levels: from random order in huge pages

Each table is a block, and an empty line separates it from the next. Its title and its notes are comments, which are
lines that begin with ``#``. A number with an interval has three columns. If a value of a table is marked, a last column
``marks`` says which value it is and why.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from .table import UNITS, Bounded, Cell, Column, Marked, Part, Row, Table, plain


def report(parts: Sequence[Part]) -> str:
    """Return a report as CSV, a block for each table."""
    blocks = ["\n".join(_block(part, table)) for part in parts for table in part.tables]
    return "\n\n".join(blocks)


def _block(part: Part, table: Table) -> Iterator[str]:
    if title := ": ".join(filter(None, (part.title, table.title))):
        yield _comment(title)
    if part.note:
        yield _comment(part.note)
    if table.columns:
        bounded = [any(isinstance(plain(row[i]), Bounded) for row in table.rows) for i in range(len(table.columns))]
        marked = any(isinstance(cell, Marked) for row in table.rows for cell in row)
        headers = [name for column, wide in zip(table.columns, bounded, strict=True) for name in _headers(column, wide)]
        if table.headed:
            yield _line([*headers, "marks"] if marked else headers)
        for row in table.rows:
            values = [
                value
                for column, wide, cell in zip(table.columns, bounded, row, strict=True)
                for value in _values(column, wide, cell)
            ]
            yield _line([*values, _marks(table.columns, row)] if marked else values)
    for note in filter(None, table.notes):
        yield _comment(note)


def _comment(text: str) -> str:
    return f"# {' '.join(text.split())}"


def _headers(column: Column, bounded: bool) -> list[str]:
    unit = column.unit or UNITS.get(column.form, "")
    names = [column.name, *(f"{column.name} {end}" for end in ("low", "high"))] if bounded else [column.name]
    return [f"{name} [{unit}]" if name and unit else name or unit for name in names]


def _values(column: Column, bounded: bool, cell: Cell) -> list[Any]:
    value = plain(cell)
    if isinstance(value, Bounded):
        return [_number(column, one) for one in (value.value, value.low, value.high)]
    return [_number(column, value), "", ""] if bounded else [_number(column, value)]


def _number(column: Column, value: Any) -> Any:
    scaled = column.scaled(value)
    if isinstance(scaled, bool):
        return "yes" if scaled else "no"
    if isinstance(scaled, float):
        return repr(float(scaled)) if abs(scaled) < float("inf") else ""
    return scaled


def _marks(columns: Sequence[Column], row: Row) -> str:
    """Return the marks of a row, each with its column and its reasons."""
    return "; ".join(
        " ".join(filter(None, (column.name or column.unit, cell.mark, ", ".join(cell.why))))
        for column, cell in zip(columns, row, strict=True)
        if isinstance(cell, Marked)
    )


def _line(cells: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()
