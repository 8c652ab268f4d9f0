"""Two rows of a grid relaxed at once, with vectors that do no work in vain: what it means.

Cells of one colour alternate in a row, and so would half the lanes of a vector.  But where row b has a cell of the
colour, row c below it has one of the other:

    row a    a0 a1 a2 a3        relaxed:       b0 c1 b2 c3
        b    b0 .. b2 ..        other colour:  c0 b1 c2 b3   one of the two neighbours above and below, and, moved
        c    .. c1 .. c3                                     by a lane to either side, those to the left and right
        d    d0 d1 d2 d3        the fourth:    a0 d1 a2 d3

So one vector is blended of two rows, and 8 float64 cells cost four loads, three blends, two shuffles, six operations,
and two stores.  ``row_pair_instruction`` holds the vector loop, which stands for the function here in compiled loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.compiler import imported_with_numba

VECTOR = 64
"""Bytes of a vector; a CPU whose vectors are shorter takes several."""


def relax_row_pair(grid: NDArray[Any], row: int, left: int, count: int, colour: int, quarter: Any, keep: Any) -> Any:
    """Relax all cells of a colour in two rows and in the columns of ``count`` vectors from ``left`` on.

    Parameters
    ----------
    grid : C-contiguous array of shape (rows, columns), float32 or float64
        Of the two rows, ``VECTOR`` bytes to the right of those columns are read, too.
    row, left, count, colour : int
        The first of the two rows; a colour is 0 where row + column is even, 1 where it is odd.
    quarter, keep : of the grid's dtype

    Returns
    -------
    of the grid's dtype
        The largest change of a cell; NaN if one is.
    """
    largest = grid.dtype.type(0)
    for i in (row, row + 1):
        for j in range(left, left + count * VECTOR // grid.itemsize):
            if (i + j) % 2 == colour:
                around = (grid[i - 1, j] + grid[i + 1, j]) + (grid[i, j - 1] + grid[i, j + 1])
                new = quarter * around + keep * grid[i, j]
                largest = np.maximum(largest, abs(new - grid[i, j]))
                grid[i, j] = new
    return largest


imported_with_numba(f"{__package__}.row_pair_instruction")
