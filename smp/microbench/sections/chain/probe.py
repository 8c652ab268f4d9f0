"""Measure the time for passing a value on through one cell or along a chain of cells, after figures 10 and 11.

    mass       readfe(cell 0) │ work │ writeef(cell 0)           all streams wait for the same cell
    chained    readfe(cell i) │ work │ writeef(cell i + 1)       each waits for its own cell, on a line of its own
    packed     as chained, with four cells on a line

No stream is made to trap on purpose: the main thread fills the first cell as soon as all streams have begun to wait.
An iteration of work is 21 dependent operations of a clock each, as long as one instruction of a stream took on the MTA.
The streams run on all CPUs that the process may use; more streams than CPUs take turns.

Source: the study of the Tera MTA, section 3.2.2.
"""

from __future__ import annotations

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
from smp.microbench.method.rows import judged, key_of
from smp.microbench.method.visits import Watch, elsewhere_of, result_of, rounds, section_of, states_of
from smp.microbench.method.windows import Windows
from smp.models.placement_log import PlacementLog

from ..waking.loops import ALL, OPERATIONS, SHARED_WORDS, link, set_off
from ..waking.probe import RETRIES, statistics
from .rows import Chain, Passed

MASS, CHAINED, PACKED = "mass", "chained", "packed"
WORK = (0, 100, 200)
"""Iterations of work, those of the paper."""
KEY = {"how": "U7", "work": "i4", "streams": "i4"}


@dataclass(frozen=True)
class Effort:
    """Extent of the measurement in one mode: seconds, arrangements of the cells, and numbers of streams."""

    seconds: float
    how: tuple[str, ...]
    streams: tuple[int, ...]


EFFORTS = {
    "quick": Effort(0.4, (MASS, CHAINED), (1, 4, 16, 64)),
    "default": Effort(2.7, (MASS, CHAINED, PACKED), (1, 2, 4, 8, 16, 32, 64)),
    "full": Effort(19.0, (MASS, CHAINED, PACKED), (*range(1, 9), 10, 12, 16, 20, 24, 32, 40, 50, 64)),
}
"""Efforts by mode."""


@dataclass(frozen=True)
class Task:
    """One thing to measure: an arrangement of the cells, iterations of work, and a number of streams."""

    how: str
    work: int
    streams: int


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the time until all streams have passed a value on.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.rows`` has a row for each arrangement, work and number of streams: ``ns`` per stream and ``total_ns``,
        medians of the visits, with the ``retries`` and ``traps`` of a visit. ``samples`` has every visit.

    Raises
    ------
    Stopped
        On Ctrl-C, with the complete rounds.

    Notes
    -----
    Takes 1, 3 or 20 s by mode.
    """
    effort, clock, GHz = EFFORTS[plan.mode], HostClock(), clock_rate().GHz
    tasks = [Task(*chosen) for chosen in product(effort.how, WORK, effort.streams)]
    tick(0.0, "chain")
    with host(1, pin=False) as machine:
        words, most = machine.zeros(SHARED_WORDS, np.int64), max(effort.streams)
        cells = {padded: machine.cells(most + 1, padded=padded, retries=RETRIES) for padded in (False, True)}

        def take(order: list[Task], turn: int) -> list[Windows]:
            windows: list[Windows] = machine.run(program, words, cells, order, turn, clock.timer_ns).results[0]
            return windows

        take([Task(CHAINED, 0, 1)], 0)  # compiles
        taken, cut = rounds(
            tasks,
            take,
            plan.seconds(effort.seconds),
            np.random.default_rng([plan.seed, 11]),
            clock,
            tick,
            Others(),
            plan.placement,
        )
    results = [result_of((task.how, task.work, task.streams), windows) for task, windows in taken.items()]
    data = Chain(
        rows=[_row(result, GHz, plan.placement) for result in results],
        placement=states_of(plan.placement),
        limit=RETRIES,
        operations=OPERATIONS,
        cpus=len(usable_cpus()),
        **judged(results),
    )
    return section_of("chain", results, data, KEY, cut)


def _row(result: Result, GHz: float, log: PlacementLog) -> Passed:
    how, work, streams = key_of(result)
    return Passed(
        how=how, work=work, streams=streams, **statistics(result, GHz), elsewhere_ns=elsewhere_of(result, log)
    )


def program(
    proc: Processor, words: GlobalArray, cells: dict[bool, Cells], order: list[Task], turn: int, timer_ns: float
) -> list[Windows]:
    """Run the program of the processor: visit every task once."""
    with proc.streams(max(task.streams for task in order)) as pool:
        return [visit(proc, pool, words, cells[task.how != PACKED], task, turn, timer_ns) for task in order]


def visit(
    proc: Processor, pool: Pool, words: GlobalArray, cells: Cells, task: Task, turn: int, timer_ns: float
) -> Windows:
    """Start the streams of a task, set off the first, and return the window from then until all have reported."""
    step = 0 if task.how == MASS else 1
    words.view[:] = 0
    words.view[ALL] = task.streams
    watch = Watch(proc.counters)
    threads = [pool.start(link, words.view, cells, step * k, step * (k + 1), task.work) for k in range(task.streams)]
    wall_ns = set_off(words.view, cells, 0, proc.sync)
    window = watch.window(turn, task.streams, wall_ns, timer_ns)
    for thread in threads:
        thread.result()
    cells.purge(step * task.streams)
    return window
