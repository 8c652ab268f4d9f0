"""Red-black relaxation by supersteps: each processor relaxes a rectangle of the grid.

    init      copy in the block, and the cells around it
    red       copy in the black cells around it   relax its red cells     copy out the red ones along its edges
    black     copy in the red cells around it     relax its black cells   copy out the black ones along its edges
    ...
    result    copy out the block

          ○   ○
        ┌─────────┐          ● red, ○ black: a block that has neighbours on all four sides, in the superstep "red",
      ○ │ ● ○ ● ○ │          with the cells that it copies in: half of each neighbour's edge, which the neighbour
        │ ○ ● ○ ● │ ○        has copied out in the superstep "black" before.
      ○ │ ● ○ ● ○ │
        └─────────┘
          ○   ○

The layout "shared" has no blocks: the processors relax their rectangles in the grid itself.

Source: Brewer, Portable High-Performance Supercomputing, sections 4.4 and 5.2.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Processor

from ..costs import Costs, costs_of
from .layouts import Part, Rectangle, elements, rectangles
from .red_black import BLACK, CHECK, RED, check_converged, checked_omega, relax_rectangle

MOST = 100_000
COLOURS = RED, BLACK
LABELS = "red", "black"
Factors = tuple[float, float]
"""The ``quarter`` and ``keep`` of `relax_rectangle`."""


class Work(ABC):
    """Work of one processor, which relaxes its rectangle of the grid."""

    def __init__(self, proc: Processor, grid: GlobalArray, mine: Rectangle, factors: Factors) -> None:
        self.proc, self.grid, self.mine, self.factors = proc, grid, mine, factors

    @abstractmethod
    def half(self, colour: int) -> float:
        """Relax all cells of a colour in one superstep; return the largest change."""

    def finish(self) -> None:  # noqa: B027
        """Write the result into the grid, if it is not there yet."""


class InOwnBlock(Work):
    """Work on a copy of the rectangle and the cells around it, in the processor's own memory."""

    def __init__(self, proc: Processor, grid: GlobalArray, mine: Rectangle, factors: Factors) -> None:
        super().__init__(proc, grid, mine, factors)
        with proc.superstep("init") as step:
            self.block = step.copy_in(grid, mine.part(around=1)) if mine.cells else np.empty((2, 2), grid.dtype)
        self.around = [self.held(mine.edges(grid.shape, other, outside=True)) for other in (BLACK, RED)]
        self.along = [self.held(mine.edges(grid.shape, colour, outside=False)) for colour in COLOURS]

    def held(self, parts: list[Part]) -> list[tuple[Part, NDArray[Any]]]:
        """Return each part of the grid with the part of the block that stands for it."""
        origin = self.mine.top - 1, self.mine.left - 1
        return [
            (part, self.block[tuple(slice(s.start - o, s.stop - o, s.step) for s, o in zip(part, origin, strict=True))])
            for part in parts
        ]

    def half(self, colour: int) -> float:
        height, width = self.block.shape
        first = (colour + self.mine.top - 1 + self.mine.left - 1) % 2  # the colours of the grid, seen from the block
        with self.proc.superstep(LABELS[colour]) as step:
            for part, cells in self.around[colour]:
                step.copy_in(self.grid, part, out=cells)
            step.compute()
            change = relax_rectangle(self.block, 1, height - 1, 1, width - 1, first, *self.factors)
            for part, cells in self.along[colour]:
                step.copy_out(self.grid, part, cells)
        return change

    def finish(self) -> None:
        with self.proc.superstep("result") as step:
            step.compute()
            step.copy_out(self.grid, self.mine.part(), self.block[1:-1, 1:-1])


class InTheGrid(Work):
    """Work in the grid itself: cells of one colour read only the other colour, which no processor writes meanwhile."""

    def half(self, colour: int) -> float:
        change = 0.0

        def relax(grid: NDArray[Any]) -> int:
            nonlocal change
            change = relax_rectangle(grid, *self.mine, colour, *self.factors)
            cells = self.mine.of_colour(colour)
            self.proc.count_accesses(reads=5 * cells, itemsize=grid.itemsize)  # each cell and its four neighbours
            return cells

        with self.proc.superstep(LABELS[colour], counted=False) as step:
            step.compute()
            step.copy_out_by(relax, self.grid)
        return change


def relax_red_black(
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
) -> tuple[int, float]:
    """Relax a grid by red-black successive over-relaxation (SPMD program).

    Parameters
    ----------
    proc : Processor
    grid : GlobalArray of shape (rows, columns), float32 or float64
        Grid to relax in place.  Its outermost rows and columns are fixed.
    layout, blocks, extra_rows, extra_columns
        Rectangles of the processors, see `smp.kernels.grids.layouts.rectangles`.  The result does not depend on them,
        bit for bit.
    omega : float, optional
        Degree of over-relaxation; by default `smp.kernels.grids.red_black.best_omega`.
    tolerance : float, optional
        Stop when no cell has changed by as much in an iteration, which is checked after every `CHECK`-th iteration.
    iterations : int, optional
        Without ``tolerance``, the number of iterations.  With it, the largest number, 100,000 if not given.

    Returns
    -------
    iterations : int
        The number of iterations that were made.
    change : float
        The largest change of a cell in the last iteration.

    Raises
    ------
    NotConverged
        Raised on all processors, after the last iteration that is allowed, or when a NaN arises; the grid then holds
        the last iterate.
    TypeError, ValueError
        Raised on all processors, before any work, for unsuitable arguments.

    Notes
    -----
    Supersteps: ``init`` (the block and the cells around it: (height + 2) (width + 2) reads), then for each iteration
    ``red`` and ``black`` (half of each edge that has a neighbour, so height/2 or width/2 reads, and as many writes),
    ``result`` (height x width writes).  The largest change is found by a reduction, which is not counted.

    "shared" has only the supersteps ``red`` and ``black``, with one write for every cell of that colour.  The
    relaxation is their copy-out, in which only writes are counted.  Its reads, of the cells and their neighbours, are
    not, so these supersteps have no interval.  The program as a whole has one, with five reads for each cell.
    """
    check_grid(grid)
    sharing = rectangles(
        grid.shape, proc.size, layout=layout, blocks=blocks, extra_rows=extra_rows, extra_columns=extra_columns
    )
    limit = checked_limit(tolerance, iterations)
    degree = checked_omega(omega, *grid.shape)
    made = InTheGrid if layout == "shared" else InOwnBlock
    work = made(proc, grid, sharing[proc.rank], (degree / 4, 1 - degree))
    done, change = 0, 0.0
    while done < limit:
        change = float(np.maximum(work.half(RED), work.half(BLACK)))
        done += 1
        if done == limit or (tolerance is not None and done % CHECK == 0):
            change = proc.reduce(change, np.maximum)
            if tolerance is not None and not change >= tolerance:  # NaN will never be less either
                break
    work.finish()
    if tolerance is not None:
        check_converged(done, change, tolerance)
    return done, change


def check_grid(grid: GlobalArray) -> None:
    """Raise an error, on all processors alike, for a global array that is not a grid."""
    if grid.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"the grid is a global array of {grid.dtype}, but relaxation takes float32 and float64: convert the data "
            "with astype first"
        )
    if grid.ndim != 2:
        raise ValueError(f"a grid must have rows and columns, but this one has shape {grid.shape}")


def checked_limit(tolerance: float | None, iterations: int | None) -> int:
    """Return the largest number of iterations to make; raise an error if the arguments set no valid limit."""
    if tolerance is None and iterations is None:
        raise ValueError("neither tolerance nor iterations is given to end the relaxation: give one of them, or both")
    if tolerance is not None and not tolerance > 0:
        raise ValueError(
            f"tolerance must be above 0, not {tolerance}; to make a fixed number of iterations, give only iterations"
        )
    limit = MOST if iterations is None else operator.index(iterations)
    if limit < 0:
        raise ValueError(f"iterations must be at least 0, not {limit}")
    return limit


def cost(
    rows: int,
    columns: int,
    p: int,
    iterations: int,
    *,
    layout: str = "square",
    blocks: tuple[int, int] | None = None,
    extra_rows: int = 0,
    extra_columns: int = 0,
) -> Costs:
    """Return what the supersteps of `relax_red_black` access.

    Parameters
    ----------
    rows, columns, p : int
        Rows and columns of the grid, and number of processors.
    iterations : int
        Number of iterations.
    layout, blocks, extra_rows, extra_columns
        As for `relax_red_black`.

    Returns
    -------
    array of `COST`
    """
    shape = rows, columns
    sharing = rectangles(shape, p, layout=layout, blocks=blocks, extra_rows=extra_rows, extra_columns=extra_columns)

    def superstep(label: str, reads: list[int], writes: list[int]) -> tuple[str, int, int, int]:
        return label, max(reads), max(writes), sum(reads) + sum(writes)

    none = [0] * p
    if layout == "shared":
        halves = [superstep(LABELS[c], none, [mine.of_colour(c) for mine in sharing]) for c in COLOURS]
        return costs_of(halves * iterations)

    def along(colour: int, outside: bool) -> list[int]:
        return [elements(mine.edges(shape, colour, outside=outside)) for mine in sharing]

    halves = [superstep(LABELS[c], along(1 - c, outside=True), along(c, outside=False)) for c in COLOURS]
    begin = superstep("init", [elements([mine.part(around=1)]) if mine.cells else 0 for mine in sharing], none)
    end = superstep("result", none, [mine.cells for mine in sharing])
    return costs_of([begin, *halves * iterations, end])
