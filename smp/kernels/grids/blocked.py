"""Several iterations of red-black relaxation in one pass over the grid, in place, on several streams.

A pass makes ``depth`` iterations, so 2 depth half sweeps: 0 red, 1 black, 2 red...  Half sweep h follows one row
behind half sweep h - 1, so that the rows between the first and the last of them stay in the cache:

    row   r   r+1      half sweep 0
          r-1 r        half sweep 1        then the same with r + 2
          r-2 r-1      half sweep 2

Each stream has a strip of rows.  Where two strips meet, at row b, half sweep h of each ends h rows before; what they
leave out is done when both have ended, half sweep h on rows b - h to b + h:

    strip    h = 3   ====.       .=====        phase 1: =, the strips, side by side
             h = 2   =====.     .======        phase 2: ., the gaps, side by side
             h = 1   ======.   .=======
             h = 0   =======. .========
                            b

A row that half sweep h reads has had all half sweeps before h, and none after it that would change what is read: the
result is that of one iteration after the other, to the last bit.  Narrow grids take more than two rows at a time.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from smp import local

from ..in_process import side_by_side
from .red_black import BLACK, CHECK, RED, Grid, larger, relax_rectangle

IN_CACHE = 1 << 19
"""Bytes of a grid from which passes pay: a smaller one stays in the cache from one half sweep to the next."""
ROWS_IN_CACHE = 5 << 18
"""Bytes that the rows of a pass may take of a processor's own cache, usually 1 or 2 MiB."""
WORTH_STREAMS = 2_000_000
"""Cells times iterations of a pass from which it is shared out: two streams cost 60 us a pass."""
CELLS = 512
"""At least so many are relaxed at a time, where two rows have fewer."""
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
        Iterations of a pass over the grid, at most; by default `best_depth`.  0: sweep after sweep over the whole
        grid, by one stream; the default for a grid that stays in the cache.
    streams : int
        How many there may be.
    least : int
        Cells times iterations of a pass from which it is shared out.

    Returns
    -------
    iterations : int
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
    """Return how many iterations to make in a pass: as the cache has rows for, and no stream is without work."""
    rows, columns = grid.shape
    in_cache = (ROWS_IN_CACHE // (columns * grid.itemsize) - 3) // 2
    return int(max(1, min(in_cache, (rows - 2) // (4 * streams + 2), CHECK)))


def most_strips(rows: int, depth: int) -> int:
    """Return how many strips a grid of so many rows can have in a pass of that depth: the gaps must not meet."""
    return max(1, (rows - 2) // (4 * depth + 2))


def relax_pass(grid: Grid, depth: int, strips: int, quarter: float, keep: float) -> float:
    """Make ``depth`` iterations on that many strips, at most `most_strips`; return the last one's largest change."""
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

    Returns the largest change in the last iteration.
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
