"""Cost of polling: the slow-down of a stream that reads and writes memory while k others wait for one empty cell.

    the bandwidth-bound stream   |triad triad triad triad triad ... for a fixed time| fill
    k others                   readff: look, look, ... limit reached: asleep          go on

    apart      the pollers are on the other CPUs, and share those if there are more pollers than CPUs
    beside     the pollers are on the stream's own CPU and take turns with it

Triad, the loop a = b + s c of STREAM, is bound by bandwidth.  The limit is the number of looks after which a wait
traps, such as 0 (at once), the Tera's 1,024, or none (for ever).  A look at a line that no stream writes is served from
the poller's own cache.  With coherent caches, polling should therefore cost time of the CPU but not of the
interconnect; the MTA, without caches, would have paid for each look.  This is the measurement that the paper left
undone.

A stream that polls for ever keeps its CPU.  A visit in which other processes had a part of that CPU does not count:
with pollers apart, there was less polling; with pollers beside it, triad took turns with more than the pollers.

Source: the study of the Tera MTA, section 5.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._computer.system import stolen_ns
from smp._runtime.kinds import host
from smp._runtime.loops.atomics import fetch_add, load
from smp._runtime.loops.compiler import stream
from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor
from smp.compiled import readff
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.overlaps import SPAN
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import judged, row, stack
from smp.microbench.method.visits import TURNS, counted, result_of
from smp.microbench.method.windows import NO_FLAG, WINDOW, Flag, Limits, Windows, flags, per_operation

from ..bandwidth.loops import BYTES, triad_until
from .rows import Poll, Polling

FOREVER = 1 << 40
"""A limit that no wait of a visit reaches."""
Place = Literal["apart", "beside"]
APART: Place = "apart"
BESIDE: Place = "beside"
FEWEST_ROUNDS = 7
SETTLE = 1e-3
"""Seconds between the beginning of the last wait and that of triad."""
ARRAY_BYTES = 32 << 20
"""Bytes of each of the three arrays of triad."""
CHUNK = 1 << 14
"""Elements between two looks at the clock: about 30 us."""
LIMITS = Limits(off_cpu=0.05)
KEY = {"place": "U6", "limit": "i8", "pollers": "i4"}
Words = NDArray[np.int64]
Visits = list[tuple[Windows, NDArray[np.int64]]]
"""The one window of each visit, and the retries and traps of its waiters."""


@dataclass(frozen=True)
class Effort:
    """Extent of a mode: seconds, limits, and numbers of pollers."""

    seconds: float
    limits: tuple[int, ...]
    pollers: tuple[int, ...]


EFFORTS = {
    "quick": Effort(1.0, (0, 1024, FOREVER), (4,)),
    "default": Effort(5.0, (0, 64, 1024, FOREVER), (1, 2, 4, 8)),
    "full": Effort(20.0, (0, 16, 64, 256, 1024, FOREVER), (1, 2, 4, 8, 16)),
}
"""Extent of each mode."""
VISIT_NS, TURN_NS = 6_000_000, 20_000_000
"""Length of a visit, and its length per stream if streams take turns on a CPU, so that each has several turns."""


@dataclass(frozen=True)
class Task:
    """One case to measure: the place of the pollers, the number of looks after which they trap, and their number."""

    place: Place
    limit: int
    pollers: int

    @property
    def in_turns(self) -> bool:
        """True if the pollers take turns with the bandwidth-bound stream; those with a limit trap before it begins."""
        return self.place == BESIDE and self.limit == FOREVER

    @property
    def ignored(self) -> Flag:
        """Flags of a window that belong to the visit itself and do not count as a disturbance."""
        return TURNS if self.in_turns else NO_FLAG

    @property
    def visit_ns(self) -> int:
        """Length of one visit in ns."""
        return TURN_NS * (1 + self.pollers) if self.in_turns else VISIT_NS


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure triad on one CPU while other streams poll.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.rows`` has a row for each place, limit (None: for ever) and number of pollers, from 0. A row has ``ns``
        an element, ``GBps``, and ``slowdown``, the ratio to the row without pollers in the same place, with its bounds
        ``slowdown_low`` and ``slowdown_high``. ``retries`` and ``traps`` are those of all pollers in a visit; all
        numbers but the bounds are medians. ``data.look_ns`` is the time of one look. ``samples`` has every visit as one
        window.

    Notes
    -----
    Takes 1, 5 or 20 s, depending on the mode.  On one CPU there is no "apart".
    """
    begun, effort = time.monotonic(), EFFORTS[plan.mode]
    cpus = usable_cpus()
    processors = min(len(cpus), 1 + max(effort.pollers))
    rng = np.random.default_rng([plan.seed, 8])
    tick(0.0, "polling")
    found: dict[Task, Visits] = {}
    places: list[Place] = [APART, BESIDE] if processors > 1 else [BESIDE]
    left_ns = sum(task.visit_ns for place in places for task in tasks_of(place, effort))
    for place in places:
        tasks = tasks_of(place, effort)
        share = sum(task.visit_ns for task in tasks) / left_ns
        left_ns -= sum(task.visit_ns for task in tasks)

        def told(part: float, text: str, before: float = places.index(place) / len(places)) -> None:
            tick(before + part / len(places), text)

        with host(processors if place == APART else 1, pin=cpus) as machine:
            bench = _Bench(machine, effort.limits)
            found |= _visited(
                bench, tasks, share * (plan.seconds(effort.seconds) - (time.monotonic() - begun)), rng, told
            )
    tick(1.0, "polling")
    results = {task: _result(task, [window for window, _ in visits]) for task, visits in found.items()}
    counts = {task: np.median([of_visit for _, of_visit in visits], axis=0) for task, visits in found.items()}
    rows = rows_of(results, counts)
    data = Polling(
        rows=rows,
        look_ns=look_ns(rows, processors - 1),
        cpus=len(cpus),
        poller_cpus=processors - 1,
        array_bytes=ARRAY_BYTES,
        **judged(list(results.values())),
    )
    return Measurement(data, {"polling": stack(list(results.values()), KEY)})


def tasks_of(place: Place, effort: Effort) -> list[Task]:
    """Return the tasks of one place: no pollers, and then each limit with each number of pollers."""
    waiting = itertools.product(effort.limits, effort.pollers)
    return [Task(place, 0, 0), *(Task(place, limit, pollers) for limit, pollers in waiting)]


def rows_of(results: dict[Task, Result], counts: dict[Task, NDArray[Any]]) -> list[Poll]:
    """Return the rows of the section, each with its slow-down relative to the row of its place without pollers.

    The ends of a slow-down follow from the quartiles of both rows.  A row is not valid if the one without pollers is
    not.  ``counts`` has the retries and traps of a visit.
    """
    rows = []
    for task, result in results.items():
        alone = next(one for other, one in results.items() if (other.place, other.pollers) == (task.place, 0))
        retries, traps = counts[task]
        (first, third), (alone_first, alone_third) = _quartiles(result, task.ignored), _quartiles(alone, NO_FLAG)
        rows.append(
            Poll(
                place=task.place,
                limit=None if task.limit == FOREVER else task.limit,
                pollers=task.pollers,
                GBps=BYTES[3] / result.median,
                slowdown=result.median / alone.median,
                slowdown_low=first / alone_third if task.pollers else 1.0,
                slowdown_high=third / alone_first if task.pollers else 1.0,
                visit_ns=float(np.median(result.windows["wall_ns"])),
                retries=float(retries),
                traps=float(traps),
                **row(replace(result, why=result.why or [f"without pollers: {why}" for why in alone.why])),
            )
        )
    return rows


def _quartiles(result: Result, ignored: Flag) -> tuple[float, float]:
    first, third = np.percentile(per_operation(counted(result, ignored)), [25, 75])
    return float(first), float(third)


def look_ns(rows: Sequence[Poll], cpus: int) -> float | None:
    """Return the ns of one look, from the fewest pollers that poll for ever on other CPUs; None without such a row."""
    polling = [row for row in rows if row.pollers and (row.place, row.limit) == (APART, None)]
    fewest = min(polling, key=lambda row: row.pollers, default=None)
    if fewest is None or not fewest.retries or fewest.visit_ns is None:
        return None
    # the pollers share the CPUs: together, their looks take the whole time of the wait on each CPU in use
    return (fewest.visit_ns + 1e9 * SETTLE) * min(fewest.pollers, cpus) / fewest.retries


def _visited(
    bench: _Bench, tasks: Sequence[Task], seconds: float, rng: np.random.Generator, tick: Tick
) -> dict[Task, Visits]:
    """Visit all tasks in random order, round by round while there is time."""
    begun = time.monotonic()
    found: dict[Task, Visits] = {task: [] for task in tasks}
    done = 0
    while done < FEWEST_ROUNDS or (time.monotonic() - begun) * (done + 1) / done <= seconds:
        for at, index in enumerate(rng.permutation(len(tasks))):
            task = tasks[index]
            found[task].append(bench.visit(task, done))
            part = (done + (at + 1) / len(tasks)) / FEWEST_ROUNDS
            tick(min(1.0, part), f"{task.pollers} pollers {task.place}")
        done += 1
    return found


def _result(task: Task, windows: Sequence[Windows]) -> Result:
    joined = np.concatenate(windows)
    joined["flags"] = flags(joined, limits=LIMITS)
    return result_of((task.place, task.limit, task.pollers), joined, LIMITS, task.ignored)


class _Bench:
    """A machine with a cell for each limit, and a word in which the pollers that have begun are counted."""

    def __init__(self, machine: Machine, limits: Sequence[int]) -> None:
        self._machine, self._timer_ns = machine, timer_cost()
        self._cells = {limit: machine.cells(1, padded=True, retries=limit) for limit in {0, *limits}}
        self._begun = machine.zeros(1, np.int64)
        self.visit(Task(APART, 0, 1), 0)  # compiles

    def visit(self, task: Task, turn: int) -> tuple[Windows, NDArray[np.int64]]:
        """Run triad while other streams wait; return its window, and the retries and traps of the waiters."""
        cells = self._cells[task.limit]
        self._begun.view[0] = 0
        counts = _counts(cells)
        stolen = stolen_ns(usable_cpus()) or 0
        found = self._machine.run(_program, cells, self._begun, task.pollers, task.visit_ns).results
        spans, kept = found[0][0].view(SPAN)[:, 0], min(kept for _, kept in found)
        cells.purge(0)
        window = np.zeros(1, WINDOW)
        window["round"], window["operations"] = turn, spans["operations"].sum()
        window["wall_ns"] = spans["end"][-1] - spans["start"][0]
        window["cpu_ns"] = spans["cpu_ns"].sum()
        window["timer_ns"], window["overlap"] = self._timer_ns, kept if task.limit == FOREVER else 1.0
        window["stolen_ns"] = (stolen_ns(usable_cpus()) or 0) - stolen
        window["before_GHz"] = window["after_GHz"] = np.nan
        return window, _counts(cells) - counts


def _counts(cells: Cells) -> NDArray[np.int64]:
    """Return the retries and traps of all streams so far."""
    counters = cells.counters()
    return np.array([counters["retries"].sum(), counters["traps"].sum()], np.int64)


@stream
def poll(begun: Words, cells: Cells) -> None:
    """Add 1 to the count of pollers that have begun, and wait until the cell is full."""
    fetch_add(begun, 0, 1)
    readff(cells, 0)


@functools.cache
def _arrays() -> list[NDArray[np.float64]]:
    """Return the three arrays of triad, which a processor makes at its first visit."""
    return [np.ones(ARRAY_BYTES // 8) for _ in range(3)]


def _program(proc: Processor, cells: Cells, begun: GlobalArray, pollers: int, ns: int) -> tuple[Words, float]:
    """Run the program of one processor: processor 0 runs triad, and the pollers wait on the others.

    If processor 0 is the only one, all pollers wait on it.

    Returns
    -------
    int64 array
        The windows of triad, as `overlaps.SPAN`.
    float
        The share of the time since all pollers began in which the pollers of this processor (and triad, if it runs
        there too) kept its CPU. It is 1 if the processor has no pollers.
    """
    own = len(range(pollers)[max(0, proc.rank - 1) :: max(1, proc.size - 1)]) if proc.rank or proc.size == 1 else 0
    with proc.streams(max(1, own)) as pool:
        threads = [pool.start(poll, begun.view, cells) for _ in range(own)]
        spans = np.zeros((0, 4), np.int64)
        if proc.rank == 0:
            a, b, c = _arrays()
            triad_until(a, b, c, 0.0, CHUNK, 0.0, spans)  # compiled before anything is timed
        while load(begun.view, 0) < pollers:
            time.sleep(1e-4)
        busy, start = time.process_time_ns(), time.monotonic_ns()
        if proc.rank == 0:
            time.sleep(SETTLE)
            spans = np.zeros((2 + ns // 1000, 4), np.int64)
            spans = spans[: triad_until(a, b, c, 0.0, CHUNK, ns / 1e9, spans)]
        else:
            time.sleep(SETTLE + ns / 1e9)
        kept = (time.process_time_ns() - busy) / (time.monotonic_ns() - start) if own else 1.0
        if proc.rank == 0:
            cells.fill(0)
        while not all(thread.done() for thread in threads):
            time.sleep(1e-4)  # instead of waiting in result(), whose looks and traps would be counted
        for thread in threads:
            thread.result()
    return spans, kept
