"""Measure the latency under load: the time of one dependent load while other processors keep the memory busy.

    processor 0        |--chase--|--chase--|--chase--|
    processors 1..k     |-traffic-|-traffic-|-traffic-|      for each kind of traffic, in random order, round by round
    the others         wait at the barrier, asleep

In the chase, each load waits for the one before.  Traffic is triad, by k = 0, 1, ... processors, or lines that all
others read or write, with a delay after each (see `inject`).  A window of the chase counts only while all k loading
processors are inside windows of their own.  A turn is short, since time that the hypervisor takes spoils the whole
turn.  The arrays of the chase and of each loading processor are private and larger than the caches.  They are in huge
pages if the system grants them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smp._computer.system import affinity, stolen_ns
from smp._runtime.machine import Machine
from smp._runtime.program.processor import Processor
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.placement import farthest
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.windows import LIMITS, Limits, Windows, mark_moved
from smp.models.placement_log import PlacementLog

from ..latency.pages import Pages
from ..latency.walks import UNROLLED, random_walk
from .inject import OF, inject_until
from .loops import BYTES, chase_until, placed, triad_until

TURN_SECONDS = 0.03
WINDOW_NS = 400_000
SHORTEST_NS = 50_000
"""Shortest window: the array of spans has room for as many of them as fit into a turn."""
TRIAD = -1
FEW_CLEAN = Limits(clean_fraction=0.05)
"""On a busy computer few windows are undisturbed on all processors at once, but those few are right."""


@dataclass(frozen=True)
class Traffic:
    """A kind of traffic that loads the memory.

    Parameters
    ----------
    processors : int
        Number of processors that load the memory.
    written : int
        Number of lines that are written, of each `OF`; `TRIAD` for triad.
    steps : int
        Steps of the delay after each line.
    """

    processors: int
    written: int = TRIAD
    steps: int = 0

    def bytes(self, line_bytes: int) -> float:
        """Return the bytes that one operation moves: an element's, as STREAM counts, or a line's, twice if written."""
        return BYTES[3] if self.written == TRIAD else line_bytes * (1 + self.written / OF)


@dataclass(frozen=True)
class Load:
    """Sizes and times for measuring the latency under load.

    Parameters
    ----------
    chase_bytes : int
        Bytes of the chased array.
    triad_bytes : int
        Bytes of each of the three arrays of a loading processor.
    rounds : int
        Turns of `TURN_SECONDS` for each kind of traffic.
    steps : tuple of int
        Delays of the curve in steps, for each share of writes.
    """

    chase_bytes: int
    triad_bytes: int
    rounds: int
    steps: tuple[int, ...] = ()

    def fitting(self, nbytes: int, processors: int) -> Load:
        """Return the same load, with smaller arrays if all of them would not fit into ``nbytes`` bytes."""
        whole = self.chase_bytes + 3 * processors * self.triad_bytes
        part = min(1.0, nbytes / whole)
        chase, triad = (max(1, int(part * size) >> 12) << 12 for size in (self.chase_bytes, self.triad_bytes))
        return replace(self, chase_bytes=chase, triad_bytes=triad)


def measure_loaded(
    machine: Machine, traffics: Sequence[Traffic], load: Load, line_bytes: int, seed: int, log: PlacementLog
) -> tuple[list[Result], list[float]]:
    """Measure the latency of a random chase while other processors load the memory.

    Parameters
    ----------
    machine : Machine
    traffics : sequence of Traffic
        Kinds of traffic, each with fewer processors than the machine has.
    load : Load
    line_bytes, seed : int
    log : PlacementLog

    Returns
    -------
    list of Result
        One for each kind of traffic, in ns per load; its key is the number of processors, lines written and steps.
    list of float
        Bandwidth that the loading processors used together, in GB/s.
    """
    rng = np.random.default_rng([seed, 2])
    schedule = [int(k) for _ in range(load.rounds) for k in rng.permutation(len(traffics))]
    answers = machine.run(_program, [traffics[k] for k in schedule], load, line_bytes, seed).results
    timer_ns = timer_cost()
    windows: list[list[Windows]] = [[] for _ in traffics]
    moved: list[list[float]] = [[] for _ in traffics]
    for turn, k in enumerate(schedule):
        ranks = range(traffics[k].processors + 1)
        spans = [answers[rank][turn][0].view(SPAN)[:, 0] for rank in ranks]
        stolen = sum(answers[rank][turn][1] for rank in ranks)
        taken = together(spans, timer_ns, turn // len(traffics), stolen)
        readings = farthest(np.array([answers[rank][turn][2] for rank in range(machine.size)]))
        taken["placed_before_ns"], taken["placed_after_ns"] = readings
        if len(spans[0]):
            log.note(machine.size, [spans[0]["start"][0] * 1e-9, spans[0]["end"][-1] * 1e-9], readings)
        windows[k].append(taken[taken["rank"] == 0])
        moved[k].append(sum(traffics[k].bytes(line_bytes) * _rate(one) for one in spans[1:]))
    for found in windows:
        for taken in found:
            mark_moved(taken, log.placement(machine.size))
    results = [
        summarise((one.processors, one.written, one.steps), np.concatenate(found), "median", limits=FEW_CLEAN)
        for one, found in zip(traffics, windows, strict=True)
    ]
    return results, [float(np.median(found)) for found in moved]


def _rate(spans: NDArray[np.void]) -> float:
    """Return a processor's operations per ns while it ran, since windows of the chase count only then."""
    wall = spans["end"] - spans["start"]
    ran = spans["cpu_ns"] >= (1 - LIMITS.off_cpu) * wall
    return float(spans["operations"][ran].sum() / max(1, wall[ran].sum()))


def _program(
    proc: Processor, schedule: list[Traffic], load: Load, line_bytes: int, seed: int
) -> list[tuple[NDArray[np.int64], int, tuple[int, int]]]:
    """Run one processor's program; return for each turn the spans of its windows, the stolen ns, and the readings."""
    room = np.zeros((int(TURN_SECONDS * 1e9) // SHORTEST_NS + 1, 4), np.int64)
    work = _chasing(load, line_bytes, seed, room) if proc.rank == 0 else _loading(load, line_bytes, room)
    taken = []
    for traffic in schedule:
        before = stolen_ns(affinity()) or 0
        proc.barrier()
        first = placed(proc.sync, proc.rank)
        count = work(traffic, TURN_SECONDS) if proc.rank <= traffic.processors else 0
        proc.barrier()
        last = placed(proc.sync, proc.rank)
        taken.append((room[:count].copy(), (stolen_ns(affinity()) or 0) - before, (first, last)))
    return taken


Work = Callable[[Traffic, float], int]


def _chasing(load: Load, line_bytes: int, seed: int, room: NDArray[np.int64]) -> Work:
    """Return the work of processor 0: chase for some seconds, and return the number of windows."""
    walk = random_walk(load.chase_bytes, line_bytes, True, np.random.default_rng([seed, 3]))
    walk(16)  # the first call compiles
    wall = min(walk(256)[0] for _ in range(5))
    repeat = max(1, 256 * WINDOW_NS // wall)

    def work(traffic: Traffic, seconds: float) -> int:
        walk.at, count = chase_until(walk.at, repeat, repeat * UNROLLED, seconds, room)
        return count

    work(Traffic(0), 0.0)
    return work


def _loading(load: Load, line_bytes: int, room: NDArray[np.int64]) -> Work:
    """Return the work of the other processors: move data for some seconds, and return the number of windows."""
    words, per_line, size = Pages(3 * load.triad_bytes, huge=True).words, line_bytes // 8, load.triad_bytes // 8
    words[:] = 1
    a, b, c = (words[k * size : (k + 1) * size].view(np.float64) for k in range(3))
    elements = min(size, WINDOW_NS // 3)  # an element moves 24 bytes, at 3 to 15 GB/s

    def work(traffic: Traffic, seconds: float) -> int:
        if traffic.written == TRIAD:
            return triad_until(a, b, c, 0.0, elements, seconds, room)
        line_ns = 3 + traffic.steps  # roughly
        lines = min(words.size // per_line, WINDOW_NS // line_ns) // OF * OF
        return inject_until(words, per_line, traffic.written, traffic.steps, max(OF, lines), seconds, room)[0]

    for traffic in (Traffic(1), Traffic(1, 0)):
        work(traffic, 0.0)
    return work
