"""Red-black relaxation of a plain NumPy array: Laplace's equation with the boundary given.

    auto                          streams of the calling process, several iterations in one pass over the grid
    uniprocessor square vertical horizontal rectangular shared
                                  `smp.kernels.grids.programs.relax_red_black` on a machine, in that layout
    program                       in the layout that is predicted to be the fastest

The result is the same for all of them, to the last bit, and so is the number of iterations.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import Machine
from smp.errors import NotConverged, ProcessorRaised

from ..in_process import opened
from .blocked import relax_here
from .choice import way
from .layout_choice import best_layout
from .layouts import LAYOUTS
from .programs import checked_limit, relax_red_black
from .red_black import CHECK, Grid, check_converged, checked_omega


class Relaxed(NamedTuple):
    """What a relaxation took."""

    iterations: int
    """How many were made."""
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
    out: NDArray[Any] | None = None,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Relaxed]:
    """Relax a grid by red-black successive over-relaxation, towards the solution of Laplace's equation.

    Parameters
    ----------
    grid : array of shape (rows, columns), float32 or float64
        The outermost rows and columns are the boundary, which is fixed; the rest is where to start from.  Integers
        are converted to float64.  Strided or read-only too.
    omega : float, optional
        Degree of over-relaxation, between 0 and 2; by default the best one for a grid of this shape, see
        `smp.kernels.grids.red_black.best_omega`.
    tolerance : float, optional
        Stop when no cell has changed by as much in an iteration; this is looked at after every eighth.  By default,
        if ``iterations`` is not given either, a millionth of the largest number on the boundary, for float32 four.
    iterations : int, optional
        Without ``tolerance``, how many to make; with it, how many at most, 100,000 if not given.
    machine : Machine, optional
        By default the one of the ``with`` block around.  For "auto", the number of its processors is that of the
        streams; without one, there are as many as CPUs.  The other layouts run on it, or on one opened for the call.
    layout : {"auto", "program", "uniprocessor", "square", "vertical", "horizontal", "rectangular", "shared"}
        "auto" runs in the calling process; the others on a machine, see `layouts.rectangles`; "program" in
        the layout that is predicted to be the fastest.
    blocks : (int, int), optional
        For "rectangular", and if given for "shared": rows and columns of blocks.
    depth : int, optional
        For "auto": iterations in one pass over the grid, at most.  By default what is predicted to be the fastest.
    out : ndarray of the grid's shape and dtype, optional
        Where to put the result; may be the grid itself, which saves a copy.
    full_output : bool
        Return what the relaxation took, too.

    Returns
    -------
    ndarray of shape (rows, columns)
        A new array, or ``out``.
    Relaxed
        Only with ``full_output``: iterations, change, omega.

    Raises
    ------
    NotConverged
        The limit of iterations is reached, or a cell is no longer a number; ``out`` then holds the last iterate.
    TypeError, ValueError
        Complex numbers, not two-dimensional, an ``out`` that does not fit, numbers out of range.

    Notes
    -----
    An iteration takes two half sweeps of six operations a cell.  "auto" uses only the memory of the result.  After
    Ctrl-C, ``out`` may hold cells of different iterations.

    With models of this machine (``python -m smp.microbench --calibrate``), "auto" takes the streams and the depth that
    they predict to be the fastest, from a million cells times iterations on, and "program" the layout.  Without,
    "auto" makes sweeps on one stream below half a MiB, else passes as deep as the cache has rows for, of up to eight
    iterations, on all streams from two million cells times iterations of a pass; "program" is "uniprocessor" below
    20,000 cells, but for one or two iterations, and else "shared" in strips of rows.

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
        raise ValueError(f"no layout {layout!r}; there are auto, {', '.join(LAYOUTS)}, program")
    if layout == "program" and blocks is not None:
        raise ValueError(f"blocks={blocks} for layout 'program', which chooses them: leave them out, or name a layout")
    if depth is not None and depth < 1:
        raise ValueError(f"depth={depth}: a pass makes at least one iteration")
    result = _target(given, out)
    if layout != "auto":
        done, change = _relaxed_on(machine, result, layout, blocks, degree, tolerance, limit)
    else:
        done, change = _relaxed_here(machine, result, depth, degree, tolerance, limit)
    if tolerance is not None:
        check_converged(done, change, tolerance)
    return (result, Relaxed(done, change, degree)) if full_output else result


def _checked(grid: ArrayLike) -> Grid:
    """The grid as an array of float32 or float64."""
    given = np.asarray(grid)
    if given.dtype.kind in "biu":
        given = given.astype(np.float64)
    elif not given.dtype.isnative:
        given = given.astype(given.dtype.newbyteorder("="))
    if given.dtype not in (np.float32, np.float64):
        raise TypeError(f"a grid of {given.dtype}; relaxation takes float32 and float64: convert with astype first")
    if given.ndim != 2:
        raise ValueError(f"a grid has rows and columns; this one has shape {given.shape}")
    return given


def _usual_tolerance(grid: Grid) -> float:
    """A millionth of the largest number on the boundary, or what rounding lets a change come down to."""
    edges = (grid[:1], grid[-1:], grid[:, :1], grid[:, -1:])
    largest = max(float(np.max(np.abs(edge), initial=0)) for edge in edges)
    limits = np.finfo(grid.dtype)
    relative = max(1e-6, 32 * float(limits.eps))
    return largest * relative if 0 < largest < np.inf else float(limits.tiny)


def _target(grid: Grid, out: NDArray[Any] | None) -> Grid:
    """Where to relax: ``out``, or a new array, holding the grid."""
    if out is None:
        return np.array(grid, order="C")
    if not isinstance(out, np.ndarray) or out.shape != grid.shape or out.dtype != grid.dtype:
        what = f"{out.dtype}, shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out is of {what}; it takes an array of the grid's {grid.dtype}, shape {grid.shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only: give an array that can be written")
    if out is not grid:
        np.copyto(out, grid)
    return out


def _relaxed_here(
    machine: Machine | None, result: Grid, depth: int | None, omega: float, tolerance: float | None, limit: int
) -> tuple[int, float]:
    """Relax in place, through a copy where compiled loops would not take the array."""
    work = np.require(result, None, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE", "ENSUREARRAY"])
    kind = work.dtype.type
    factors = float(kind(omega / 4)), float(kind(1 - omega))
    how = way(work.shape, work.dtype.name, limit if tolerance is None else min(limit, CHECK), depth, machine)
    done, change = relax_here(work, limit, tolerance, *factors, **how)
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
    """Relax on a machine's copy."""
    with opened(machine) as chosen:
        grid = chosen.array(result)
        how: dict[str, Any] = {"layout": layout, "blocks": blocks}
        if layout == "program":
            likely = limit if tolerance is None else min(limit, sum(grid.shape))  # a millionth takes about as many
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
