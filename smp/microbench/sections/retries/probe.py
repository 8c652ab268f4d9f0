"""Retries: the number of looks of a wait before it traps, counted and timed; after the program of figure 7.

    stream    readff on an empty cell: look, look, ... trap │            │ go on
    main      read the counters     wait until it has trapped │ read them again │ fill

The count has to equal the limit that was set.  The time until a wait traps is measured separately, with a wait whose
timeout is over before it begins: it still makes all its looks, traps, and withdraws.  The time of a look is the extra
time of the longest wait over one with limit 0, divided by its number of looks.  No other thread is at the cell.

Source: the study of the Tera MTA, section 3.2.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

import numpy as np

from smp._runtime.kinds import host
from smp._runtime.loops.compiler import stream
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor
from smp.compiled import readff
from smp.errors import WaitTimeout
from smp.microbench.method.clocks import HostClock, clock_rate
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import judged, key_of, row
from smp.microbench.method.visits import Watch, result_of, rounds, section_of
from smp.microbench.method.windows import Flag, Windows

from .rows import Retries, Wait

RETRIES = (0, 1, 10, 100, 1024, 10_000)
"""The limits; 1,024 is that of the Tera."""
SECONDS = {"quick": 0.1, "default": 1.0, "full": 5.0}
"""Seconds of each mode."""
NAP = 1e-4
KEY = {"limit": "i8"}


@dataclass(frozen=True)
class Counted:
    """Retries and traps of a stream while it waited."""

    retries: int
    traps: int


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Count the retries of a wait before it traps, and time them.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.rows`` has a row for each limit. ``counted_least`` and ``counted_most`` are the fewest and the most
        retries counted in the ``waits`` of a stream, and ``equal`` is True if all counts equal the limit. ``ns`` is the
        time until a wait has trapped and withdrawn, the median of ``windows`` timed waits. ``look_ns`` is the time of a
        look. ``samples`` has every timed wait, with its retries and traps.

    Raises
    ------
    Stopped
        On Ctrl-C, with the rounds that are complete.

    Notes
    -----
    Takes 0.3, 1 or 5 s, depending on the mode.
    """
    clock, GHz = HostClock(), clock_rate().GHz
    counted: dict[int, list[Counted]] = {limit: [] for limit in RETRIES}
    tick(0.0, "retries")
    with host(1, pin=False) as machine:
        cells = {limit: machine.cells(1, padded=True, retries=limit) for limit in RETRIES}

        def take(order: list[int], turn: int) -> list[Windows]:
            found, windows = machine.run(_program, cells, order, turn, clock.timer_ns).results[0]
            for limit, counts in zip(order, found, strict=True):
                counted[limit].append(counts)
            return list(windows)

        machine.run(_program, cells, [1], 0, clock.timer_ns)  # compiles
        seconds = plan.seconds(SECONDS[plan.mode])
        taken, cut = rounds(RETRIES, take, seconds, np.random.default_rng([plan.seed, 13]), clock, tick)
    results = [result_of((limit,), windows, ignore=Flag.SWITCHED) for limit, windows in taken.items()]
    rows = [_row(result, counted[key_of(result)[0]], GHz) for result in results]
    data = Retries(rows=rows, look_ns=look_of(results), **judged(results))
    return section_of("retries", results, data, KEY, cut)


def look_of(results: list[Result]) -> float:
    """Return the ns of one look: the extra time of the longest wait over that with limit 0, divided by its looks."""
    times = {key_of(result)[0]: result.median for result in results}
    return float((times[max(times)] - times[0]) / max(times))


def _row(result: Result, counted: list[Counted], GHz: float) -> Wait:
    limit = key_of(result)[0]
    found = [counts.retries for counts in counted]
    return Wait(
        limit=limit,
        counted_least=min(found),
        counted_most=max(found),
        equal=set(found) == {limit},
        waits=len(found),
        **row(result, GHz),
    )


@stream
def wait(cells: Cells) -> int:
    """Wait until cell 0 is full."""
    return int(readff(cells, 0))


def _program(
    proc: Processor, cells: dict[int, Cells], order: list[int], turn: int, timer_ns: float
) -> tuple[list[Counted], list[Windows]]:
    """Run the program of the processor: at each limit, count the retries of a stream, and time a wait."""
    with proc.streams(1) as pool:
        counted, windows = [], []
        for limit in order:
            before = proc.counters()
            thread = pool.start(wait, cells[limit])
            while not pool.trapped:
                time.sleep(NAP)
            after = proc.counters()
            cells[limit].fill(0)
            thread.result()
            cells[limit].purge(0)
            counted.append(Counted(*(int(after[name].sum() - before[name].sum()) for name in ("retries", "traps"))))
            windows.append(_timed(proc, cells[limit], turn, timer_ns))
    return counted, windows


def _timed(proc: Processor, cells: Cells, turn: int, timer_ns: float) -> Windows:
    """Time the second of two waits that withdraw as soon as they have trapped, since a CPU is slow after a sleep."""
    with contextlib.suppress(WaitTimeout):
        cells.readff(0, timeout=0)
    watch = Watch(proc.counters)
    cpu, start = time.thread_time_ns(), time.perf_counter_ns()
    with contextlib.suppress(WaitTimeout):
        cells.readff(0, timeout=0)
    wall, cpu = time.perf_counter_ns() - start, time.thread_time_ns() - cpu
    window = watch.window(turn, 1, wall, timer_ns)
    window["cpu_ns"] = cpu
    return window
