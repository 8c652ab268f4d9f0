"""Rows that compare a published number with an emulated one, and tables of them.

set     a parameter of the machine was set from the number: agreement shows that the setting works
pred    nothing was set from it: agreement is evidence
-       no demand: a coefficient that carries little of the time, or a number that the source contradicts
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from smp._output.figure import Figure


@dataclass(frozen=True)
class Row:
    """A published number next to the emulated one.

    Attributes
    ----------
    what : str
    printed, ours : float
    unit : str
    kind : {"set", "pred", "-"}
    low, high : float
        The demand: ``low <= ours <= high``.
    """

    what: str
    printed: float
    ours: float
    unit: str
    kind: str
    low: float = -math.inf
    high: float = math.inf

    @property
    def inside(self) -> bool:
        """Whether the demand is met."""
        return self.low <= self.ours <= self.high

    @property
    def error(self) -> float:
        """Relative error; NaN if the published number is 0."""
        return self.ours / self.printed - 1 if self.printed else math.nan


def within(what: str, printed: float, ours: float, unit: str, kind: str, tolerance: float) -> Row:
    """Return a row whose demand is a relative tolerance."""
    low, high = sorted((printed * (1 - tolerance), printed * (1 + tolerance)))
    return Row(what, printed, ours, unit, kind, low, high)


@dataclass
class Table:
    """A title, rows, and lines of remarks below."""

    title: str
    rows: list[Row] = field(default_factory=list)
    remarks: Sequence[str] = ()

    def show(self) -> None:
        """Print the table."""
        wide = max([len(row.what) for row in self.rows], default=0)
        print(f"\n{self.title}")
        print(f"{'':{wide}} {'printed':>10} {'ours':>10} {'':8} {'error':>8}  {'kind':4} inside")
        for row in self.rows:
            inside = "-" if row.kind == "-" else "yes" if row.inside else "NO"
            error = "" if math.isnan(row.error) else f"{row.error:+.1%}"
            numbers = f"{row.printed:>10.4g} {row.ours:>10.4g} {row.unit:8} {error:>8}"
            print(f"{row.what:{wide}} {numbers}  {row.kind:4} {inside}")
        for remark in self.remarks:
            print(f"  {remark}")


@dataclass
class Report:
    """Tables, further numbers as plain JSON, and figures."""

    tables: list[Table]
    numbers: dict[str, Any] = field(default_factory=dict)
    drawn: list[Figure] = field(default_factory=list)

    def show(self) -> None:
        """Print the tables, and how many of the predicted rows are inside."""
        for table in self.tables:
            table.show()
        print()
        for kind in ("set", "pred"):
            rows = [row for table in self.tables for row in table.rows if row.kind == kind]
            if rows:
                inside = sum(row.inside for row in rows)
                print(f"{kind}: {inside} of {len(rows)} rows inside ({inside / len(rows):.0%})")

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as plain JSON."""
        rows = {table.title: [_plain(row) for row in table.rows] for table in self.tables}
        return {"tables": rows, **self.numbers}

    def figures(self) -> Iterable[Figure]:
        """Return the figures."""
        return self.drawn


def _plain(row: Row) -> dict[str, Any]:
    made = {
        key: None if isinstance(value, float) and math.isinf(value) else value for key, value in asdict(row).items()
    }
    return {**made, "error": None if math.isnan(row.error) else row.error, "inside": row.inside}
