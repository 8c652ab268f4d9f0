"""Choose by a model how many extra rows and columns the outermost blocks of a grid should have.

    ┌─────┬───┬─────┐
    │     │   │     │     A block at the border of the grid has fewer neighbours to exchange edges with.  If it has
    ├─────┼───┼─────┤     more rows and columns, the blocks in the middle have fewer, and shorter edges.
    │     │   │     │
    ├─────┼───┼─────┤     Each phase of a superstep takes as long as its slowest processor: copy-in and copy-out as
    │     │   │     │     long as one in the middle, the computation between them as long as one at a corner.
    └─────┴───┴─────┘

So one more row at the border must save more time at the edges than it takes to relax.  (The source has no barrier
between the phases, so there a row need only fill the time that the missing neighbours leave.)  The edges of strips have
the same length however many rows a strip has, so strips are best shared out evenly.

Source: Brewer, Portable High-Performance Supercomputing, section 5.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from smp.models.fit.optimum import integer_minimum

from .layouts import Rectangle, Shape, blocks_of, elements, rectangles
from .red_black import BLACK, RED


class Charges(NamedTuple):
    """Charges of a machine, both in the same unit of time."""

    cell: float
    """Time of one cell of a block, in half an iteration."""
    element: float
    """Time to copy one element of an edge in or out."""


def best_extra(
    shape: Shape, p: int, charges: Charges, *, layout: str = "square", blocks: tuple[int, int] | None = None
) -> tuple[int, int]:
    """Return the extra rows and columns with which an iteration of `relax_red_black` is predicted to be shortest.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the grid.
    p : int
        Number of processors.
    charges : Charges
    layout, blocks
        As for `smp.kernels.grids.layouts.rectangles`; not "shared", which exchanges nothing.

    Returns
    -------
    extra_rows, extra_columns : int

    Notes
    -----
    The rows are found first, then the columns.  The search runs over the number of rows (columns) of the blocks in the
    middle, each with the fewest extra ones that leave that number, so that there is about one minimum.  Rounding to
    whole rows, and to cells of one colour, may move it, so the search then goes on to neighbours that are better.

    Examples
    --------
    >>> best_extra((200, 30), 16, Charges(cell=1, element=1))
    (0, 0)
    >>> best_extra((200, 30), 16, Charges(cell=1, element=8))
    (3, 0)
    """
    interior = max(shape[0] - 2, 0), max(shape[1] - 2, 0)
    high, wide = blocks_of(interior, p, layout, blocks)

    def time(rows: int, columns: int) -> float:
        sharing = rectangles(shape, p, layout=layout, blocks=blocks, extra_rows=rows, extra_columns=columns)
        return iteration_time(shape, sharing, charges)

    def beside(rows: int, columns: int) -> list[tuple[int, int]]:
        around = itertools.product((rows - 1, rows, rows + 1), (columns - 1, columns, columns + 1))
        return [(r, c) for r, c in around if 0 <= r <= interior[0] // 2 and 0 <= c <= interior[1] // 2]

    rows = _best_along(interior[0], high, lambda extra: time(extra, 0))
    best = rows, _best_along(interior[1], wide, lambda extra: time(rows, extra))
    while time(*(better := min(beside(*best), key=lambda extra: time(*extra)))) < time(*best):
        best = better
    return best


def iteration_time(shape: Shape, sharing: Sequence[Rectangle], charges: Charges) -> float:
    """Return the time of an iteration without barriers: for each colour, the slowest processor in each phase."""
    cells, exchanged = amounts(shape, sharing)
    return charges.element * exchanged + charges.cell * cells


def amounts(shape: Shape, sharing: Sequence[Rectangle]) -> tuple[int, int]:
    """Return what an iteration is charged for: cells of a block in both halves, and elements copied in and out."""

    def longest(colour: int, outside: bool) -> int:
        return max(elements(mine.edges(shape, colour, outside=outside)) for mine in sharing)

    exchanged = sum(longest(1 - colour, True) + longest(colour, False) for colour in (RED, BLACK))
    largest = max(elements([mine.part(around=1)]) if mine.cells else 0 for mine in sharing)
    return 2 * largest, exchanged


def _best_along(n: int, blocks: int, time: Callable[[int], float]) -> int:
    """Return the best number of extra rows if n rows are shared out to ``blocks`` block rows; also for columns."""
    even = -(-n // blocks)
    if blocks < 3 or even < 2:
        return 0

    def extra(fewer: int) -> int:
        """Return the least number of extra rows that leaves blocks in the middle an even share minus ``fewer``."""
        return max(0, -(-(n - (even - fewer) * blocks - 1) // 2))

    return extra(integer_minimum(0, even - 1, lambda fewer: time(extra(fewer))))
