"""One visit of the synchronisation probe on each processor: a short trial, then windows for some time.

trial       how many operations fill a window        all use the count of the first processor of the task
barrier
visit       windows of that count, stamped           see `loops`, and `_in_python` for the calls from Python
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp._computer.system import affinity, stolen_ns
from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.windows import Windows

from .loops import END, adds, barriers, handoffs

HANDOFFS = ("store", "exchange")
WINDOW_NS = 300_000
SHORTEST_NS = 50_000
"""Length that a window of a visit aims at, and the shortest for which the array of windows has room, in ns."""
FIRST_CHUNK, FIRST_SECONDS = 64, 0.003
"""Operations of a window, and seconds, of the trial that finds how many operations fill a window."""

Words = NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """One operation to measure, and the ranks that take part; in a hand-off, the index of a rank is its side."""

    what: str
    ranks: tuple[int, ...]


def warm_up(machine: Machine, words: GlobalArray, tasks: Iterable[Task]) -> None:
    """Make every processor load the compiled code of the tasks before anything is timed."""
    for task in tasks:
        words.view[:] = 0
        machine.run(_program, words, task, 0.0)


def visit(machine: Machine, words: GlobalArray, task: Task, seconds: float, timer_ns: float, turn: int) -> Windows:
    """Run a task once for some time; return the windows of all its processors, with the placement before and after."""
    words.view[:] = 0
    before = stolen_ns(affinity()) or 0
    run = machine.run(_program, words, task, seconds)
    stolen = (stolen_ns(affinity()) or 0) - before
    spans = [run.results[rank].view(SPAN)[:, 0] for rank in task.ranks]
    windows = together(spans, timer_ns, turn, stolen)
    windows["placed_before_ns"], windows["placed_after_ns"] = run.placement
    return windows


def _program(proc: Processor, words: GlobalArray, task: Task, seconds: float) -> Words:
    """Run the program of one processor, a short trial and then the visit; return the spans of its windows."""
    room = np.zeros((int(seconds * 1e9) // SHORTEST_NS + 1, 4), np.int64)
    take, first = _work(proc, words, task), task.ranks[0]
    proc.barrier()
    count = take(FIRST_CHUNK, FIRST_SECONDS, room)
    trial = room[:count].view(SPAN)[:, 0]
    operation_ns = np.median((trial["end"] - trial["start"]) / FIRST_CHUNK) if count else WINDOW_NS / FIRST_CHUNK
    chunk = proc.broadcast(max(1, int(WINDOW_NS / operation_ns)), root=first)
    if proc.rank == first:
        words.view[:] = 0
    proc.barrier()
    return room[: take(chunk, seconds, room)].copy()


def _work(proc: Processor, words: GlobalArray, task: Task) -> Callable[[int, float, Words], int]:
    """Return the function of a processor, which takes windows of ``chunk`` operations and returns their number."""
    shared, sync = words.view, proc.sync
    if proc.rank not in task.ranks:
        return lambda chunk, seconds, room: 0
    if task.what in HANDOFFS:
        side, exchange = task.ranks.index(proc.rank), task.what == "exchange"
        return lambda chunk, seconds, room: handoffs(shared, sync, exchange, side, chunk, seconds, room)
    if task.what in ("alone", "contended"):
        return lambda chunk, seconds, room: adds(shared, chunk, seconds, room)
    if task.what == "compiled":
        return lambda chunk, seconds, room: barriers(shared, sync, proc.rank, chunk, seconds, room)
    operation = proc.barrier if task.what == "python" else lambda: _empty_superstep(proc)
    return lambda chunk, seconds, room: _in_python(proc, shared, operation, chunk, seconds, room)


def _empty_superstep(proc: Processor) -> None:
    with proc.superstep("empty"):
        pass


def _in_python(
    proc: Processor, words: Words, operation: Callable[[], None], chunk: int, seconds: float, room: Words
) -> int:
    """Take windows as `loops.barriers` does, but of an operation that all processors call from Python."""
    deadline = time.monotonic_ns() + int(seconds * 1e9)
    count = 0
    while True:
        proc.barrier()
        if words[END]:
            return count
        cpu, start = time.thread_time_ns(), time.monotonic_ns()
        for _ in range(chunk):
            operation()
        end = time.monotonic_ns()
        room[count] = start, end, time.thread_time_ns() - cpu, chunk
        count += 1
        if proc.rank == 0 and (end > deadline or count == len(room)):
            words[END] = 1
