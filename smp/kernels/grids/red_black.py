"""Red-black successive over-relaxation of a grid: the formula of a cell, and a sweep over a rectangle of cells.

    row 0   . . . . .      . boundary: fixed
        1   . r b r .      r red, i + j even: neighbours are black
        2   . b r b .      b black, i + j odd: neighbours are red
        3   . . . . .

    new = omega / 4 * ((north + south) + (west + east)) + (1 - omega) * old

An iteration relaxes all red cells, then all black ones.  Cells of one colour do not read one another, so the result is
the same to the last bit in any order, on any number of processors.  The operations are done in the grid's own dtype, in
the order written, and are never contracted.

Source: D. M. Young, Iterative methods for solving partial difference equations of elliptic type.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import inline, local
from smp.errors import NotConverged

from .row_pair import VECTOR, relax_row_pair

CHECK = 8
"""Number of iterations after which the change is looked at."""
WORTH_VECTORS = 2
"""Number of vectors in a row from which they pay; in narrow rows, they read cells that were just written one by one."""
RED, BLACK = 0, 1
Grid = NDArray[Any]


def best_omega(rows: int, columns: int) -> float:
    """Return the over-relaxation that converges fastest on a rectangle.

    Parameters
    ----------
    rows, columns : int
        Rows and columns of the grid, including its boundary.

    Returns
    -------
    float
        ``2 / (1 + sqrt(1 - rho**2))``, where ``rho`` is the spectral radius of Jacobi's iteration.

    Notes
    -----
    This is for the five-point Laplacian with a fixed boundary (Young, 1954).  A grid with no interior gives 1.

    Examples
    --------
    >>> from smp.kernels.grids.red_black import best_omega
    >>> round(best_omega(100, 100), 3)
    1.938
    """
    if min(rows, columns) < 3:
        return 1.0
    rho = (math.cos(math.pi / (rows - 1)) + math.cos(math.pi / (columns - 1))) / 2
    return 2 / (1 + math.sqrt(1 - rho * rho))


def checked_omega(omega: float | None, rows: int, columns: int) -> float:
    """Return ``omega``, or the best one for such a grid; raise ValueError if relaxation would not converge."""
    if omega is None:
        return best_omega(rows, columns)
    if not 0 < omega < 2:
        raise ValueError(f"omega is {omega}, but relaxation converges only for 0 < omega < 2")
    return float(omega)


def check_converged(iterations: int, change: float, tolerance: float) -> None:
    """Raise `NotConverged` unless the change of the last iteration is below the tolerance."""
    if not change < tolerance:
        way_out = (
            "a value in the grid is not a number (NaN)"
            if math.isnan(change)
            else "allow more iterations or a larger tolerance"
        )
        raise NotConverged(
            f"after {iterations} iteration{'s' * (iterations != 1)} the largest change is {change:.3g}, not below "
            f"the tolerance of {tolerance:.3g}: {way_out}"
        )


_POINTS = "max(bottom - top, 0) * max(right - left, 0) / 2"
_CYCLES = f"(5 * load + store + 9 * flop + 2 * int + 2 * branch) * {_POINTS}"
_OF_ROWS = "(7 * int + 2 * branch) * max(bottom - top, 0) + call"


# Declared, since the vectors begin where the address of the grid says: the price is that of `relax_cells`.
@local(name="stencil.sweep", terms={"point": _POINTS}, cost=f"{_CYCLES} + {_OF_ROWS}", oblivious=True)
def relax_rectangle(
    grid: Grid, top: int, bottom: int, left: int, right: int, colour: int, quarter: float, keep: float
) -> float:
    """Relax in place all cells of one colour with ``top <= i < bottom`` and ``left <= j < right``.

    Parameters
    ----------
    grid : C-contiguous array of shape (rows, columns), float32 or float64
    top, bottom, left, right : int
        The rectangle, without the boundary: ``1 <= top``, ``bottom <= rows - 1`` and so on.  It may be empty.
    colour : int
        0 for red, 1 for black.  A block that was cut out of a larger grid keeps the colours of that grid if this is
        ``(colour + row + column) % 2``, with the row and column of its first cell.
    quarter, keep : float
        ``omega / 4`` and ``1 - omega``; they are rounded to the grid's dtype.

    Returns
    -------
    float
        The largest change of a cell; NaN if a cell has become NaN.
    """
    a, b = grid.dtype.type(quarter), grid.dtype.type(keep)
    lanes = VECTOR // grid.itemsize
    start = left
    if grid.shape[1] % lanes == 0:  # all rows are alike: begin at a whole cache line
        start += -(grid.ctypes.data // grid.itemsize + left) % lanes
    count = (right - start) // lanes - 1  # a vector to the right of those is read, but not relaxed
    stop = start + count * lanes
    largest = grid.dtype.type(0)
    i = top
    if count >= WORTH_VECTORS:
        while i + 1 < bottom:
            largest = larger(largest, relax_row_pair(grid, i, start, count, colour, a, b))
            largest = larger(largest, relax_cells(grid, i, i + 2, left, start, colour, a, b))
            largest = larger(largest, relax_cells(grid, i, i + 2, stop, right, colour, a, b))
            i += 2
    return float(larger(largest, relax_cells(grid, i, bottom, left, right, colour, a, b)))


@inline
def larger(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, or NaN if one of them is NaN."""
    return b if b > a or b != b else a


@inline
def relax_cells(grid: Grid, top: int, bottom: int, left: int, right: int, colour: int, quarter: Any, keep: Any) -> Any:
    """Relax a rectangle cell by cell."""
    largest = grid.dtype.type(0)
    for i in range(top, bottom):
        north, here, south = np.uint64(i - 1), np.uint64(i), np.uint64(i + 1)
        for j in range(left + (i + left + colour & 1), right, 2):
            west, there, east = np.uint64(j - 1), np.uint64(j), np.uint64(j + 1)  # unsigned: no check for negative ones
            old = grid[here, there]
            around = (grid[north, there] + grid[south, there]) + (grid[here, west] + grid[here, east])
            new = quarter * around + keep * old
            grid[here, there] = new
            change = abs(new - old)
            if not change <= largest:  # seldom
                largest = larger(largest, change)
    return largest
