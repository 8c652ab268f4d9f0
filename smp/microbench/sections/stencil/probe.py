"""Red-black relaxation by every layout, for several grids and numbers of processors, and by the fast form.

The grids are square, with random float64, and the number of iterations is fixed.  The time of an iteration is that of
its two supersteps, as a median of the repeats.  The copies of the blocks in and out, which are done once, are reported
separately.  Every superstep is compared with its predicted times, and every result equals that of one processor bit
for bit.  The fast form relaxes the same grid, with its iterations blocked in time and one by one.  The same streams
also copy the grid once for each iteration.  A copy moves 16 bytes a cell, the least that a single iteration can move.
Source: Brewer, Portable High-Performance Supercomputing, sections 4.4 and 5.2.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import available_memory, measuring_cpus
from smp._runtime.kinds import host
from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.run import Run
from smp.errors import SmpError
from smp.kernels.grids.forms import ITERATIONS
from smp.kernels.grids.functions import relax
from smp.kernels.grids.layouts import rectangles
from smp.kernels.grids.programs import LABELS, relax_red_black
from smp.kernels.in_process import side_by_side, streams_for
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.models.placement_log import PlacementLog
from smp.profiles.profile import Profile

from ..programs.probe import Found, averages, in_supersteps, sampled
from .rows import Form, GridForm, GridRun, GridStep, Stencil

SIDES = {"quick": (256, 1024), "default": (256, 1024, 4096), "full": (256, 512, 1024, 2048, 4096, 8192)}
"""Number of rows, and of columns, of the grids."""
ROOM = 8
"""Multiple of a grid's bytes that must be free: for its copies in this process, the shared grids of all sizes, and the
processors' own blocks."""
REPEATS, FEWER_FROM, FEWER = 5, 2048, 3
KEY = {"rows": "i4", "columns": "i4", "p": "i4", "layout": "U16", "blocks": "U8"}
Grid = NDArray[np.float64]


class WrongGrid(SmpError):
    """Raised when the grid of a layout or of the fast form differs from that of one processor.

    This is a defect, not a measurement.
    """


class Layout(NamedTuple):
    """Distribution of a grid over the processors: its name, and block rows x block columns."""

    name: str
    blocks: tuple[int, int]


def layouts_of(p: int) -> list[Layout]:
    """Return the layouts for p processors.

    If several divide the grid into the same blocks, only the first is kept. "shared" is always added.

    Examples
    --------
    >>> [f"{name} {rows}x{columns}" for name, (rows, columns) in layouts_of(2)]
    ['vertical 1x2', 'horizontal 2x1', 'shared 2x1']
    >>> [f"{name} {rows}x{columns}" for name, (rows, columns) in layouts_of(6)]
    ['vertical 1x6', 'horizontal 6x1', 'square 3x2', 'rectangular 2x3', 'shared 3x2']
    """
    shapes = [(rows, p // rows) for rows in range(1, p + 1) if p % rows == 0]
    named = ["uniprocessor"] if p == 1 else ["vertical", "horizontal", "square"]
    found: dict[tuple[int, int], str] = {}
    for name in named:
        found.setdefault(_blocks(p, name), name)
    for blocks in shapes:
        found.setdefault(blocks, "rectangular")
    return [*(Layout(name, blocks) for blocks, name in found.items()), Layout("shared", _blocks(p, "shared"))]


def _blocks(p: int, layout: str) -> tuple[int, int]:
    """Return the block rows and block columns into which a layout divides a square grid."""
    shares = [each for each in rectangles((2 + 4 * p, 2 + 4 * p), p, layout=layout) if each.cells]
    return len({each.top for each in shares}), len({each.left for each in shares})


def measure(plan: Plan, tick: Tick, profile: Profile | None = None) -> Measurement:
    """Relax grids and compare every superstep with its predicted times.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.
    profile : Profile, optional
        Profile with fitted cost functions; without it there are no intervals.

    Returns
    -------
    Measurement
        ``rows`` has a row for each grid, p and layout, with ``ns_per_cell`` of an iteration and ``around_ns`` of the
        work that is done once, per cell. ``steps`` has their supersteps, those of one label (a colour, for instance)
        combined, and ``analysis`` has the averages of these over the grids. ``forms`` has the fast form and the copy by
        grid. ``left_out`` has the grids for which memory is short.

    Raises
    ------
    Stopped
        On Ctrl-C, with everything measured so far.
    WrongGrid
        If the result of a layout or of the fast form differs from that of one processor.
    """
    found = _Found(profile, plan.placement)
    fits = [side for side in SIDES[plan.mode] if ROOM * 8 * side**2 <= available_memory()]
    found.left_out = [side for side in SIDES[plan.mode] if side not in fits]
    work = np.array([side**2 + 50_000 for side in fits for _ in (0, *plan.processors)], float)
    done = iter(np.cumsum(work) / work.sum())
    try:
        for side in fits:
            grid = _grid(side, plan.seed)
            with host(1, pin=measuring_cpus(1)) as machine:
                expected = _alone(machine, grid)
            _relax_here(grid, expected, found)
            tick(float(next(done)), f"relaxation without a machine, {side:,} x {side:,}")
        for p in plan.processors:
            with host(p, pin=measuring_cpus(p)) as machine:
                _relax(machine, _grid(16 * p, plan.seed), _Found(None, PlacementLog()))  # compiles or loads every loop
                for side in fits:
                    _relax(machine, _grid(side, plan.seed), found)
                    tick(float(next(done)), f"relaxation, {side:,} x {side:,}, p = {p}")
    except KeyboardInterrupt:
        if found.rows or found.forms:
            raise Stopped("stencil", found.section()) from None
        raise
    return found.section()


def _grid(side: int, seed: int) -> Grid:
    return np.random.default_rng([seed, side]).random((side, side))


def _repeats(side: int) -> int:
    return FEWER if side >= FEWER_FROM else REPEATS


def _run(machine: Machine, shared: GlobalArray, grid: Grid, layout: str, blocks: tuple[int, int] | None = None) -> Run:
    shared.view[:] = grid
    return machine.run(relax_red_black, shared, layout=layout, blocks=blocks, iterations=ITERATIONS)


def _alone(machine: Machine, grid: Grid) -> Grid:
    """Relax a grid on one processor; return the result."""
    shared = machine.empty(grid.shape, grid.dtype)
    _run(machine, shared, grid, "uniprocessor")
    return shared.view.copy()


def _relax(machine: Machine, grid: Grid, found: _Found) -> None:
    """Relax a grid by every layout."""
    expected, shared, p = _alone(machine, grid), machine.empty(grid.shape, grid.dtype), machine.size
    rows, columns = grid.shape
    for name, blocks in layouts_of(p):

        def relaxed(name: str = name, blocks: tuple[int, int] = blocks) -> Run:
            run = _run(machine, shared, grid, name, blocks if name == "rectangular" else None)
            _check(f"layout {name} on {p} processors", shared.view, expected)
            return run

        runs = found.repeat(relaxed, _repeats(len(grid)))
        key = {"rows": rows, "columns": columns, "p": p, "layout": name, "blocks": "{}x{}".format(*blocks)}
        whole = np.array([in_supersteps(run) for run in runs])
        relaxing = np.array([in_supersteps(run, LABELS) for run in runs])
        took, usual = found.add(key, runs, whole.tolist(), pool=True), found.usual(runs)
        found.rows.append(
            GridRun(
                **key,
                iterations=ITERATIONS,
                ns_per_cell=float(np.median(relaxing[usual])) / ITERATIONS / grid.size * 1e9,
                around_ns=float(np.median((whole - relaxing)[usual])) / grid.size * 1e9,
                **took,
            )
        )


def _relax_here(grid: Grid, expected: Grid, found: _Found) -> None:
    """Relax a grid by the fast form, and copy it as often, alternately."""
    work, streams = grid.copy(), streams_for(None)
    forms: dict[Form, Callable[[], object]] = {
        "blocked": partial(relax, work, iterations=ITERATIONS, out=work),
        "one by one": partial(relax, work, iterations=ITERATIONS, depth=1, out=work),
        "copy": partial(_copy, grid, work, streams),
    }
    seconds: dict[Form, list[float]] = {name: [] for name in forms}
    for repeat in range(1 + _repeats(len(grid))):  # the first compiles or loads the loops
        for name, form in forms.items():
            work[:] = 0 if name == "copy" else grid
            start = time.perf_counter()
            form()
            taken = time.perf_counter() - start
            _check(name, work, grid if name == "copy" else expected)
            if repeat:
                seconds[name].append(taken)
    copied = float(np.median(seconds["copy"]))
    rows, columns = grid.shape
    for name, each in seconds.items():
        median = float(np.median(each))
        steadiness = found.sample({"rows": rows, "columns": columns, "p": streams, "layout": name, "blocks": ""}, each)
        found.forms.append(
            GridForm(
                rows=rows,
                columns=columns,
                form=name,
                streams=streams,
                ns_per_cell=median / ITERATIONS / grid.size * 1e9,
                copies=median / copied,
                **steadiness,
            )
        )


def _copy(source: Grid, out: Grid, streams: int) -> None:
    """Copy a grid as often as it is relaxed; each stream copies a strip of rows."""

    def copy(first: int, last: int) -> None:
        for _ in range(ITERATIONS):
            np.copyto(out[first:last], source[first:last])

    edges = np.linspace(0, len(source), streams + 1).astype(int)
    side_by_side(*(partial(copy, first, last) for first, last in itertools.pairwise(edges)))


def _check(what: str, result: Grid, expected: Grid) -> None:
    if not np.array_equal(result, expected):
        raise WrongGrid(
            f"relaxation, {what}: {np.count_nonzero(result != expected):,} of {expected.size:,} cells differ"
        )


class _Found(Found[GridRun, GridStep]):
    """Rows measured so far, with those of the functions that need no machine."""

    def __init__(self, profile: Profile | None, log: PlacementLog) -> None:
        super().__init__(profile, GridStep, log)
        self.forms: list[GridForm] = []
        self.left_out: list[int] = []

    def section(self) -> Measurement:
        """Return the section with everything measured so far."""
        data = Stencil(
            rows=self.rows,
            steps=self.steps,
            analysis=averages(self.steps, "layout", "blocks", "p"),
            forms=self.forms,
            left_out=self.left_out,
            **self.judged(),
        )
        return Measurement(data, {"stencil": np.array(self.samples, sampled(KEY))})
