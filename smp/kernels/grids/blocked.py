"""Several iterations of red-black relaxation in one pass over the grid, in place, on several streams.

A pass makes ``depth`` iterations, so 2 depth half sweeps: 0 red, 1 black, 2 red...  Half sweep h follows one row
behind half sweep h - 1, so that the rows between the first and the last of them stay in the cache:

    row   r   r+1      half sweep 0
          r-1 r        half sweep 1        then the same with r + 2
          r-2 r-1      half sweep 2

Each stream has a strip of rows.  Where two strips meet, at row b, half sweep h of each leaves out the h rows next to
this border.  They are done when both strips have ended, half sweep h on rows b - h to b + h - 1:

    strip    h = 3   =====......======        phase 1: =, the strips, side by side
             h = 2   ======....=======        phase 2: ., the gaps, side by side
             h = 1   =======..========
             h = 0   =================
                             b

A row that half sweep h reads has had all half sweeps before h, and none after it that would change the cells that are
read.  So the result is that of one iteration after the other, to the last bit.  Narrow grids take more than two rows at
a time.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from smp import local

from ..in_process import side_by_side
from .red_black import BLACK, CHECK, RED, Grid, larger, relax_rectangle

IN_CACHE = 1 << 19
"""Bytes of a grid from which passes pay; a smaller grid stays in the cache from one half sweep to the next."""
ROWS_IN_CACHE = 5 << 18
"""Bytes that the rows of a pass may take of a processor's own cache, usually 1 or 2 MiB."""
WORTH_STREAMS = 500_000
"""Cells times iterations of a pass from which it is shared out to streams; two streams cost 20 to 60 us per pass."""
CELLS = 512
"""Least number of cells that are relaxed at a time, if two rows have fewer."""
SHRINKS, STRAIGHT, GROWS = 1, 0, -1


def relax_here(
    grid: Grid,
    limit: int,
    tolerance: float | None,
    quarter: float,
    keep: float,
    *,
    depth: int | None = None,
    streams: int = 1,
    least: int = WORTH_STREAMS,
) -> tuple[int, float]:
    """Relax a grid in place until the change is below the tolerance, or for ``limit`` iterations.

    Parameters
    ----------
    grid : C-contiguous array of shape (rows, columns), float32 or float64
    limit, tolerance, quarter, keep
        As for `programs.relax_red_black` and `red_black.relax_rectangle`.
    depth : int, optional
        Largest number of iterations in a pass over the grid; by default `best_depth`.  With 0, one stream makes sweep
        after sweep over the whole grid, which is the default for a grid that stays in the cache.
    streams : int
        Largest number of streams.
    least : int
        Cells times iterations of a pass from which it is shared out to streams.

    Returns
    -------
    iterations : int
        The number of iterations that were made.
    change : float
        The largest change of a cell in the last iteration.
    """
    small = grid.nbytes < IN_CACHE if depth is None else depth == 0
    most = CHECK if small else depth or best_depth(grid, streams)
    done, change = 0, 0.0
    while done < limit:
        look = limit if tolerance is None else min(limit, done - done % CHECK + CHECK)
        now = min(most, look - done)
        if small:
            change = relax_in_cache(grid, now, quarter, keep)
        else:
            shared = streams if grid.size * now >= least else 1
            change = relax_pass(grid, now, min(shared, most_strips(grid.shape[0], now)), quarter, keep)
        done += now
        if tolerance is not None and done == look and not change >= tolerance:
            break
    return done, change


def best_depth(grid: Grid, streams: int) -> int:
    """Return the number of iterations in a pass: as many as the cache has rows for, while every stream has work."""
    rows, columns = grid.shape
    in_cache = (ROWS_IN_CACHE // (columns * grid.itemsize) - 3) // 2
    return int(max(1, min(in_cache, (rows - 2) // (4 * streams + 2), CHECK)))


def most_strips(rows: int, depth: int) -> int:
    """Return the largest number of strips of a grid in a pass of that depth, such that the gaps do not meet."""
    return max(1, (rows - 2) // (4 * depth + 2))


def relax_pass(grid: Grid, depth: int, strips: int, quarter: float, keep: float) -> float:
    """Make ``depth`` iterations on at most `most_strips` strips; return the largest change in the last iteration."""
    interior = grid.shape[0] - 2
    borders = [1 + 2 * (interior * k // (2 * strips)) for k in range(1, strips)]
    edges = [(1, STRAIGHT), *((b, SHRINKS) for b in borders), (interior + 1, STRAIGHT)]
    changes = side_by_side(
        *(
            partial(relax_strip, grid, top, bottom, at_top, at_bottom, depth, quarter, keep)
            for (top, at_top), (bottom, at_bottom) in itertools.pairwise(edges)
        )
    )
    if borders:
        gaps = (partial(relax_strip, grid, b, b, GROWS, GROWS, depth, quarter, keep) for b in borders)
        changes += side_by_side(*gaps)
    return float(np.max(changes))


@local
def relax_strip(
    grid: Grid, top: int, bottom: int, at_top: int, at_bottom: int, depth: int, quarter: float, keep: float
) -> float:
    """Make the half sweeps of one pass, half sweep h from row ``top + h * at_top`` to ``bottom - h * at_bottom``.

    Return the largest change in the last iteration.
    """
    halves, columns = 2 * depth, grid.shape[1]
    rows = 2 + 2 * (CELLS // max(columns, 1))
    largest = 0.0
    for row in range(top, bottom + halves * (1 - at_bottom), rows):
        for h in range(halves):
            first, last = max(row - h, top + h * at_top), min(row - h + rows, bottom - h * at_bottom)
            if first < last:
                change = relax_rectangle(grid, first, last, 1, columns - 1, h % 2, quarter, keep)
                if h >= halves - 2:
                    largest = larger(largest, np.float64(change))
    return largest


@local
def relax_in_cache(grid: Grid, iterations: int, quarter: float, keep: float) -> float:
    """Make iterations one after the other; return the largest change in the last."""
    bottom, right = grid.shape[0] - 1, grid.shape[1] - 1
    largest = 0.0
    for _ in range(iterations):
        red = relax_rectangle(grid, 1, bottom, 1, right, RED, quarter, keep)
        black = relax_rectangle(grid, 1, bottom, 1, right, BLACK, quarter, keep)
        largest = np.float64(larger(red, black))
    return largest
