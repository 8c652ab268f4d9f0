"""Make the series of figures from rows of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import COLOURS, MARKERS, Series

BAND = "band: minimum to 95th percentile"
SPREAD = ("minimum_ns", "p95_ns")
"""Fields at the two edges of this band."""
Samples = NDArray[Any] | None
"""Raw samples of a section, as its probe leaves them; None if they were not kept."""


def column(rows: Iterable[Any], name: str) -> NDArray[np.float64]:
    """Return one number of each row; NaN if it is missing."""
    found = (getattr(row, name) for row in rows)
    return np.array([math.nan if value is None else value for value in found], np.float64)


def select(rows: Iterable[Any], ascending: str, /, **fixed: Any) -> list[Any]:
    """Return the rows whose fields have the given values, in ascending order of another field."""
    found = [row for row in rows if all(getattr(row, name) == value for name, value in fixed.items())]
    return sorted(found, key=lambda row: float(getattr(row, ascending)))


def curve(
    name: str,
    rows: Sequence[Any],
    x: str,
    y: str = "ns",
    between: tuple[str, str] | None = None,
    scale: float = 1.0,
    **look: Any,
) -> Series:
    """Return a series with a point for each row.

    Parameters
    ----------
    name : str
    rows : sequence of records
    x, y : str
        Fields of the records.
    between : tuple of str (2,), optional
        Fields at the two ends of each point's spread.
    scale : float
        Factor for all values except x.
    **look
        Appearance of the series; see `Series`.
    """
    if between:
        look["low"], look["high"] = (scale * column(rows, field) for field in between)
    return Series(name, column(rows, x), scale * column(rows, y), invalid=reasons(rows), **look)


def by(
    field: str,
    rows: Sequence[Any],
    x: str,
    y: str,
    label: Callable[[Any], str],
    *,
    values: Iterable[Any] = (),
    **look: Any,
) -> list[Series]:
    """Return a curve for each value of a field, or for each of the given ``values`` of it: see `curve`."""
    found = values or sorted({getattr(row, field) for row in rows})
    return [
        curve(label(value), mine, x, y, **nth(k) | look)
        for k, value in enumerate(found)
        if (mine := select(rows, x, **{field: value}))
    ]


def reasons(rows: Iterable[Any]) -> list[str]:
    """Return the reasons why each row is not valid; empty for a valid row."""
    return [
        "; ".join(row.why or ["no reason was recorded"]) if getattr(row, "valid", None) is False else "" for row in rows
    ]


def places(values: Iterable[float], apart: float = 1.5) -> list[float]:
    """Return the values at which a logarithmic axis has room for numbers: each at least ``apart`` times the one before.

    Examples
    --------
    >>> places([1, 2, 3, 4, 5, 6, 7, 8, 10, 16])
    [1, 2, 3, 5, 8, 16]
    """
    found: list[float] = []
    for value in sorted(set(values)):
        if not found or value >= apart * found[-1]:
            found.append(value)
    return found


def doubted(title: str, rows: Iterable[Any]) -> str:
    """Return a title that was computed from rows, marked as not valid if one of the rows is not."""
    return f"{title} (not valid)" if any(reasons(rows)) else title


def nth(k: int) -> dict[str, Any]:
    """Return the colour and marker of one of several series."""
    return {"colour": k % COLOURS, "marker": k % MARKERS}
