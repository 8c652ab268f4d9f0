"""Waking streams that wait for one cell: all of them at once, or one after the other; after figures 8 and 9.

    many    readff: the first fill serves all, and the cell stays full
    one     readfe, then writeef: each serves the next

The main thread starts the streams, looks until all have begun to wait, spins in its initial loop, fills the cell, and
sleeps until all have reported.  After a short loop, the streams that came last still look at the cell.  After a long
one, all have trapped and sleep.  The traps are counted.  The streams may run on all CPUs of the process, and the main
thread spins on one of these until the fill.  If there are more streams than CPUs, they take turns, and most have
trapped before the last one begins.

Source: the study of the Tera MTA, section 3.2.1.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import product

import numpy as np

from smp._computer.limits import usable_cpus
from smp._runtime.kinds import host
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor
from smp._runtime.program.streams import Pool
from smp.microbench.method.clocks import HostClock, clock_rate
from smp.microbench.method.others import Others
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import Times, judged, key_of, row
from smp.microbench.method.visits import (
    Counts,
    Watch,
    counts_of,
    elsewhere_of,
    result_of,
    rounds,
    section_of,
    states_of,
)
from smp.microbench.method.windows import Windows
from smp.models.placement_log import PlacementLog

from .loops import ALL, SHARED_WORDS, link, pass_by, set_off
from .rows import Waking, Woken

MANY, ONE = "many", "one"
RETRIES = 1024
"""Number of looks before a wait traps, as on the Tera."""
KEY = {"how": "U4", "initial_ns": "i8", "streams": "i4"}


@dataclass(frozen=True)
class Effort:
    """Extent of a mode: seconds, lengths of the initial loop in ns, and numbers of streams."""

    seconds: float
    initial_ns: tuple[int, ...]
    streams: tuple[int, ...]


EFFORTS = {
    "quick": Effort(0.4, (0, 1_000_000), (1, 4, 16, 64)),
    "default": Effort(2.7, (0, 5_000, 1_000_000), (1, 2, 4, 8, 16, 32, 64, 100)),
    "full": Effort(
        19.0, (0, 2_000, 5_000, 10_000, 1_000_000), (*range(1, 9), 10, 12, 16, 20, 24, 32, 40, 50, 64, 80, 100)
    ),
}
"""Extent of each mode."""


@dataclass(frozen=True)
class Task:
    """One case to measure: the way of waking, the ns that the main thread spins before the fill, and the streams."""

    how: str
    initial_ns: int
    streams: int


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the time until all streams that wait for a cell have gone on.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.rows`` has a row for each way, initial loop and number of streams: ``ns`` a stream and ``total_ns``,
        medians of the visits, with the ``retries`` and ``traps`` of a visit. ``samples`` has every visit.

    Raises
    ------
    Stopped
        On Ctrl-C, with the rounds that are complete.

    Notes
    -----
    Takes 1, 3 or 20 s, depending on the mode.
    """
    effort, clock, GHz = EFFORTS[plan.mode], HostClock(), clock_rate().GHz
    tasks = [Task(*chosen) for chosen in product((MANY, ONE), effort.initial_ns, effort.streams)]
    tick(0.0, "waking")
    with host(1, pin=False) as machine:
        words, cells = machine.zeros(SHARED_WORDS, np.int64), machine.cells(1, padded=True, retries=RETRIES)

        def take(order: list[Task], turn: int) -> list[Windows]:
            windows: list[Windows] = machine.run(program, words, cells, order, turn, clock.timer_ns).results[0]
            return windows

        take([Task(MANY, 0, 1), Task(ONE, 0, 1)], 0)  # compiles
        taken, cut = rounds(
            tasks,
            take,
            plan.seconds(effort.seconds),
            np.random.default_rng([plan.seed, 10]),
            clock,
            tick,
            Others(),
            plan.placement,
        )
    results = [result_of((task.how, task.initial_ns, task.streams), windows) for task, windows in taken.items()]
    rows = [_row(result, GHz, plan.placement) for result in results]
    placement = states_of(plan.placement)
    data = Waking(rows=rows, placement=placement, limit=RETRIES, cpus=len(usable_cpus()), **judged(results))
    return section_of("waking", results, data, KEY, cut)


def _row(result: Result, GHz: float, log: PlacementLog) -> Woken:
    how, initial_ns, streams = key_of(result)
    return Woken(
        how=how,
        initial_ns=initial_ns,
        streams=streams,
        **statistics(result, GHz),
        elsewhere_ns=elsewhere_of(result, log),
    )


class Statistics(Times, Counts):
    """Fields that the rows of the sections ``waking`` and ``chain`` have in common."""

    total_ns: float


def statistics(result: Result, GHz: float) -> Statistics:
    """Return the numbers of a row whose last key is the number of streams."""
    return {"total_ns": result.median * key_of(result)[-1], **row(result, GHz), **counts_of(result)}


def program(
    proc: Processor, words: GlobalArray, cells: Cells, order: list[Task], turn: int, timer_ns: float
) -> list[Windows]:
    """Run the program of the processor: visit every task once."""
    with proc.streams(max(task.streams for task in order)) as pool:
        return [visit(proc, pool, words, cells, task, turn, timer_ns) for task in order]


def visit(
    proc: Processor, pool: Pool, words: GlobalArray, cells: Cells, task: Task, turn: int, timer_ns: float
) -> Windows:
    """Start the streams of a task and set them off; return the window from the fill until all have reported."""
    waiter = pass_by if task.how == MANY else functools.partial(link, i=0, then=0, iterations=0)
    words.view[:] = 0
    words.view[ALL] = task.streams
    watch = Watch(proc.counters)
    threads = [pool.start(waiter, words.view, cells) for _ in range(task.streams)]
    wall_ns = set_off(words.view, cells, task.initial_ns, proc.sync)
    window = watch.window(turn, task.streams, wall_ns, timer_ns)
    for thread in threads:
        thread.result()
    cells.purge(0)
    return window
