"""Terms of the models of relaxation, as expressions of rows, columns and iterations.

    a sweep       cells that are relaxed; cells at the ends of rows, which are done one by one; all cells of rows too
                  short for vectors; and the length of a row
    the memory    cells for which the processors' own caches have no room

Source: Brewer, Portable High-Performance Supercomputing, section 4.4.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .red_black import Grid
from .row_pair import VECTOR

GRIDS = {"rows": "8..4096 x 9", "columns": "8..4096 x 9", "iterations": "1..100 x 4"}
"""The inputs of all models."""
MOST_CELLS, MOST_WORK = 4_000_000, 100_000_000
"""Largest number of cells of a measured grid, and of its cells times iterations."""
CACHES = 1 << 20, 1 << 21
"""Usual sizes of a processor's own cache, in bytes."""
CELLS = "(rows - 2) * (columns - 2)"


def sweep(size: int, wide: int = 1) -> list[str]:
    """Return the terms of a sweep over cells of ``size`` bytes, in ``wide`` blocks next to each other."""
    ends = 3 * VECTOR // size * wide
    return [CELLS, f"(rows - 2) * min(columns - 2, {ends})", f"{CELLS} * (columns - 2 < {ends})", "columns"]


def memory(size: int, processors: int) -> list[str]:
    """Return terms for the cells, of ``size`` bytes each, for which the processors' caches have no room."""
    return [f"max(0, rows * columns - {processors * cache // size})" for cache in CACHES]


def times(factor: str, terms: Sequence[str]) -> list[str]:
    """Return each term multiplied by a factor."""
    return [f"{factor} * {term}" for term in terms]


def random_grid(rows: int, columns: int, iterations: int, kind: str) -> Grid:
    """Return a random grid with the given rows, and with the given columns or as many as may be measured."""
    most = min(MOST_CELLS, MOST_WORK // iterations) // rows
    return np.random.default_rng(rows).random((rows, min(columns, most)), np.dtype(kind).type)
