"""Formats tables as text for the terminal: columns are two blanks apart, units below names, and numbers flush right."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile, zip_longest

from .table import Cell, Column, Part, Table, mark

GAP = 2
BETWEEN = 4
"""Blanks between tables that stand side by side."""
SHORT = 8
"""Most characters of a name that is never broken, however narrow its column."""
NARROWEST = 24
"""Smallest width of a column of texts that are broken to fit the screen, in characters."""

Lines = list[str]


def report(parts: Sequence[Part], width: int | None = None, bold: bool = False) -> str:
    """Return a report as text.

    Parameters
    ----------
    parts : sequence of Part
    width : int, optional
        Width of the screen in characters.  Notes and texts are broken to fit it, and wide tables are folded.  Without a
        width, nothing is broken or folded.
    bold : bool
        True to show headings, titles and headers in bold.
    """
    found: Lines = []
    for part in parts:
        if part.title:
            found += [_strong(f"{part.title} ".ljust(width or 0, "-"), bold), ""]
        if part.note:
            found += [*(_strong(line, bold) for line in _broken(part.note, width)), ""]
        blocks: list[Lines] = []
        for table in part.tables:
            block = list(_lines(table, width, bold))
            if table.beside:
                left = _stacked(blocks[-table.beside :])
                blocks[-table.beside :] = _side_by_side(left, block, width, bold)
            else:
                blocks.append(block)
        found += [*_stacked(blocks), ""]
    return "\n".join(found[:-1])


def text(table: Table, width: int | None = None) -> str:
    """Return a table as text, as `report` does."""
    return "\n".join(_lines(table, width, bold=False))


class Printed(Table):
    """A table that ``print`` shows as text for the terminal."""

    def __str__(self) -> str:
        return text(self)


def _lines(table: Table, width: int | None, bold: bool) -> Iterator[str]:
    if table.title:
        yield from (_strong(line, bold) for line in _broken(table.title, width))
    if table.columns:
        yield from _grid(table, width, bold)
    for note in filter(None, table.notes):
        yield from _broken(note, width)


def _grid(table: Table, width: int | None, bold: bool) -> Iterator[str]:
    columns = table.columns
    cells = [_column_cells(column, [row[i] for row in table.rows]) for i, column in enumerate(columns)]
    widths = [max(map(len, found), default=0) for found in cells]
    headers = [_header(column, wide) for column, wide in zip(columns, widths, strict=True)]
    widths = [max(wide, *map(len, header)) for wide, header in zip(widths, headers, strict=True)]
    texts = [i for i, column in enumerate(columns) if column.left]
    if width and texts and (over := _total(widths) - width) > 0:
        at = max(texts, key=lambda i: widths[i])
        widths[at] = max(widths[at] - over, min(widths[at], NARROWEST))
    height = max(map(len, headers))
    tops = [[""] * (height - len(header)) + header for header in headers]
    for which in _folds(columns, widths, width):
        if table.headed:
            yield from (_strong(line, bold) for line in _rows(columns, widths, which, zip(*tops, strict=True)))
            yield "-" * _total([widths[i] for i in which])
        for row in zip(*cells, strict=True):
            broken = [_broken(cell, widths[i]) if i in texts else [cell] for i, cell in enumerate(row)]
            yield from _rows(columns, widths, which, zip_longest(*broken, fillvalue=""))


def _folds(columns: Sequence[Column], widths: Sequence[int], width: int | None) -> Iterator[list[int]]:
    """Yield the indices of the columns in each part of a table that is folded to fit.

    The columns that name the rows appear in every part.
    """
    names = [*takewhile(lambda i: columns[i].form in ("text", "count"), range(len(columns)))]
    which = names = names if len(names) < len(columns) else names[:1]
    for i in range(len(names), len(columns)):
        if width and which != names and _total([widths[k] for k in (*which, i)]) > width:
            yield which
            which = names
        which = [*which, i]
    yield which


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _column_cells(column: Column, cells: Sequence[Cell]) -> Lines:
    """Return the cells of a column. If one of them has a mark, numbers without a mark leave room for it."""
    marks = [mark(cell) for cell in cells]
    room = max(map(len, marks), default=0)
    shown = [column.shown(cell) for cell in cells]
    if not room:
        return shown
    if column.left:
        return [f"{cell} {sign}".rstrip() for cell, sign in zip(shown, marks, strict=True)]
    return [f"{cell} {sign.ljust(room)}" for cell, sign in zip(shown, marks, strict=True)]


def _header(column: Column, width: int) -> Lines:
    longest = max(map(len, column.name.replace("-", "- ").split()), default=0)
    words = textwrap.wrap(column.name, max(width, longest, SHORT))
    return [*words, column.unit] if column.unit else words or [""]


def _rows(
    columns: Sequence[Column], widths: Sequence[int], which: Sequence[int], rows: Iterable[Sequence[str]]
) -> Iterator[str]:
    for cells in rows:
        sides = (cells[i].ljust(widths[i]) if columns[i].left else cells[i].rjust(widths[i]) for i in which)
        yield (" " * GAP).join(sides).rstrip()


def _broken(text: str, width: int | None) -> Lines:
    if not width:
        return text.splitlines()
    return [
        part
        for line in text.splitlines() or [""]
        for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    ]


def _stacked(blocks: Sequence[Lines]) -> Lines:
    return [line for block in blocks for line in ("", *block)][1:]


def _side_by_side(left: Lines, right: Lines, width: int | None, bold: bool) -> list[Lines]:
    wide = max(map(_seen, left))
    if not width or wide + BETWEEN + max(map(_seen, right)) > width:
        return [left, right]
    pairs = zip_longest(left, right, fillvalue="")
    return [[(a + " " * (wide + BETWEEN - _seen(a)) + b).rstrip() for a, b in pairs]]


BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def _strong(line: str, bold: bool) -> str:
    return f"{BOLD}{line}{PLAIN}" if bold and line else line


def _seen(line: str) -> int:
    """Return the width of a line on the screen, in characters."""
    return len(line.removeprefix(BOLD).removesuffix(PLAIN))
