"""Relax two rows of a grid at once, with vectors all of whose lanes do useful work.

In a row, only every second cell has a given colour, so half the lanes of a vector would work in vain.  But where row b
has a cell of the colour, row c below it has one of the other colour:

    row a    a0 a1 a2 a3        relaxed:       b0 c1 b2 c3
        b    b0 .. b2 ..        other colour:  c0 b1 c2 b3   one of the two neighbours above and below, and, moved
        c    .. c1 .. c3                                     by a lane to either side, those to the left and right
        d    d0 d1 d2 d3        the fourth:    a0 d1 a2 d3

So one vector is blended from two rows, and 8 float64 cells cost four loads, three blends, two shuffles, six operations,
and two stores.  The function here defines the result; in compiled loops, the vector loop of ``row_pair_instruction``
replaces it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.compiler import imported_with_numba

VECTOR = 64
"""Bytes of a vector; a CPU with shorter vectors uses several."""


def relax_row_pair(grid: NDArray[Any], row: int, left: int, count: int, colour: int, quarter: Any, keep: Any) -> Any:
    """Relax all cells of a colour in two rows and in the columns of ``count`` vectors from ``left`` on.

    Parameters
    ----------
    grid : C-contiguous array of shape (rows, columns), float32 or float64
        Grid to relax.  In the two rows, ``VECTOR`` bytes to the right of those columns are read, too.
    row, left, count, colour : int
        First of the two rows, first column, number of vectors, and colour: 0 if row + column is even, 1 if it is odd.
    quarter, keep : of the grid's dtype
        ``omega / 4`` and ``1 - omega``.

    Returns
    -------
    of the grid's dtype
        The largest change of a cell; NaN if a change is NaN.
    """
    largest = grid.dtype.type(0)
    for i in (row, row + 1):
        for j in range(left + (i + left + colour & 1), left + count * VECTOR // grid.itemsize, 2):
            around = (grid[i - 1, j] + grid[i + 1, j]) + (grid[i, j - 1] + grid[i, j + 1])
            new = quarter * around + keep * grid[i, j]
            largest = np.maximum(largest, abs(new - grid[i, j]))
            grid[i, j] = new
    return largest


imported_with_numba(f"{__package__}.row_pair_instruction")
