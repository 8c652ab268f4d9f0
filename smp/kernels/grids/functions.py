"""Red-black relaxation of a plain NumPy array: Laplace's equation with a given boundary.

    auto                          streams of the calling process, several iterations in one pass over the grid
    uniprocessor square vertical horizontal rectangular shared
                                  `smp.kernels.grids.programs.relax_red_black` on a machine, in that layout
    program                       in the layout that is predicted to be the fastest

The result is the same for all of them, to the last bit, and so is the number of iterations.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import Machine
from smp.errors import NotConverged, ProcessorRaised

from ..in_process import check_threads, opened
from .blocked import relax_here
from .choice import noted_way
from .layout_choice import best_layout
from .layouts import LAYOUTS
from .programs import checked_limit, relax_red_black
from .red_black import CHECK, Grid, check_converged, checked_omega


class Relaxed(NamedTuple):
    """Iterations, last change, and over-relaxation of a finished relaxation."""

    iterations: int
    """The number of iterations that were made."""
    change: float
    """The largest change of a cell in the last of them."""
    omega: float
    """The degree of over-relaxation."""


@overload
def relax(
    grid: ArrayLike,
    *,
    omega: float | None = None,
    tolerance: float | None = None,
    iterations: int | None = None,
    machine: Machine | None = None,
    layout: str = "auto",
    blocks: tuple[int, int] | None = None,
    depth: int | None = None,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def relax(
    grid: ArrayLike,
    *,
    omega: float | None = None,
    tolerance: float | None = None,
    iterations: int | None = None,
    machine: Machine | None = None,
    layout: str = "auto",
    blocks: tuple[int, int] | None = None,
    depth: int | None = None,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], Relaxed]: ...


def relax(
    grid: ArrayLike,
    *,
    omega: float | None = None,
    tolerance: float | None = None,
    iterations: int | None = None,
    machine: Machine | None = None,
    layout: str = "auto",
    blocks: tuple[int, int] | None = None,
    depth: int | None = None,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Relaxed]:
    """Relax a grid by red-black successive over-relaxation, towards the solution of Laplace's equation.

    Parameters
    ----------
    grid : array of shape (rows, columns), float32 or float64
        Grid to relax.  Its outermost rows and columns are the boundary, which is fixed; the rest is the starting point.
        Integers are converted to float64.  The array may be strided or read-only.
    omega : float, optional
        Degree of over-relaxation, between 0 and 2; by default the best one for a grid of this shape, see
        `smp.kernels.grids.red_black.best_omega`.
    tolerance : float, optional
        Stop when no cell has changed by as much in an iteration, which is checked after every eighth iteration.  If
        neither this nor ``iterations`` is given, it is a millionth of the largest number on the boundary, or four
        millionths for float32.
    iterations : int, optional
        Without ``tolerance``, the number of iterations.  With it, the largest number, 100,000 if not given.
    machine : Machine, optional
        By default the machine of the enclosing ``with`` block.  "auto" uses as many streams as it has processors, or as
        there are CPUs if there is no machine.  The other layouts run on it, or on a machine opened for the call.
    layout : {"auto", "program", "uniprocessor", "square", "vertical", "horizontal", "rectangular", "shared"}
        "auto" runs in the calling process, the others on a machine.  "program" takes the layout that is predicted to be
        the fastest.  For the other layouts see `layouts.rectangles`.
    blocks : (int, int), optional
        Numbers of block rows and block columns: required for "rectangular", optional for "shared".
    depth : int, optional
        Largest number of iterations in one pass over the grid, for "auto".  By default the number that is predicted to
        be the fastest.
    threads : int, optional
        Number of streams, for "auto": threads of the calling process, which share the rows out.  It uses fewer if that
        is faster, or if there are not enough rows.  By default it is as described above.  If there are more threads
        than CPUs, they take turns.
    out : ndarray of the grid's shape and dtype, optional
        Array for the result.  It may be the grid itself, which saves a copy.
    full_output : bool
        Also return a `Relaxed`.

    Returns
    -------
    ndarray of shape (rows, columns)
        The relaxed grid: a new array, or ``out``.
    Relaxed
        Only with ``full_output``: iterations, change, omega.

    Raises
    ------
    NotConverged
        The limit of iterations is reached, or a cell has become NaN; ``out`` then holds the last iterate.
    TypeError, ValueError
        The grid is complex or not two-dimensional, ``out`` does not fit, there is no such layout, ``blocks`` or
        ``depth`` or ``threads`` does not go with the layout, or a number is out of range.

    Notes
    -----
    An iteration takes two half sweeps with six operations per cell.  "auto" uses only the memory of the result.  After
    Ctrl-C, ``out`` may hold cells of different iterations.

    With models of this machine (``python -m smp.microbench --calibrate``), "auto" takes the number of streams and the
    depth that they predict to be the fastest, if cells times iterations are at least a million.  "program" takes the
    layout that they predict to be the fastest, with the extra rows and columns of the outermost blocks that they
    predict to be the best.

    Without models, "auto" makes sweeps on one stream if the grid is smaller than half a MiB.  On larger grids it makes
    passes of up to eight iterations, as deep as the cache has rows for.  From 500,000 cells times iterations of a pass
    on, it uses all streams.  "program" is "uniprocessor" for more than two iterations on fewer than 20,000 cells,
    else "shared" in strips of rows.

    Source: Brewer, Portable High-Performance Supercomputing, sections 4.4 and 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from smp.kernels.grids.functions import relax
    >>> plate = np.zeros((5, 5))
    >>> plate[0] = 100                                  # one hot edge
    >>> relax(plate, tolerance=1e-9).round(2)[1:-1, 1:-1]
    array([[42.86, 52.68, 42.86],
           [18.75, 25.  , 18.75],
           [ 7.14,  9.82,  7.14]])
    >>> relaxed, took = relax(plate, tolerance=1e-9, full_output=True)
    >>> took.iterations
    24
    """
    given = _checked(grid)
    degree = checked_omega(omega, *given.shape)
    if tolerance is None and iterations is None:
        tolerance = _usual_tolerance(given)
    limit = checked_limit(tolerance, iterations)
    if layout not in ("auto", "program", *LAYOUTS):
        raise ValueError(f"unknown layout {layout!r}; choose one of auto, {', '.join(LAYOUTS)}, program")
    if layout in ("auto", "program") and blocks is not None:
        raise ValueError(
            f"blocks={blocks} cannot be given with layout {layout!r}, which chooses the blocks itself: leave blocks "
            "out, or choose layout 'rectangular' or 'shared'"
        )
    if layout != "auto" and depth is not None:
        raise ValueError(
            f"depth={depth} cannot be given with layout {layout!r}, whose supersteps make one iteration at a time: "
            "leave depth out, or choose layout 'auto'"
        )
    if depth is not None and depth < 1:
        raise ValueError(f"depth, the number of iterations in a pass, must be at least 1, not {depth}")
    check_threads(threads, f"layout={layout!r}", layout == "auto")
    result = _target(given, out)
    if layout != "auto":
        done, change = _relaxed_on(machine, result, layout, blocks, degree, tolerance, limit)
    else:
        done, change = _relaxed_here(machine, threads, result, depth, degree, tolerance, limit)
    if tolerance is not None:
        check_converged(done, change, tolerance)
    return (result, Relaxed(done, change, degree)) if full_output else result


def _checked(grid: ArrayLike) -> Grid:
    """Return the grid as an array of float32 or float64."""
    given = np.asarray(grid)
    if given.dtype.kind in "biu":
        given = given.astype(np.float64)
    elif not given.dtype.isnative:
        given = given.astype(given.dtype.newbyteorder("="))
    if given.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"the grid is an array of {given.dtype}, but relaxation takes float32 and float64: convert it with "
            "astype first"
        )
    if given.ndim != 2:
        raise ValueError(f"a grid must have rows and columns, but this one has shape {given.shape}")
    return given


def _usual_tolerance(grid: Grid) -> float:
    """Return a millionth of the largest number on the boundary, or more if rounding keeps changes above that."""
    edges = (grid[:1], grid[-1:], grid[:, :1], grid[:, -1:])
    largest = max(float(np.max(np.abs(edge), initial=0)) for edge in edges)
    limits = np.finfo(grid.dtype)
    relative = max(1e-6, 32 * float(limits.eps))
    return largest * relative if 0 < largest < np.inf else float(limits.tiny)


def _target(grid: Grid, out: NDArray[Any] | None) -> Grid:
    """Return the array to relax, which is ``out`` or a new array, filled with the grid."""
    if out is None:
        return np.array(grid, order="C")
    if not isinstance(out, np.ndarray) or out.shape != grid.shape or out.dtype != grid.dtype:
        what = f"one of {out.dtype} with shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out must be an array of {grid.dtype} with shape {grid.shape}, like the grid, not {what}")
    if not out.flags.writeable:
        raise ValueError("out is read-only: give a writable array")
    if out is not grid:
        np.copyto(out, grid)
    return out


def _relaxed_here(
    machine: Machine | None,
    threads: int | None,
    result: Grid,
    depth: int | None,
    omega: float,
    tolerance: float | None,
    limit: int,
) -> tuple[int, float]:
    """Relax in place, through a copy if compiled loops would not take the array."""
    work = np.require(result, None, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE", "ENSUREARRAY"])
    kind = work.dtype.type
    factors = float(kind(omega / 4)), float(kind(1 - omega))
    look = limit if tolerance is None else min(limit, CHECK)
    how, note = noted_way(work.shape, work.dtype.name, look, depth, machine, threads)
    began = perf_counter()
    done, change = relax_here(work, limit, tolerance, *factors, **how)
    if done:
        note((perf_counter() - began) * look / done)
    if not np.may_share_memory(work, result):
        np.copyto(result, work)
    return done, change


def _relaxed_on(
    machine: Machine | None,
    result: Grid,
    layout: str,
    blocks: tuple[int, int] | None,
    omega: float,
    tolerance: float | None,
    limit: int,
) -> tuple[int, float]:
    """Relax a copy of the grid on a machine."""
    with opened(machine) as chosen:
        grid = chosen.array(result)
        how: dict[str, Any] = {"layout": layout, "blocks": blocks}
        if layout == "program":
            likely = limit if tolerance is None else min(limit, sum(grid.shape))  # a millionth takes about that many
            how = best_layout(grid.shape, grid.dtype.name, likely, chosen.size)
        how |= {"omega": omega, "tolerance": tolerance, "iterations": limit}
        try:
            run = chosen.run(relax_red_black, grid, **how)
        except ProcessorRaised as error:
            if not isinstance(error.__cause__, NotConverged | ValueError):
                raise
            np.copyto(result, grid.view)
            raise error.__cause__ from None
        np.copyto(result, grid.view)
    done, change = run.results[0]
    return done, change
