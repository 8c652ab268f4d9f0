"""Measure the clocks per instruction against the number of streams on one CPU, after figure 4.

    add     a chain of exclusive ors and additions, each of which needs the one before: a clock each when alone
    clock   reads of the clock, as timed in the paper

The streams are threads of one processor that is pinned to one CPU.  They sleep at a cell until it is filled, and each
then does the same number of instructions.  A stream's time runs from the fill to its own last instruction, so it
includes the turns of the others.  The MTA switched between streams at every clock and kept its pipeline busy with 21 of
them.  Here the system switches some hundred times a second, so s streams take s times as long as one, for any s.

From the fill to the last instruction the CPU always runs one of these streams.  If their CPU times sum to less than 95%
of that time, other processes had the rest, and the visit does not count.  A visit does not count either if the clock
rate had changed.

Source: the study of the Tera MTA, section 3.1.2.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._runtime.kinds import host
from smp._runtime.loops.atomics import clock as read_clock
from smp._runtime.loops.atomics import thread_clock
from smp._runtime.loops.compiler import stream
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor
from smp._runtime.program.streams import Pool
from smp.compiled import readff
from smp.microbench.method.clocks import HostClock, clock_rate, estimate_GHz
from smp.microbench.method.overlaps import SPAN
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import Times, judged, key_of, row
from smp.microbench.method.visits import VISIT, Watch, counted, result_of, rounds, section_of
from smp.microbench.method.windows import Limits, Windows, flags

from .rows import Instruction, Instructions

What = Literal["add", "clock"]
ADD: What = "add"
CLOCK: What = "clock"
STREAM_SECONDS = 6e-3
"""Seconds that a stream's instructions take when it is alone: longer than its turn on the CPU."""
TRIAL = 1 << 15
SETTLE = 2e-4
"""Seconds between two checks that all streams have fallen asleep."""
LIMITS = Limits(overlap=0.95, spread=2.0)
"""Streams that take turns on a CPU end one after the other, so their times may spread; but together they must have the
CPU."""
KEY = {"what": "U5", "streams": "i4"}
Words = NDArray[np.int64]


@dataclass(frozen=True)
class Effort:
    """Extent of the measurement in one mode: seconds, and numbers of streams."""

    seconds: float
    streams: tuple[int, ...]


EFFORTS = {
    "quick": Effort(0.6, (1, 2, 4)),
    "default": Effort(4.0, (1, 2, 4, 8, 16, 32)),
    "full": Effort(19.0, (1, 2, 4, 8, 16, 24, 32, 40, 50, 64, 80)),
}
"""Efforts by mode."""


@dataclass(frozen=True)
class Task:
    """One thing to measure: an instruction, done by a number of streams."""

    what: What
    streams: int


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the time of an instruction while the streams that do it take turns on one CPU.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.rows`` has a row for each instruction and number of streams: ``clocks_mean`` and ``clocks_std`` over
        all streams of all visits that count, ``total_clocks``, the CPU's clocks for one instruction (the median of the
        visits), and the statistics of a stream's instruction. ``instructions`` has the number that each stream did.
        ``samples`` has a window for each stream of each visit.

    Raises
    ------
    Stopped
        On Ctrl-C, with the complete rounds.

    Notes
    -----
    Takes 1, 4 or 20 s by mode.
    """
    effort, clock, GHz = EFFORTS[plan.mode], HostClock(), clock_rate().GHz
    tasks = [Task(*chosen) for chosen in product((ADD, CLOCK), effort.streams)]
    tick(0.0, "instruction")
    with host(1, pin=usable_cpus()[:1]) as machine:
        gate = machine.cells(1, padded=True, retries=0)
        counts: dict[What, int] = {what: _enough(what) for what in (ADD, CLOCK)}

        def take(order: list[Task], turn: int) -> list[Windows]:
            windows: list[Windows] = machine.run(_program, gate, order, counts, turn, clock.timer_ns).results[0]
            return windows

        take([Task(ADD, 1), Task(CLOCK, 1)], 0)  # compiles
        taken, cut = rounds(
            tasks, take, plan.seconds(effort.seconds), np.random.default_rng([plan.seed, 12]), clock, tick
        )
    for windows in taken.values():
        windows["flags"] = flags(windows, GHz, LIMITS)
    results = [result_of((task.what, task.streams), windows, LIMITS) for task, windows in taken.items()]
    rows = [
        Instructions(what=key_of(result)[0], streams=key_of(result)[1], **statistics(result, GHz)) for result in results
    ]
    data = Instruction(rows=rows, instructions=counts, **judged(results))
    return section_of("instruction", results, data, KEY, cut)


class Statistics(Times):
    """Fields of `Instructions`."""

    clocks_mean: float
    clocks_std: float
    total_clocks: float


def statistics(result: Result, GHz: float) -> Statistics:
    """Return the statistics of a row, from all windows that count."""
    windows = counted(result)
    clocks = GHz * windows["wall_ns"] / windows["operations"]
    ends = [windows["wall_ns"][windows["round"] == turn].max() for turn in np.unique(windows["round"])]
    each = windows["operations"][0] * key_of(result)[-1]
    return {
        "clocks_mean": float(clocks.mean()),
        "clocks_std": float(clocks.std()),
        "total_clocks": GHz * float(np.median(ends)) / float(each),
        **row(result, GHz),
    }


def _enough(what: What) -> int:
    """Return the number of instructions that take `STREAM_SECONDS`; a multiple of 16."""
    span = np.zeros(4, np.int64)
    _LOOPS[what](TRIAL, 1, 2, span)
    _LOOPS[what](TRIAL, 1, 2, span)
    return int(16 * max(1, round(1e9 * STREAM_SECONDS * TRIAL / 16 / (span[1] - span[0]))))


@stream
def add(instructions: int, a: int, b: int, span: Words) -> int:
    """Do a chain of the given number of instructions, a multiple of 16; stamp it as `overlaps.SPAN`."""
    cpu = thread_clock()
    span[0] = read_clock()
    x = a
    for _ in range(instructions // 16):
        x = (x ^ a) + b
        x = (x ^ a) + b
        x = (x ^ a) + b
        x = (x ^ a) + b
        x = (x ^ a) + b
        x = (x ^ a) + b
        x = (x ^ a) + b
        x = (x ^ a) + b
    span[1] = read_clock()
    span[2], span[3] = thread_clock() - cpu, instructions
    return x


@stream
def read(instructions: int, a: int, b: int, span: Words) -> int:
    """Read the clock the given number of times; otherwise as `add`."""
    cpu = thread_clock()
    span[0] = read_clock()
    x = a
    for _ in range(instructions):
        x ^= read_clock()
    span[1] = read_clock()
    span[2], span[3] = thread_clock() - cpu, instructions
    return x


_LOOPS: dict[What, Callable[[int, int, int, Words], int]] = {ADD: add, CLOCK: read}


@stream
def sleep(gate: Cells) -> None:
    """Wait until the gate is full."""
    readff(gate, 0)


def _after(gate: Cells, what: What, instructions: int, span: Words) -> None:
    sleep(gate)
    _LOOPS[what](instructions, 1, 2, span)


def _program(
    proc: Processor, gate: Cells, order: Sequence[Task], counts: Mapping[What, int], turn: int, timer_ns: float
) -> list[Windows]:
    """Run the program of the processor: visit every task once."""
    with proc.streams(max(task.streams for task in order)) as pool:
        return [_visit(proc, pool, gate, task, counts[task.what], turn, timer_ns) for task in order]


def _visit(
    proc: Processor, pool: Pool, gate: Cells, task: Task, instructions: int, turn: int, timer_ns: float
) -> Windows:
    """Let the streams fall asleep, open the gate, and return a window for each stream."""
    rows = np.zeros((task.streams, 4), np.int64)
    threads = [pool.start(_after, gate, task.what, instructions, span) for span in rows]
    while pool.trapped < task.streams:
        time.sleep(SETTLE)
    before_GHz = estimate_GHz(timer_ns)
    watch = Watch(proc.counters)
    start = time.monotonic_ns()
    gate.fill(0)
    for thread in threads:
        thread.result()
    gate.purge(0)
    spans = rows.view(SPAN)[:, 0]
    whole = watch.window(turn, instructions, 0, timer_ns)
    windows = np.zeros(task.streams, VISIT)
    windows[:] = whole
    windows["before_GHz"], windows["after_GHz"] = before_GHz, estimate_GHz(timer_ns)
    windows["overlap"] = min(1.0, spans["cpu_ns"].sum() / (spans["end"].max() - start))
    windows["rank"] = np.arange(task.streams)
    windows["wall_ns"], windows["cpu_ns"] = spans["end"] - start, spans["cpu_ns"]
    return windows
