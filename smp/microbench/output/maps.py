"""Heat maps of rows of records: a cell for each pair of values, with a ring if it is not valid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from smp._output.figure import Axis, Cells, Panel, Series

from .curves import reasons

RING = (0.36, 0.32)
"""Position of a cell's ring relative to the middle of the cell, in cells; the number is printed in the middle."""


def heat_map(
    rows: Sequence[Any], places: Sequence[tuple[Any, Any]], x: Axis, y: Axis, label: str, unit: str, value: str = "ns"
) -> Panel:
    """Return a panel with a cell for each row.

    Parameters
    ----------
    rows : sequence of records
    places : sequence of tuple of int (2,)
        Column and row of the cell of each record, counted from 0.
    x, y : Axis
        Axes with names.
    label, unit : str
        Label and unit of the values.
    value : str, optional
        Field of the records that holds the values.
    """
    values = np.full((len(y.names), len(x.names)), np.nan)
    for one, (column, line) in zip(rows, places, strict=True):
        values[line, column] = getattr(one, value)
    cells = Cells(range(len(x.names)), range(len(y.names)), values, label, unit)
    return Panel(x, y, _rings(rows, places), cells=cells)


def _rings(rows: Sequence[Any], places: Sequence[tuple[Any, Any]]) -> list[Series]:
    """Return a ring for each row that is not valid, as points of a line that is broken between any two of them."""
    bad = [(why, place) for why, place in zip(reasons(rows), places, strict=True) if why]
    if not bad:
        return []
    found, across, up = [], [], []
    for why, (column, line) in bad:
        found += [why, ""]
        across += [column + RING[0], math.nan]
        up += [line + RING[1], math.nan]
    return [Series("", across, up, invalid=found)]
