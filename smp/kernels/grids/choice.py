"""Choose by models how to relax a grid in the calling process: the number of streams and the iterations in a pass.

    sweeps    one stream, sweep after sweep
    one       one stream, ``depth`` iterations a pass
    all       all streams, likewise

The depth is chosen among those that make the passes even.  With fewer passes, the grid is read from memory less often,
and the streams are started less often.  Deeper passes need more rows in the cache, and leave more to the gaps between
the streams.

Source: Brewer, Portable High-Performance Supercomputing, section 5.3 (a parameter chosen through the number of
iterations).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smp import Machine
from smp.selection.implementation import Guard, Implementation, Parameter
from smp.selection.kept import recalled
from smp.selection.library import Library

from ..in_process import streams_for
from . import layout_choice
from .blocked import IN_CACHE, WORTH_STREAMS, relax_here
from .red_black import CHECK, Grid
from .terms import CACHES, GRIDS, memory, random_grid, sweep, times

POINTS = 95
DEEPEST = 32
"""Number of iterations of a pass beyond which nothing is gained."""
WORTH_CHOOSING = 400_000
"""Cells times iterations from which models are asked if a calibration has not determined it: some 120 us of work,
against 25 us for the choice, mostly for the depths."""
LEAST = 1 << 17
"""Cells times iterations below which no models are asked, whatever a calibration has found: they take some 40 us."""
FACTORS = 0.45, -0.8
"""Factors for an over-relaxation of 1.8; the time of an iteration does not depend on it."""
KINDS = "float64", "float32"
PASSES = "ceil(iterations / depth)"
ALONE = "(columns - 2) * (rows > floor(rows / 2) * 2)"
"""Cells of the row that is left over when rows are relaxed in pairs."""


def way(
    shape: tuple[int, ...],
    kind: str,
    iterations: int,
    depth: int | None,
    machine: Machine | None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Return the keyword arguments with which `relax_here` should relax a grid.

    Parameters
    ----------
    shape : (int, int)
    kind : {"float64", "float32"}
    iterations : int
        Number of iterations before the change is looked at, or in all.
    depth : int, optional
        If it is given, it is used, and models are not asked.
    machine : Machine, optional
        Determines the largest number of streams, see `streams_for`.
    threads : int, optional
        Largest number of streams, instead of the machine's.
    """
    return noted_way(shape, kind, iterations, depth, machine, threads)[0]


def noted_way(
    shape: tuple[int, ...],
    kind: str,
    iterations: int,
    depth: int | None,
    machine: Machine | None,
    threads: int | None = None,
) -> tuple[dict[str, Any], Callable[[float], None]]:
    """Return the result of `way`, and a function for the seconds that the iterations then take."""
    cells = shape[0] * shape[1]
    if depth is None and cells * iterations >= LEAST:
        streams = threads or streams_for(machine)
        library = relaxations(kind, streams)
        if library.models and cells * iterations >= library.worth:
            chosen = library.remembered(*shape, iterations)
            how = {"depth": 0, **chosen.keywords, "streams": streams if chosen.name == "all" else 1, "least": 0}
            return how, partial(library.note, chosen)
    worth = cells * min(iterations, CHECK) >= WORTH_STREAMS
    return {"depth": depth, "streams": threads or streams_for(machine) if worth else 1}, lambda seconds: None


@functools.lru_cache
def relaxations(kind: str, streams: int) -> Library:
    """Return the library of the ways to make a number of iterations on a grid in place.

    Parameters
    ----------
    kind : {"float64", "float32"}
    streams : int
    """
    size = np.dtype(kind).itemsize

    def rule(rows: float, columns: float, iterations: float) -> str:
        if rows * columns * size < IN_CACHE:
            return "sweeps"
        return "all" if streams > 1 and rows * columns * min(iterations, CHECK) >= WORTH_STREAMS else "one"

    library = Library(
        f"relax[{kind}, {streams} streams]",
        GRIDS,
        lambda grid, iterations: (*grid.shape, iterations),
        setup=lambda rows, columns, iterations: (random_grid(rows, columns, iterations, kind), iterations),
        rule=rule,
        loops=GRIDS,
        points=POINTS,
        guard=Guard("rows * columns * iterations", WORTH_CHOOSING),
    )
    sweeps = times("iterations", ["1", *sweep(size), ALONE, *memory(size, 1)])
    library.add(Implementation("sweeps", partial(_relax, depth=0), sweeps))
    for name, many in [("one", 1), ("all", streams)][: 1 + (streams > 1)]:
        function = partial(_relax, streams=many)
        library.add(
            Implementation(name, function, pass_terms(size, many), f"depth <= {deepest(many)}", depth_for(many))
        )
    return recalled(library)


def pass_terms(size: int, streams: int) -> list[str]:
    """Return the terms of passes: the sweeps, the passes, the gaps, and the rows for which the cache has no room."""
    cells = CACHES[0] // size
    return [
        *times("iterations", sweep(size)),
        *times(PASSES, ["1", "depth * depth * columns", *memory(size, streams)]),
        f"iterations * rows * columns * max(0, 1 - {cells} / ((2 * depth + 3) * columns))",
    ]


def deepest(streams: int) -> str:
    """Return, as an expression, the largest depth that leaves each stream a strip, see `blocked.most_strips`."""
    return "iterations" if streams == 1 else f"min(iterations, (floor((rows - 2) / {streams}) - 2) / 4)"


def depth_for(streams: int) -> Parameter:
    """Return the depth as a parameter whose steps are the even depths, see `even_depths`."""

    def depths(rows: float, iterations: float) -> tuple[int, ...]:
        strips = DEEPEST if streams == 1 else int((rows - 2) // streams - 2) // 4
        return even_depths(int(iterations), max(1, min(strips, DEEPEST)))

    def last(rows: float, columns: float, iterations: float) -> int:
        return len(depths(rows, iterations)) - 1

    def depth(step: int, rows: float, columns: float, iterations: float) -> int:
        return depths(rows, iterations)[step]

    return Parameter("depth", "powers 1..32", 0, last, depth)


@functools.lru_cache
def even_depths(iterations: int, deepest: int) -> tuple[int, ...]:
    """Return the depths for which no smaller depth makes as few passes; their passes are as even as possible.

    Examples
    --------
    >>> even_depths(20, 16)
    (1, 2, 3, 4, 5, 7, 10)
    """
    return tuple(d for d in range(1, deepest + 1) if d == math.ceil(iterations / math.ceil(iterations / d)))


def libraries(streams: int | None = None) -> list[Library]:
    """Return the libraries of relaxation for a number of streams and of processors, by default that of the CPUs."""
    many = streams_for(None) if streams is None else streams
    return [made(kind, many) for made in (relaxations, layout_choice.layouts) for kind in KINDS]


def _relax(grid: Grid, iterations: int, *, depth: int | None = None, streams: int = 1) -> tuple[int, float]:
    return relax_here(grid, iterations, None, *FACTORS, depth=depth, streams=streams, least=0)
