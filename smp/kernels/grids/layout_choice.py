"""Choose by models the layout that relaxes a grid on a machine, for ``relax(grid, layout="program")``.

    uniprocessor                      nothing to exchange
    shared                            nothing to copy, but cache lines that processors take from each other
    horizontal, vertical, square...   blocks to copy in and out, and edges to exchange in each iteration

Source: Brewer, Portable High-Performance Supercomputing, section 4.4, equations 32 and 33.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from smp import GlobalArray, Machine, host
from smp._computer.limits import measuring_cpus
from smp._runtime.machine import current_machine
from smp.models.fit.model import Model
from smp.selection.implementation import Implementation
from smp.selection.kept import recalled
from smp.selection.library import MOST_KNOWN, Library

from .extra_choice import extra_arguments
from .programs import relax_red_black
from .terms import CELLS, GRIDS, memory, random_grid, sweep, times

POINTS = 75
SMALL = 20_000
"""Number of cells below which, by the rule, one processor is faster if there are more than two iterations."""
Layout = dict[str, Any]
"""Arguments ``layout`` and ``blocks`` of `relax_red_black`."""
_known: dict[tuple[Any, ...], tuple[Mapping[str, Model], Layout]] = {}  # by the arguments of `best_layout`


def best_layout(shape: tuple[int, ...], kind: str, iterations: int, p: int) -> Layout:
    """Return the layout that is predicted to be the fastest, or without models the layout of the rule.

    Parameters
    ----------
    shape : (int, int)
    kind : {"float64", "float32"}
    iterations : int
    p : int
        Number of processors.

    Returns
    -------
    dict
        Arguments ``layout`` and ``blocks`` of `relax_red_black`, and ``extra_rows`` and ``extra_columns`` if the model
        predicts that the outermost blocks should have more of them.

    Notes
    -----
    To ask the models takes about 100 us in cold caches, and the shortest runs of a program 1 ms.  So choices are
    remembered until the library has other models.
    """
    library, asked = layouts(kind, p), (shape, kind, iterations, p)
    models, layout = _known.get(asked, ({}, {}))
    if models is not library.models:
        models = library.models
        layout = _best_layout(library, shape, iterations, p)
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[asked] = models, layout
    return layout.copy()


def _best_layout(library: Library, shape: tuple[int, ...], iterations: int, p: int) -> Layout:
    name = library.choose(*shape, iterations)
    layout, model = sharings(p)[name], library.models.get(name)
    return layout if model is None else layout | extra_arguments(model.predict, shape, p, layout)


def sharings(p: int) -> dict[str, Layout]:
    """Return, by name, the layouts in which p processors have different rectangles, with "shared" in strips of rows.

    Examples
    --------
    >>> list(sharings(2))
    ['uniprocessor', 'shared', 'horizontal', 'vertical']
    >>> list(sharings(8))
    ['uniprocessor', 'shared', 'horizontal', 'vertical', 'square', 'rectangular 2x4', 'rectangular 4x2']
    """
    blocks = [(high, p // high) for high in range(2, p) if p % high == 0]
    names = ["uniprocessor", "shared", *["horizontal", "vertical"] * (p > 1), *["square"] * bool(blocks)]
    made: dict[str, Layout] = {name: {"layout": name} for name in names}
    made["shared"]["blocks"] = p, 1
    return made | {f"rectangular {h}x{w}": {"layout": "rectangular", "blocks": (h, w)} for h, w in blocks if h != w}


@functools.lru_cache
def layouts(kind: str, p: int) -> Library:
    """Return the library of the layouts; it takes a machine of p processors, its grid, and a number of iterations.

    Parameters
    ----------
    kind : {"float64", "float32"}
    p : int
    """
    library = Library(
        f"relax programs[{kind}, {p} processors]",
        GRIDS,
        lambda machine, grid, iterations: (*grid.shape, iterations),
        setup=partial(_on_machine, kind, p),
        rule=_rule,
        loops=GRIDS,
        points=POINTS,
        correct=False,  # the machine may be emulated: its runs repeat exactly, and the computer's time is not theirs
    )
    for name, layout in sharings(p).items():
        library.add(Implementation(name, partial(_relax, **layout), terms(layout, kind, p)))
    return recalled(library)


def terms(layout: Layout, kind: str, p: int) -> list[str]:
    """Return the terms of a layout's time in each iteration, and before and after all of them."""
    side = math.isqrt(p)
    usual = {"uniprocessor": (1, 1), "horizontal": (p, 1), "vertical": (1, p), "square": (side, side)}
    high, wide = layout.get("blocks") or usual[layout["layout"]]
    size = np.dtype(kind).itemsize
    caches = memory(size, high * wide)
    return [*times("iterations", ["1", *sweep(size, wide), *["rows"] * (wide > 1), *caches]), CELLS, caches[0]]


def _rule(rows: float, columns: float, iterations: float) -> str:
    return "uniprocessor" if rows * columns < SMALL and iterations > 2 else "shared"


def _relax(machine: Machine, grid: GlobalArray, iterations: int, **layout: Any) -> None:
    machine.run(relax_red_black, grid, iterations=iterations, **layout)


def _on_machine(kind: str, p: int, rows: int, columns: int, iterations: int) -> tuple[Machine, GlobalArray, int]:
    """Return a machine, a grid that all its processors have touched, and the number of iterations as it is.

    The machine is that of the enclosing ``with`` block, if it has p processors.
    """
    around = current_machine()
    machine = around if around is not None and around.size == p else _machine(p)
    grid = machine.array(random_grid(rows, columns, iterations, kind))
    _relax(machine, grid, 1, layout="shared")
    return machine, grid, iterations


@functools.lru_cache
def _machine(p: int) -> Machine:
    """Return a machine for measurements, which stays open until the program ends."""
    return host(p, pin=measuring_cpus(p))
