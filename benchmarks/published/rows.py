"""Rows of a comparison: the number in a paper, that of the emulated machine, and the range that is demanded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One result.

    Attributes
    ----------
    what : str
    printed : float or None
        The number in the paper, if there is one.
    ours : float
    low, high : float
        The demanded range.
    kind : {"set", "pred"}
        "set" if settings of the machine were chosen from the printed number, "pred" if none was.
    unit : str
    note : str
    """

    what: str
    printed: float | None
    ours: float
    low: float
    high: float
    kind: str
    unit: str = ""
    note: str = ""

    @property
    def inside(self) -> bool:
        return bool(self.low <= self.ours <= self.high)

    @property
    def error(self) -> float | None:
        """The relative error against the printed number."""
        return self.ours / self.printed - 1.0 if self.printed else None


def about(what: str, printed: float, ours: float, part: float, kind: str, unit: str = "", note: str = "") -> Row:
    """Return a row whose demanded range is the printed number, plus and minus a part of it."""
    return Row(what, printed, ours, printed * (1 - part), printed * (1 + part), kind, unit, note)


def fact(what: str, holds: bool, note: str = "") -> Row:
    """Return a row for a statement, which is 1 if it holds and 0 if not."""
    return Row(what, 1.0, float(holds), 1.0, 1.0, "pred", "", note)


def show(rows: Iterable[Row]) -> None:
    """Print rows as a table."""
    print(f"{'':<66}{'printed':>9}{'ours':>9}{'error':>8}{'demanded':>17}  {'':<5}{'':<8}")
    for row in rows:
        printed = "" if row.printed is None else f"{row.printed:.3g}"
        error = "" if row.error is None else f"{100 * row.error:+.0f}%"
        name = f"{row.what}{', ' + row.unit if row.unit else ''}"
        demanded = f"{row.low:.3g} to {row.high:.3g}"
        verdict = "inside" if row.inside else "OUTSIDE"
        print(f"{name:<66}{printed:>9}{row.ours:>9.3g}{error:>8}{demanded:>17}  {row.kind:<5}{verdict:<8}")
        if row.note:
            print(f"    {row.note}")


def save(rows: Iterable[Row], path: Path) -> None:
    """Write rows as JSON."""
    made = [{**asdict(row), "error": row.error, "inside": row.inside} for row in rows]
    path.write_text(json.dumps(made, indent=1, default=float) + "\n", encoding="utf-8")
