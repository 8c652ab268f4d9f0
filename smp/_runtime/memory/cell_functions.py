"""The operations on cells as functions, which compiled loops and Python both call.

From Python each of them is the method of `Cells`; ``cells_in_loops`` says what it is in a compiled loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..loops import atomics
from ..loops.atomics import Words
from .cells import Cells


def readfe(cells: Cells, i: int) -> Any:
    """Wait until cell ``i`` is full, leave it empty, return its value.

    Raises
    ------
    Aborted
        When another processor fails; so do all that wait.
    """
    return cells.readfe(i)


def readff(cells: Cells, i: int) -> Any:
    """Wait until cell ``i`` is full, leave it full, return its value."""
    return cells.readff(i)


def readxx(cells: Cells, i: int) -> Any:
    """Return the value of cell ``i``, be it full or empty."""
    return cells.readxx(i)


def writeef(cells: Cells, i: int, value: Any) -> None:
    """Wait until cell ``i`` is empty, leave ``value`` in it and it full."""
    cells.writeef(i, value)


def writeff(cells: Cells, i: int, value: Any) -> None:
    """Wait until cell ``i`` is full, and put ``value`` in the place of what is in it."""
    cells.writeff(i, value)


def writexf(cells: Cells, i: int, value: Any) -> None:
    """Leave ``value`` in cell ``i`` and it full, whatever it was."""
    cells.writexf(i, value)


def purge(cells: Cells, i: int, value: Any = 0) -> int:
    """Leave ``value`` in cell ``i`` and it empty; return how many writers that released, 0 or 1."""
    return cells.purge(i, value)


def fill(cells: Cells, i: int) -> None:
    """Leave cell ``i`` full, with the value that is in it."""
    cells.fill(i)


def fetch_add(target: Cells | Words, i: int, value: Any) -> Any:
    """Add to an element of an array, atomically, or to a cell once it is full; return the value before."""
    return atomics.fetch_add(target, i, value) if isinstance(target, np.ndarray) else target.fetch_add(i, value)


def try_readfe(cells: Cells, i: int) -> tuple[bool, Any]:
    """Do `readfe` if it need not wait; return whether it did, and the value."""
    return cells.try_readfe(i)


def try_readff(cells: Cells, i: int) -> tuple[bool, Any]:
    """Do `readff` if it need not wait; return whether it did, and the value."""
    return cells.try_readff(i)


def try_writeef(cells: Cells, i: int, value: Any) -> bool:
    """Do `writeef` if it need not wait; return whether it did."""
    return cells.try_writeef(i, value)


def try_writeff(cells: Cells, i: int, value: Any) -> bool:
    """Do `writeff` if it need not wait; return whether it did."""
    return cells.try_writeff(i, value)


def try_fetch_add(cells: Cells, i: int, value: Any) -> tuple[bool, Any]:
    """Do `fetch_add` on a cell if it need not wait; return whether it did, and the value before."""
    return cells.try_fetch_add(i, value)


def peek(cells: Cells, i: int) -> tuple[bool, Any]:
    """Return whether cell ``i`` is full, and its value, of one and the same moment."""
    return cells.peek(i)
