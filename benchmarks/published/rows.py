"""Rows that compare a number of an emulated machine with a published one.

set     the machine was set from the published number, so agreement proves only that the setting works
pred    nothing was set from it, so agreement is evidence
shown   there is no target; the row only shows both numbers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from smp._output.figure import Figure
from smp._output.table import Column, Table, text


@dataclass(frozen=True)
class Row:
    """A number of an emulated machine next to the published one.

    Attributes
    ----------
    result, what : str
        The figure or table that has the published number, and what the number is.
    printed : float or str
        The published number, or a text if the publication has a relation or a range.
    ours : float
        The number of the emulated machine.
    unit : str
    kind : str
        "set", "pred" or "shown".
    low, high : float, optional
        Ends of the target; None where it is open.
    note : str
    """

    result: str
    what: str
    printed: float | str
    ours: float
    unit: str
    kind: str
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def inside(self) -> bool:
        """True if the number is in the target."""
        return bool((self.low is None or self.ours >= self.low) and (self.high is None or self.ours <= self.high))

    @property
    def error(self) -> float | None:
        """The relative error, if a number is printed."""
        return None if isinstance(self.printed, str) or self.printed == 0 else self.ours / self.printed - 1


def near(result: str, what: str, printed: float, ours: float, unit: str, kind: str, part: float) -> Row:
    """Return a row whose target is the published number, give or take a part of it."""
    return Row(result, what, printed, ours, unit, kind, *sorted((printed * (1 - part), printed * (1 + part))))


@dataclass(frozen=True)
class Part:
    """Rows of one part of the experiments, with remarks, figures and tables; ``pictures`` draw into a folder."""

    title: str
    rows: Sequence[Row] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Callable[[Path], object]] = ()
    data: dict[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()


def table_of(part: Part) -> Table:
    """Return a table of the rows of a part, with their targets."""
    columns = (
        text("result"),
        text("what"),
        text("published"),
        Column("emulated"),
        text("unit"),
        Column("error", "%", "fixed", digits=1, scale=100.0),
        text("kind"),
        text("target"),
        text("in it"),
    )
    notes = [f"{row.what}: {row.note}" for row in part.rows if row.note]
    return Table(part.title, columns, [_cells(row) for row in part.rows], [*notes, *part.remarks])


def _cells(row: Row) -> list[Any]:
    printed = row.printed if isinstance(row.printed, str) else f"{row.printed:,.6g}"
    verdict = "" if row.kind == "shown" else "yes" if row.inside else "NO"
    error = "" if row.error is None else row.error
    return [row.result, row.what, printed, row.ours, row.unit, error, row.kind, _target(row), verdict]


def _target(row: Row) -> str:
    if row.kind == "shown":
        return ""
    if row.low is None or row.high is None:
        return "" if row.low is row.high else f"<= {row.high:,.5g}" if row.low is None else f">= {row.low:,.5g}"
    return f"{row.low:,.5g}" if row.low == row.high else f"{row.low:,.5g} to {row.high:,.5g}"


def counted(rows: Sequence[Row]) -> str:
    """Return a line with the number of rows of each kind that are in their targets."""
    found = []
    for kind in ("set", "pred"):
        of_kind = [row for row in rows if row.kind == kind]
        found.append(f"{kind}: {sum(row.inside for row in of_kind)} of {len(of_kind)} inside")
    return ", ".join(found)


def as_json(parts: Sequence[Part]) -> dict[str, Any]:
    """Return all rows and data as values of JSON."""
    rows = [asdict(row) | {"inside": row.inside, "error": row.error} for part in parts for row in part.rows]
    return {"rows": rows, "data": {part.title: part.data for part in parts}}
