"""How many rows and columns more than the others the outermost blocks of a grid take, by a model.

    ┌─────┬───┬─────┐
    │     │   │     │     A block at the border of the grid has fewer neighbours to exchange edges with.  Where it has
    ├─────┼───┼─────┤     more rows and columns, those in the middle have fewer, and shorter edges.
    │     │   │     │
    ├─────┼───┼─────┤     Each phase of a superstep takes as long as the slowest processor in it: copy-in and copy-out
    │     │   │     │     as one in the middle, the computation between them as one at a corner.
    └─────┴───┴─────┘

So a row more at the border must save more at the edges than it takes to relax.  (In the source there is no barrier
between the phases: a row need only fill the time that the missing neighbours leave.)  Strips have edges of one length
however many rows they have, and are best shared out evenly.

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
    """What a machine charges, in one unit of time or another."""

    cell: float
    """For a cell of a block, in half an iteration."""
    element: float
    """For an element of an edge, to copy in or out."""


def best_extra(
    shape: Shape, p: int, charges: Charges, *, layout: str = "square", blocks: tuple[int, int] | None = None
) -> tuple[int, int]:
    """Return the extra rows and columns with which an iteration of `relax_red_black` is predicted to be shortest.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the grid.
    p : int
        Processors.
    charges : Charges
    layout, blocks
        As for `smp.kernels.grids.layouts.rectangles`; not "shared", which exchanges nothing.

    Returns
    -------
    extra_rows, extra_columns : int

    Notes
    -----
    First the rows, then the columns.  Each is found through the rows (columns) of the blocks in the middle, with the
    fewest extra ones that leave them so many: so there is about one minimum.  What the rounding to whole rows, and to
    cells of one colour, makes of it is found by going on to neighbours that are better.

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
    """Return what an iteration takes, but for the barriers: for each colour, the slowest processor in each phase."""

    def longest(colour: int, outside: bool) -> int:
        return max(elements(mine.edges(shape, colour, outside=outside)) for mine in sharing)

    exchanged = sum(longest(1 - colour, True) + longest(colour, False) for colour in (RED, BLACK))
    largest = max(elements([mine.part(around=1)]) if mine.cells else 0 for mine in sharing)
    return charges.element * exchanged + charges.cell * 2 * largest


def _best_along(n: int, blocks: int, time: Callable[[int], float]) -> int:
    """The extra rows, of n in so many blocks above each other, or columns beside each other."""
    even = -(-n // blocks)
    if blocks < 3 or even < 2:
        return 0

    def extra(fewer: int) -> int:
        """The fewest extra ones with which those in the middle have so many fewer than an even share."""
        return max(0, -(-(n - (even - fewer) * blocks - 1) // 2))

    return extra(integer_minimum(0, even - 1, lambda fewer: time(extra(fewer))))
