"""Tables as plain data, which any renderer can show.

    report   =  parts, each with a heading, a warning about it, and tables
    table    =  a title, columns, rows of raw values, notes below
    column   =  a name, a unit, and the form in which its values are shown

    table ─▶ `terminal`   columns of text            table ─▶ `delimited`   CSV: raw numbers, the unit in the header
          ─▶ `markdown`   the same numbers as in the terminal

A value does not depend on the form in which it is shown. It is rounded only when it is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import numbers

UNITS = {"time": "s", "bytes": "bytes"}
"""Base units of the forms that choose a larger or smaller unit for each value, and show the unit with the value."""


@dataclass(frozen=True)
class Bounded:
    """A number with its interval; a bound that is open is None."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Marked:
    """A value with a mark, which a note below explains, and the reasons. ``!`` marks a value that is not valid."""

    value: Plain
    mark: str = "!"
    why: tuple[str, ...] = ()


Plain = float | str | Bounded | None
"""A number or a text. It is None if a number is missing, and an empty text if none is expected."""
Cell = Plain | Marked
Row = Sequence[Cell]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
    unit : str
        Unit of the values after they are multiplied by ``scale``; empty for the forms ``time`` and ``bytes``.
    form : str
        One of `numbers.FORMS`; ``text`` is flush left, all others are flush right.
    digits : int, optional
        Number of significant digits for the forms ``number`` and ``short``, and of decimals for the form ``fixed``.
    scale : float
        Factor by which the values are multiplied to be in the unit.
    """

    name: str
    unit: str = ""
    form: str = "number"
    digits: int | None = None
    scale: float = 1.0

    @property
    def left(self) -> bool:
        """True if the column is flush left."""
        return self.form == "text"

    def scaled(self, value: Any) -> Any:
        """Return a number in the unit of the column; anything else as it is."""
        if value is None or isinstance(value, str) or self.scale == 1.0:
            return value
        # 1,000 is exact in floating point, and 0.001 is not
        return value * self.scale if self.scale > 1.0 else value / (1.0 / self.scale)

    def shown(self, cell: Cell) -> str:
        """Return a cell as text, without its mark."""
        value = plain(cell)
        if not isinstance(value, Bounded):
            return numbers.shown(self.scaled(value), self.form, self.digits)
        ends = (
            "open" if end is None else numbers.number(self.scaled(end), digits=2) for end in (value.low, value.high)
        )
        return f"{numbers.shown(self.scaled(value.value), self.form, self.digits)} [{', '.join(ends)}]"


@dataclass(frozen=True)
class Table:
    """A table, or only notes if it has no columns.

    Parameters
    ----------
    title : str
    columns : sequence of Column
        Columns of the table. If no column has a name or a unit, the table has no headers. Such a table lists names and
        a text about each.
    rows : sequence of sequence of Cell
    notes : sequence of str
        Lines below the table; empty ones are left out.
    beside : int
        Number of preceding tables that a wide screen shows to its left.
    """

    title: str = ""
    columns: Sequence[Column] = ()
    rows: Sequence[Row] = ()
    notes: Sequence[str] = ()
    beside: int = 0

    @property
    def headed(self) -> bool:
        """True if the table has headers."""
        return any(column.name or column.unit for column in self.columns)


@dataclass(frozen=True)
class Part:
    """A part of a report.

    Parameters
    ----------
    title : str
        Heading of the part; empty for no heading.
    tables : sequence of Table
    note : str
        Warning that concerns the whole part.
    """

    title: str
    tables: Sequence[Table]
    note: str = ""


def text(name: str = "") -> Column:
    """Return a column of texts."""
    return Column(name, form="text")


def counted(name: str) -> Column:
    """Return a column of whole numbers."""
    return Column(name, form="count")


def ratio(name: str) -> Column:
    """Return a column of numbers with two decimals."""
    return Column(name, form="fixed")


def share(name: str) -> Column:
    """Return a column of fractions that are shown in per cent."""
    return Column(name, "%", "percent", scale=100.0)


def plain(cell: Cell) -> Plain:
    """Return the value of a cell."""
    return cell.value if isinstance(cell, Marked) else cell


def mark(cell: Cell) -> str:
    """Return the mark of a cell, if it has one."""
    return cell.mark if isinstance(cell, Marked) else ""
