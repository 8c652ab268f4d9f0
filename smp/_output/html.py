"""Writes tables in HTML, with the numbers of the terminal, for the page of a report and for notebooks.

All text is escaped.  Texts are flush left by an attribute of their cells, because notebooks remove style sheets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .table import Cell, Column, Marked, Part, Table

LEFT = ' style="text-align:left"'
REGION = '<div class="table" tabindex="0">'


def report(parts: Sequence[Part]) -> str:
    """Return a report in HTML: a heading for each part, its warning, and its tables."""
    blocks = []
    for part in parts:
        blocks += [f"<h2>{escape(part.title)}</h2>"] if part.title else []
        blocks += [f"<p><strong>{escape(part.note)}</strong></p>"] if part.note else []
        blocks += [table(one) for one in part.tables]
    return "\n".join(blocks)


def table(one: Table) -> str:
    """Return a table in HTML, with its title above and its notes below.

    It is in a region that the style sheet of a page can make scroll sideways on a narrow screen, also by the keyboard.
    """
    notes = [f"<li>{escape(' '.join(note.split()))}</li>" for note in one.notes if note]
    below = ["<ul>", *notes, "</ul>"] if notes else []
    if one.columns:
        return "\n".join([REGION, "<table>", *_lines(one), "</table>", "</div>", *below])
    return "\n".join([*([f"<p><strong>{escape(one.title)}</strong></p>"] if one.title else []), *below])


def _lines(one: Table) -> Iterator[str]:
    """Yield the lines of a table. The end tags that HTML does not need are left out: they are a quarter of a table."""
    if one.title:
        yield f"<caption>{escape(one.title)}</caption>"
    if one.headed:
        yield f"<thead><tr>{''.join(map(_header, one.columns))}"
    yield "<tbody>"
    for row in one.rows:
        cells = [_cell(column, cell, k == 0) for k, (column, cell) in enumerate(zip(one.columns, row, strict=True))]
        yield f"<tr>{''.join(cells)}"


def _header(column: Column) -> str:
    return f"<th{LEFT * column.left}>{'<br>'.join(escape(part) for part in (column.name, column.unit) if part)}"


def _cell(column: Column, cell: Cell, first: bool) -> str:
    """Return a cell. A text at the beginning of a row is the row's header."""
    shown = escape(column.shown(cell).strip())
    about = ""
    if isinstance(cell, Marked):
        shown = f"{shown} <b>{escape(cell.mark)}</b>".strip()
        about = f' title="{escape("; ".join(cell.why))}"' if cell.why else ""
    if first and column.left:
        return f"<th{about}>{shown}"
    return f"<td{LEFT * column.left}{about}>{shown}"
