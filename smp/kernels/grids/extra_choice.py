"""Choose the extra rows and columns of the outermost blocks by the calibrated model of a layout.

    model of the layout, shared out evenly  ─▶  charges of a cell and of an element  ─▶  `best_extra`  ─▶  rows, columns

The model gives the time of one more iteration for grids of about this size.  The two charges are those with which the
amounts of these grids explain these times best.  So no number of the machine has to be known.

Source: Brewer, Portable High-Performance Supercomputing, section 5.2, equations 38 to 41.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .extra_rows import Charges, amounts, best_extra, iteration_time
from .layouts import Shape, blocks_of, rectangles

FACTORS = 0.5, 0.75, 1.0, 1.5, 2.0
"""Factors of both sides of the grids with which the charges are found."""
FEW, MANY = 10, 100
"""Numbers of iterations whose difference gives the time of one more."""
Predict = Callable[..., float]
"""The prediction of a model of rows, columns and iterations."""


class Extra(NamedTuple):
    """Extra rows and columns, and the share of the time that they are predicted to save."""

    rows: int
    columns: int
    saved: float
    """By the charges: both kinds of blocks, and the phases of a superstep, are taken into account."""
    filled: float
    """By equation 41 of the source: as if the extra rows and columns took no time at all."""


def extra_by_model(
    predict: Predict, shape: Shape, p: int, *, layout: str = "square", blocks: tuple[int, int] | None = None
) -> Extra:
    """Return the extra rows and columns with which `relax_red_black` is predicted to be the fastest.

    Parameters
    ----------
    predict : callable
        ``predict(rows, columns, iterations)`` returns the predicted seconds of the layout, shared out evenly.
    shape : (int, int)
        Rows and columns of the grid.
    p : int
        Number of processors.
    layout, blocks
        As for `smp.kernels.grids.layouts.rectangles`; not "shared", which exchanges nothing.

    Returns
    -------
    Extra
        Zeros if no block has neighbours on both sides, or if nothing can be saved.
    """
    if layout == "shared" or max(blocks_of(_interior(shape), p, layout, blocks)) < 3:
        return Extra(0, 0, 0.0, 0.0)
    charges = charges_of(predict, shape, p, layout=layout, blocks=blocks)
    rows, columns = best_extra(shape, p, charges, layout=layout, blocks=blocks)
    even, uneven = (
        iteration_time(
            shape,
            rectangles(shape, p, layout=layout, blocks=blocks, extra_rows=each[0], extra_columns=each[1]),
            charges,
        )
        for each in ((0, 0), (rows, columns))
    )
    whole = _iteration(predict, shape)
    if not uneven < even or not 0 < whole < math.inf:
        return Extra(0, 0, 0.0, 0.0)
    return Extra(rows, columns, (even - uneven) / whole, filled(predict, shape, rows, columns))


def filled(predict: Predict, shape: Shape, rows: int, columns: int) -> float:
    """Return the share of an iteration that is saved if extra rows and columns only fill idle time (equation 41).

    Examples
    --------
    >>> filled(lambda rows, columns, iterations: iterations * rows * columns, (100, 100), 1, 2)
    0.0592
    """
    smaller = shape[0] - 2 * rows, shape[1] - 2 * columns
    return round(1 - _iteration(predict, smaller) / _iteration(predict, shape), 12)


def charges_of(
    predict: Predict, shape: Shape, p: int, *, layout: str = "square", blocks: tuple[int, int] | None = None
) -> Charges:
    """Return the charges that explain the predicted times of an iteration on grids of about the given shape best.

    The constant part of an iteration, which is barriers and other work of the runtime, is fitted as well. No charge is
    below zero.
    """
    from scipy.optimize import nnls  # SciPy takes a while to import, and relaxation without models does not need it

    high, wide = blocks_of(_interior(shape), p, layout, blocks)
    counts, times = [], []
    for down, across in itertools.product(FACTORS, FACTORS):
        grid = max(round(shape[0] * down), 2 * high + 2), max(round(shape[1] * across), 2 * wide + 2)
        cells, exchanged = amounts(grid, rectangles(grid, p, layout="rectangular", blocks=(high, wide)))
        seconds = _iteration(predict, grid)
        if 0 < seconds < math.inf:
            counts.append([1.0, cells, exchanged])
            times.append(seconds)
    if len(times) < 3:
        return Charges(1.0, 0.0)
    weighed = np.array(counts) / np.array(times)[:, None]
    scale = weighed.max(axis=0)
    found = nnls(weighed / scale, np.ones(len(times)))[0] / scale
    return Charges(float(found[1]), float(found[2]))


def extra_arguments(predict: Predict, shape: Shape, p: int, layout: dict[str, Any]) -> dict[str, int]:
    """Return the arguments ``extra_rows`` and ``extra_columns`` of `relax_red_black` for a layout; empty for none."""
    found = _kept(predict, (shape[0], shape[1]), p, layout["layout"], layout.get("blocks"))
    return {"extra_rows": found.rows, "extra_columns": found.columns} if found.rows or found.columns else {}


@functools.lru_cache
def _kept(predict: Predict, shape: Shape, p: int, layout: str, blocks: tuple[int, int] | None) -> Extra:
    return extra_by_model(predict, shape, p, layout=layout, blocks=blocks)


def _iteration(predict: Predict, shape: Shape) -> float:
    """Return the predicted time of one more iteration."""
    few, many = (predict(rows=shape[0], columns=shape[1], iterations=n) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _interior(shape: Shape) -> tuple[int, int]:
    return max(shape[0] - 2, 0), max(shape[1] - 2, 0)
