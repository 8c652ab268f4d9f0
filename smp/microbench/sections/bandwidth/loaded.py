"""Loaded latency: what a load that waits for the one before costs while other processors keep the memory busy.

    processor 0        |--chase--|--chase--|--chase--|
    processors 1..k     |--triad--|--triad--|--triad--|      for k = 0, 1, ..., in random order, round by round
    the others         wait at the barrier, asleep

A window of the chase counts only while all k loading processors are inside windows of their own.  A turn is short,
since time that the hypervisor takes spoils the whole of it.  The arrays of the chase and of each triad are private,
larger than the caches, and in huge pages where they are granted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp._computer.system import affinity, stolen_ns
from smp._runtime.machine import Machine
from smp._runtime.program.processor import Processor
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.windows import Windows

from ..latency.walks import UNROLLED, random_walk
from .loops import BYTES, chase_until, triad_until

TURN_SECONDS = 0.06
WINDOW_NS = 400_000
SHORTEST_NS = 50_000
"""A window of the chase; no more room is kept than for windows as short as this."""


@dataclass(frozen=True)
class Load:
    """The sizes and times of the loaded latency.

    Parameters
    ----------
    chase_bytes : int
        Of the chased array.
    triad_bytes : int
        Of each of the three arrays of a loading processor.
    rounds : int
        Turns of `TURN_SECONDS` for each number of loading processors.
    """

    chase_bytes: int
    triad_bytes: int
    rounds: int

    def fitting(self, nbytes: int, processors: int) -> Load:
        """Return the same with smaller arrays where all of them would not fit into so many bytes."""
        whole = self.chase_bytes + 3 * processors * self.triad_bytes
        part = min(1.0, nbytes / whole)
        chase, triad = (max(1, int(part * size) >> 12) << 12 for size in (self.chase_bytes, self.triad_bytes))
        return Load(chase, triad, self.rounds)


def measure_loaded(
    machine: Machine, loading: Sequence[int], load: Load, line_bytes: int, seed: int
) -> tuple[list[Result], list[float]]:
    """Measure the latency of a random chase while other processors run triad.

    Parameters
    ----------
    machine : Machine
    loading : sequence of int
        Numbers of loading processors, each less than the machine's size.
    load : Load
    line_bytes, seed : int

    Returns
    -------
    list of Result
        For each number, ns a load; its key is the number.
    list of float
        What the loading processors moved together, in GB/s as STREAM counts.
    """
    rng = np.random.default_rng([seed, 2])
    schedule = [int(k) for _ in range(load.rounds) for k in rng.permutation(loading)]
    answers = machine.run(_program, schedule, load, line_bytes, seed).results
    timer_ns = timer_cost()
    windows: dict[int, list[Windows]] = {k: [] for k in loading}
    moved: dict[int, list[float]] = {k: [] for k in loading}
    for turn, k in enumerate(schedule):
        spans = [answers[rank][turn][0].view(SPAN)[:, 0] for rank in range(k + 1)]
        stolen = sum(answers[rank][turn][1] for rank in range(k + 1))
        taken = together(spans, timer_ns, turn // len(loading), stolen)
        windows[k].append(taken[taken["rank"] == 0])
        moved[k].append(sum(BYTES[3] * _rate(one) for one in spans[1:]))
    results = [summarise((k,), np.concatenate(windows[k]), "median") for k in loading]
    return results, [float(np.median(moved[k])) for k in loading]


def _rate(spans: NDArray[np.void]) -> float:
    """Elements per ns, over all the time of a processor."""
    if spans.size == 0:
        return 0.0
    return float(spans["operations"].sum() / (spans["end"][-1] - spans["start"][0]))


def _program(
    proc: Processor, schedule: list[int], load: Load, line_bytes: int, seed: int
) -> list[tuple[NDArray[np.int64], int]]:
    """The program of one processor: for each turn the spans of its windows and the time stolen from its CPU in ns."""
    room = np.zeros((int(TURN_SECONDS * 1e9) // SHORTEST_NS + 1, 4), np.int64)
    work = _chasing(load, line_bytes, seed, room) if proc.rank == 0 else _loading(load, room)
    taken = []
    for k in schedule:
        before = stolen_ns(affinity()) or 0
        proc.barrier()
        count = work() if proc.rank <= k else 0
        proc.barrier()
        taken.append((room[:count].copy(), (stolen_ns(affinity()) or 0) - before))
    return taken


def _chasing(load: Load, line_bytes: int, seed: int, room: NDArray[np.int64]) -> Callable[[], int]:
    """Return what processor 0 does: chase for some seconds, and return the number of windows."""
    walk = random_walk(load.chase_bytes, line_bytes, True, np.random.default_rng([seed, 3]))
    walk(16)  # the first call compiles
    wall = min(walk(256)[0] for _ in range(5))
    repeat = max(1, 256 * WINDOW_NS // wall)

    def work(seconds: float = TURN_SECONDS) -> int:
        walk.at, count = chase_until(walk.at, repeat, repeat * UNROLLED, seconds, room)
        return count

    work(0.0)
    return work


def _loading(load: Load, room: NDArray[np.int64]) -> Callable[[], int]:
    """Return what the other processors do: triad for some seconds; returns the number of windows."""
    a, b, c = (np.ones(load.triad_bytes // 8) for _ in range(3))
    chunk = min(a.size, WINDOW_NS // 3)  # an element moves 24 bytes, at 3 to 15 GB/s

    def work(seconds: float = TURN_SECONDS) -> int:
        return triad_until(a, b, c, 0.0, chunk, seconds, room)

    work(0.0)
    return work
