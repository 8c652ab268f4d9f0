"""Layouts that share out the interior of a grid to processors, with a rectangle of cells for each.

    uniprocessor     square          vertical        horizontal      rectangular, blocks=(4, 2)
    ┌───────────┐    ┌─────┬─────┐   ┌──┬──┬──┬──┐   ┌───────────┐   ┌─────┬─────┐
    │           │    │  0  │  1  │   │  │  │  │  │   ├───────────┤   ├─────┼─────┤
    │     0     │    ├─────┼─────┤   │0 │1 │2 │3 │   ├───────────┤   ├─────┼─────┤
    │           │    │  2  │  3  │   │  │  │  │  │   ├───────────┤   ├─────┼─────┤
    └───────────┘    └─────┴─────┘   └──┴──┴──┴──┘   └───────────┘   └─────┴─────┘

The outermost rows and columns of the grid belong to no processor.  If there are fewer rows or columns than blocks, some
processors have no cells.

Source: Brewer, Portable High-Performance Supercomputing, sections 4.4.1 (layouts) and 5.2 (extra rows).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

LAYOUTS = ("uniprocessor", "square", "vertical", "horizontal", "rectangular", "shared")
Shape = tuple[int, ...]
"""Rows and columns of a grid."""
Part = tuple[slice, slice]
"""Index of a part of a grid: rows and columns."""


class Rectangle(NamedTuple):
    """The cells (i, j) with top <= i < bottom and left <= j < right."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def cells(self) -> int:
        """Number of cells."""
        return (self.bottom - self.top) * (self.right - self.left)

    def of_colour(self, colour: int) -> int:
        """Return the number of cells that are red (colour 0: i + j is even) or black (colour 1)."""
        corner = (self.top + self.left + colour) % 2 == 0
        return (self.cells + corner) // 2

    def part(self, around: int = 0) -> Part:
        """Return the index of the cells, together with ``around`` rows and columns around them."""
        return slice(self.top - around, self.bottom + around, 1), slice(self.left - around, self.right + around, 1)

    def edges(self, shape: Shape, colour: int, *, outside: bool) -> list[Part]:
        """Return the cells of one colour along each side that has a neighbour.

        Parameters
        ----------
        shape : tuple of int
            Rows and columns of the grid; beyond its outermost ones there is no neighbour.
        colour : int
        outside : bool
            Return the neighbours' cells just outside, instead of the outermost cells of the rectangle.
        """
        if not self.cells:
            return []
        top, bottom, left, right = self
        rows = [top - outside] * (top > 1) + [bottom - 1 + outside] * (bottom < shape[0] - 1)
        columns = [left - outside] * (left > 1) + [right - 1 + outside] * (right < shape[1] - 1)
        return [
            *((slice(i, i + 1, 1), slice(left + (left + i + colour) % 2, right, 2)) for i in rows),
            *((slice(top + (top + j + colour) % 2, bottom, 2), slice(j, j + 1, 1)) for j in columns),
        ]


NOBODYS = Rectangle(1, 1, 1, 1)


def elements(parts: Iterable[Part]) -> int:
    """Return the total number of elements of some parts of a grid."""
    return sum(math.prod(len(range(axis.start, axis.stop, axis.step)) for axis in part) for part in parts)


def rectangles(
    shape: Shape,
    p: int,
    *,
    layout: str = "square",
    blocks: tuple[int, int] | None = None,
    extra_rows: int = 0,
    extra_columns: int = 0,
) -> list[Rectangle]:
    """Share out the interior of a grid.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the grid.
    p : int
        Number of processors.
    layout : {"uniprocessor", "square", "vertical", "horizontal", "rectangular", "shared"}
        "square" and "shared" have p = block rows x block columns, as square as possible.  The larger number is along
        the longer side of the grid; a square grid gets more block rows, because the cells of a row are contiguous.
        "vertical" has 1 x p blocks, "horizontal" p x 1.
    blocks : (int, int), optional
        Numbers of block rows and block columns, for "rectangular" and optionally for "shared".  In strips of rows,
        (p, 1), the processors of "shared" seldom write to the same cache lines.
    extra_rows, extra_columns : int
        Number of rows (columns) by which the first and the last block row (column) exceed those between them, which
        have one more neighbour.  With two or fewer block rows (columns) there is nothing to even out.

    Returns
    -------
    list of Rectangle
        One rectangle for each processor, block row by block row.

    Raises
    ------
    TypeError, ValueError
        There is no such layout; blocks are missing, not used by the layout, or not p in all; there are more extra rows
        or columns than rows or columns.

    Examples
    --------
    >>> rectangles((12, 9), 2)
    [Rectangle(top=1, bottom=6, left=1, right=8), Rectangle(top=6, bottom=11, left=1, right=8)]
    """
    interior = max(shape[0] - 2, 0), max(shape[1] - 2, 0)
    high, wide = blocks_of(interior, p, layout, blocks)
    rows = _bounds("rows", interior[0], high, extra_rows)
    columns = _bounds("columns", interior[1], wide, extra_columns)
    shares = [Rectangle(*row, *column) for row in rows for column in columns]
    return [share if share.cells else NOBODYS for share in shares] + [NOBODYS] * (p - len(shares))


def blocks_of(interior: tuple[int, int], p: int, layout: str, blocks: tuple[int, int] | None) -> tuple[int, int]:
    """Return the numbers of block rows and block columns that share out an interior."""
    if layout not in LAYOUTS:
        raise ValueError(f"unknown layout {layout!r}; choose one of {', '.join(LAYOUTS)}")
    if layout != "shared" and (layout == "rectangular") != (blocks is not None):
        raise ValueError(
            f"layout {layout!r} cannot be used with blocks={blocks}: 'rectangular' needs blocks=(block rows, block "
            "columns), 'shared' may have them, and no other layout takes them"
        )
    if blocks is not None:
        if len(blocks) != 2 or math.prod(_checked("blocks", n) for n in blocks) != p:
            raise ValueError(
                f"blocks={blocks} does not fit {p} processor{'s' * (p != 1)}: give (block rows, block columns), whose "
                f"product must be {p}"
            )
        return blocks
    if layout == "uniprocessor":
        return 1, 1
    if layout in ("vertical", "horizontal"):
        return (1, p) if layout == "vertical" else (p, 1)
    fewer = max(n for n in range(1, math.isqrt(p) + 1) if p % n == 0)
    return (p // fewer, fewer) if interior[0] >= interior[1] else (fewer, p // fewer)


def _bounds(what: str, n: int, blocks: int, extra: int) -> list[tuple[int, int]]:
    """Return the first row of each block, and the one after its last: even shares, and the extra rows at both ends."""
    each, rest = divmod(n - 2 * _checked(f"extra_{what}", extra), blocks)
    if each < 0:
        raise ValueError(
            f"the first and the last block cannot both have {extra} extra {what}, because the blocks share only {n} "
            f"{what} in all: give a smaller extra_{what}"
        )
    lengths = [each + (k < rest) for k in range(blocks)]
    lengths[0] += extra
    lengths[-1] += extra
    return list(itertools.pairwise(itertools.accumulate(lengths, initial=1)))


def _checked(what: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise TypeError(f"{what} needs whole numbers, not {number!r}")
    if number < 0:
        raise ValueError(f"{what} needs numbers of 0 or more, not {number}")
    return int(number)
