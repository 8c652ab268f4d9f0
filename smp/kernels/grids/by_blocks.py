"""Red-black relaxation by messages: neighbours send each other the edges of their rectangles as blocks.

    for each colour    relax the own cells of that colour
                       send those along each edge to the neighbour there           one block for each neighbour
                       wait for those of the neighbours, and store them around     one wait for all of them
    now and then       find the largest change by a reduction

          ○   ○           ○ black: while a processor relaxes its red cells, it reads the black ones around its
        ┌─────────┐         rectangle, which its neighbours have sent.  An inner processor of a square layout sends
      ○ │ ● ○ ● ○ │         eight blocks in an iteration: four edges, each in two colours.
        │ ○ ● ○ ● │ ○
        └─────────┘         A port takes the edges of one colour.  A neighbour sends that colour again only after it
          ○   ○             has had the other colour, which is sent when the port has been read.  So a block has an
                            element even if the edge has no cells of the colour.

There is no barrier in an iteration.  The cells get the same bits as from `relax_red_black`, which goes by supersteps.

Source: Brewer, Portable High-Performance Supercomputing, sections 4.4 and 5.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Processor, local

from .layouts import Part, Rectangle, Shape, blocks_of, elements, rectangles
from .programs import check_grid, checked_limit
from .red_black import BLACK, CHECK, RED, check_converged, checked_omega, relax_rectangle

COLOURS = RED, BLACK
Cells = NDArray[Any]


@local(name="stencil.edge", terms={"element": "len(into)"}, oblivious=True)
def copy_edge(cells: Cells, into: Cells) -> None:
    """Copy the cells of one colour along an edge: from the rectangle into a block, or from a block to its place."""
    for i in range(len(into)):
        into[i] = cells[i]


class Neighbour(NamedTuple):
    """A processor that has the cells beyond one edge."""

    rank: int
    side: int
    """The side of the own rectangle, as an index of `SIDES`."""


SIDES = (-1, 0), (1, 0), (0, -1), (0, 1)
"""Steps to the neighbours' blocks, in rows and columns of blocks; in the order of `Rectangle.edges`."""


def neighbours(sharing: list[Rectangle], wide: int, rank: int) -> list[Neighbour]:
    """Return the processors with cells next to those of a processor, in the order of the sides.

    Parameters
    ----------
    sharing : list of Rectangle
        Rectangles of all processors, block row by block row.
    wide : int
        Number of block columns.
    rank : int

    Examples
    --------
    >>> neighbours(rectangles((12, 9), 4), 2, 1)
    [Neighbour(rank=3, side=1), Neighbour(rank=0, side=2)]
    """
    if not sharing[rank].cells:
        return []
    row, column = divmod(rank, wide)
    found = []
    for side, (down, right) in enumerate(SIDES):
        i, j = row + down, column + right
        if i >= 0 and 0 <= j < wide and i * wide + j < len(sharing) and sharing[i * wide + j].cells:
            found.append(Neighbour(i * wide + j, side))
    return found


def lengths(sharing: list[Rectangle], shape: Shape, rank: int, colour: int, *, outside: bool) -> list[int]:
    """Return the lengths of the blocks for the cells of a colour along each edge that has a neighbour.

    With ``outside``, they are for the cells just beyond the edges: those that come from the neighbours.
    """
    return [max(1, elements([part])) for part in sharing[rank].edges(shape, colour, outside=outside)]


class Edges:
    """The edges of one processor's rectangle, with the ports in which those of its neighbours land.

    Parameters
    ----------
    proc : Processor
    shape : (int, int)
        Rows and columns of the grid.
    sharing : list of Rectangle
        Rectangles of all processors.
    wide : int
        Number of block columns.
    block : ndarray
        The own rectangle, with a row and a column of cells around it on each side.
    """

    def __init__(self, proc: Processor, shape: Shape, sharing: list[Rectangle], wide: int, block: Cells) -> None:
        self.proc, mine = proc, sharing[proc.rank]
        self._neighbours = neighbours(sharing, wide, proc.rank)
        origin = mine.top - 1, mine.left - 1

        def held(colour: int, outside: bool) -> list[Cells]:
            return [_line(block, part, origin) for part in mine.edges(shape, colour, outside=outside)]

        self._along = [held(colour, outside=False) for colour in COLOURS]
        self._around = [held(colour, outside=True) for colour in COLOURS]
        self._places = [
            [self._place(shape, sharing, wide, colour, to) for to in self._neighbours] for colour in COLOURS
        ]
        room = max(2 * (one.bottom - one.top + one.right - one.left) for one in sharing)
        self._ports = [proc.port(room + len(SIDES), block.dtype) for _ in COLOURS]
        self._packed = np.zeros(room + 1, block.dtype)

    def _place(self, shape: Shape, sharing: list[Rectangle], wide: int, colour: int, to: Neighbour) -> int:
        """Return the place of the own edge in the port of a neighbour, which has one for each of its sides."""
        theirs = neighbours(sharing, wide, to.rank)
        before = theirs.index(Neighbour(self.proc.rank, to.side ^ 1))
        return sum(lengths(sharing, shape, to.rank, colour, outside=True)[:before])

    def exchange(self, colour: int) -> None:
        """Send the cells of a colour along the edges to the neighbours, and store theirs around the rectangle."""
        port = self._ports[colour]
        for to, cells, place in zip(self._neighbours, self._along[colour], self._places[colour], strict=True):
            copy_edge(cells, self._packed[: len(cells)])
            self.proc.send_block(to.rank, port, self._packed[: max(1, len(cells))], place)
        if not self._neighbours:
            return
        port.expect(sum(max(1, len(cells)) for cells in self._around[colour]))
        port.wait()
        start = 0
        for cells in self._around[colour]:
            copy_edge(port.data[start : start + len(cells)], cells)
            start += max(1, len(cells))


def _line(block: Cells, part: Part, origin: tuple[int, int]) -> Cells:
    """Return a part of the grid, which is a piece of a row or a column, as a line of cells of the block."""
    rows, columns = (slice(s.start - o, s.stop - o, s.step) for s, o in zip(part, origin, strict=True))
    return block[rows.start, columns] if rows.step == 1 else block[rows, columns.start]


def relax_by_blocks(
    proc: Processor,
    grid: GlobalArray,
    *,
    layout: str = "square",
    blocks: tuple[int, int] | None = None,
    extra_rows: int = 0,
    extra_columns: int = 0,
    omega: float | None = None,
    tolerance: float | None = None,
    iterations: int | None = None,
    every: int = CHECK,
) -> tuple[int, float]:
    """Relax a grid by red-black successive over-relaxation, with blocks between neighbours (SPMD program).

    Parameters
    ----------
    proc : Processor
    grid : GlobalArray of shape (rows, columns), float32 or float64
        Grid to relax in place.  Its outermost rows and columns are fixed.
    layout, blocks, extra_rows, extra_columns
        Rectangles of the processors, see `smp.kernels.grids.layouts.rectangles`; not "shared".
    omega, tolerance, iterations
        As for `smp.kernels.grids.programs.relax_red_black`.
    every : int
        Number of iterations after which the processors find the largest change of all, if there is a tolerance.

    Returns
    -------
    iterations : int
        The number of iterations that were made.
    change : float
        The largest change of a cell in the last iteration.

    Raises
    ------
    NotConverged
        Raised on all processors, after the last iteration that is allowed, or when a NaN arises.
    TypeError, ValueError
        Raised on all processors, before any work, for unsuitable arguments.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.kernels.grids.by_blocks import relax_by_blocks
    >>> with smp.emulated(4, machine="cm5") as machine:
    ...     grid = machine.array(np.eye(6))
    ...     run = machine.run(relax_by_blocks, grid, iterations=3)
    >>> run.results[0][0]
    3
    """
    check_grid(grid)
    if layout == "shared":
        raise ValueError("the layout 'shared' has no edges to send: use relax_red_black, or another layout")
    if every < 1:
        raise ValueError(f"every is the number of iterations between two checks, at least 1, not {every}")
    how = {"layout": layout, "blocks": blocks}
    sharing = rectangles(grid.shape, proc.size, **how, extra_rows=extra_rows, extra_columns=extra_columns)  # type: ignore[arg-type]
    interior = max(grid.shape[0] - 2, 0), max(grid.shape[1] - 2, 0)
    wide = blocks_of(interior, proc.size, layout, blocks)[1]
    limit, degree = checked_limit(tolerance, iterations), checked_omega(omega, *grid.shape)
    mine = sharing[proc.rank]
    with proc.superstep("init") as step:
        block = step.copy_in(grid, mine.part(around=1)) if mine.cells else np.empty((2, 2), grid.dtype)
    edges = Edges(proc, grid.shape, sharing, wide, block)
    done, change = 0, 0.0
    while done < limit:
        change = relax_once(edges, block, mine, degree)
        done += 1
        if done == limit or (tolerance is not None and done % every == 0):
            change = proc.reduce(change, np.maximum)
            if tolerance is not None and not change >= tolerance:  # NaN will never be less either
                break
    with proc.superstep("result") as step:
        step.compute()
        step.copy_out(grid, mine.part(), block[1:-1, 1:-1])
    if tolerance is not None:
        check_converged(done, change, tolerance)
    return done, change


def relax_once(edges: Edges, block: Cells, mine: Rectangle, degree: float) -> float:
    """Relax all cells of a rectangle once, first the red and then the black ones; return the largest change."""
    height, width = block.shape
    change = 0.0
    for colour in COLOURS:
        first = (colour + mine.top - 1 + mine.left - 1) % 2  # the colours of the grid, seen from the block
        largest = relax_rectangle(block, 1, height - 1, 1, width - 1, first, degree / 4, 1 - degree)
        change = float(np.maximum(change, largest))
        edges.exchange(colour)
    return change
