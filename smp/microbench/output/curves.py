"""Series of figures from rows of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import COLOURS, MARKERS, Series

BAND = "band: minimum to 95th percentile"
SPREAD = ("minimum_ns", "p95_ns")
"""The fields that this band goes between."""
Samples = NDArray[Any] | None
"""The raw samples of a section, as its probe leaves them, if they were kept."""


def column(rows: Iterable[Any], name: str) -> NDArray[np.float64]:
    """Return one number of each row; NaN where it is missing."""
    found = (getattr(row, name) for row in rows)
    return np.array([math.nan if value is None else value for value in found], np.float64)


def select(rows: Iterable[Any], ascending: str, /, **fixed: Any) -> list[Any]:
    """Return the rows with these fields, ascending in another."""
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
        Their fields.
    between : tuple of str (2,), optional
        The fields that each point's spread goes between.
    scale : float
        Of all but x.
    **look
        See `Series`.
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
    """Return a curve for each value of a field, or for each of these ``values`` of it: see `curve`."""
    found = values or sorted({getattr(row, field) for row in rows})
    return [
        curve(label(value), mine, x, y, **nth(k) | look)
        for k, value in enumerate(found)
        if (mine := select(rows, x, **{field: value}))
    ]


def reasons(rows: Iterable[Any]) -> list[str]:
    """Return why each row is not valid, empty for one that is."""
    return [
        "; ".join(row.why or ["no reason was recorded"]) if getattr(row, "valid", None) is False else "" for row in rows
    ]


def places(values: Iterable[float], apart: float = 1.5) -> list[float]:
    """Return those of the values at which a logarithmic axis has room for numbers: so many times apart.

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
    """Return a title that was computed from rows, with a word against it where one of them is not valid."""
    return f"{title} (not valid)" if any(reasons(rows)) else title


def nth(k: int) -> dict[str, Any]:
    """Return the colour and marker of one of several series."""
    return {"colour": k % COLOURS, "marker": k % MARKERS}
