"""The operations on cells as functions, which both compiled loops and Python can call.

From Python, each function calls the method of `Cells` with the same name.  For compiled loops, ``cells_in_loops``
defines what it does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..loops import atomics
from ..loops.atomics import Words
from .cells import Cells


def readfe(cells: Cells, i: int) -> Any:
    """Wait until cell ``i`` is full, set it to empty, and return its value.

    Raises
    ------
    Aborted
        If another processor fails. Every other operation that waits raises it as well.
    """
    return cells.readfe(i)


def readff(cells: Cells, i: int) -> Any:
    """Wait until cell ``i`` is full, leave it full, and return its value."""
    return cells.readff(i)


def readxx(cells: Cells, i: int) -> Any:
    """Return the value of cell ``i``, whether it is full or empty."""
    return cells.readxx(i)


def writeef(cells: Cells, i: int, value: Any) -> None:
    """Wait until cell ``i`` is empty, store ``value`` in it, and set it to full."""
    cells.writeef(i, value)


def writeff(cells: Cells, i: int, value: Any) -> None:
    """Wait until cell ``i`` is full, and replace its value by ``value``."""
    cells.writeff(i, value)


def writexf(cells: Cells, i: int, value: Any) -> None:
    """Store ``value`` in cell ``i`` and set it to full, whatever its state was."""
    cells.writexf(i, value)


def purge(cells: Cells, i: int, value: Any = 0) -> int:
    """Store ``value`` in cell ``i`` and set it to empty; return the number of writers that this released, 0 or 1."""
    return cells.purge(i, value)


def fill(cells: Cells, i: int) -> None:
    """Set cell ``i`` to full, with the value that is in it."""
    cells.fill(i)


def fetch_add(target: Cells | Words, i: int, value: Any) -> Any:
    """Add to an element of an array, atomically, or to a cell once it is full; return the previous value."""
    return atomics.fetch_add(target, i, value) if isinstance(target, np.ndarray) else target.fetch_add(i, value)


def try_readfe(cells: Cells, i: int) -> tuple[bool, Any]:
    """Do `readfe` if it need not wait; return whether it was done, and the value."""
    return cells.try_readfe(i)


def try_readff(cells: Cells, i: int) -> tuple[bool, Any]:
    """Do `readff` if it need not wait; return whether it was done, and the value."""
    return cells.try_readff(i)


def try_writeef(cells: Cells, i: int, value: Any) -> bool:
    """Do `writeef` if it need not wait; return True if it was done."""
    return cells.try_writeef(i, value)


def try_writeff(cells: Cells, i: int, value: Any) -> bool:
    """Do `writeff` if it need not wait; return True if it was done."""
    return cells.try_writeff(i, value)


def try_fetch_add(cells: Cells, i: int, value: Any) -> tuple[bool, Any]:
    """Do `fetch_add` on a cell if it need not wait; return whether it was done, and the previous value."""
    return cells.try_fetch_add(i, value)


def peek(cells: Cells, i: int) -> tuple[bool, Any]:
    """Return whether cell ``i`` is full, and its value, both at the same moment."""
    return cells.peek(i)
