"""List ranking by streams of one processor: a cell for each node, two lists, sublists; by length and streams.

    wyllie-cells           in place, a full/empty bit serialises access to each node         (after figure 18)
    wyllie-streams         two lists, a barrier of the streams after each round              (after figure 19)
    reid-miller-streams    every stream has its sublists                                     (after figure 20)

The processor's streams go to all CPUs that it may use; more streams than CPUs take turns.  Speed-ups are over the
compiled serial loop in private memory, whose ranks every result is compared with.  A time is the median of the repeats,
everything inside ``machine.run`` included, the start of the streams too; the repeats of all go in random order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._runtime.machine import Machine, host
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp.kernels.lists.lists import random_list
from smp.kernels.lists.on_streams import rank_reid_miller_streams, rank_wyllie_streams
from smp.kernels.lists.serial import rank_here
from smp.kernels.lists.wyllie_cells import rank_wyllie_cells
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.microbench.method.windows import LIMITS

from ..lists.probe import WrongRanks
from .rows import Fine, Ranked, RankedByStreams, Setup

PROGRAMS = {
    "wyllie-cells": rank_wyllie_cells,
    "wyllie-streams": rank_wyllie_streams,
    "reid-miller-streams": rank_reid_miller_streams,
}
REPEATS, FEWER_FROM, FEWER = 9, 100_000, 5
"""Repeats; fewer of long lists."""
SERIAL = "serial"
SETUP = 2
"""Nodes of the list that takes no time itself: what is measured of it is the start of a run and of its streams."""
SAMPLE = np.dtype(
    [
        *(("n", "i8"), ("streams", "i4"), ("algorithm", "U20"), ("repeat", "i4"), ("seconds", "f8")),
        *(("retries", "i8"), ("traps", "i8")),
    ]
)


@dataclass(frozen=True)
class Effort:
    """How much a mode measures: lengths, numbers of streams, and the longest lists of the two that do n log n work."""

    lengths: tuple[int, ...]
    streams: tuple[int, ...]
    cells_up_to: int
    wyllie_up_to: int


EFFORTS = {
    "quick": Effort((1_000, 10_000, 100_000), (1, 2, 8), 10_000, 100_000),
    "default": Effort((1_000, 10_000, 100_000, 1_000_000), (1, 2, 4, 8, 16), 100_000, 1_000_000),
    "full": Effort(
        (1_000, 10_000, 100_000, 300_000, 1_000_000, 4_000_000),
        *((1, 2, 4, 8, 16, 32, 64), 1_000_000, 1_000_000),
    ),
}
"""By mode: about 1.5, 8 and 60 s on two CPUs."""


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Rank lists by streams.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Told the fraction done.

    Returns
    -------
    Measurement
        ``rows``: one for each length, algorithm and number of streams: median, minimum and maximum ns an element,
        ``speedup`` over the serial loop, ``retries`` and ``traps`` at cells (medians of a run), ``oversubscribed``;
        ``serial``: the serial loop; ``setup``: seconds that two nodes take, by algorithm and streams, which is what a
        run costs besides. ``samples`` has every repeat.

    Raises
    ------
    Stopped
        On Ctrl-C, with the lengths that were finished.
    """
    effort = EFFORTS[plan.mode]
    rng = np.random.default_rng([plan.seed, 9])
    found: list[NDArray[np.void]] = []
    cost = np.cumsum([_cost(n, effort) for n in effort.lengths])
    tick(0.0, "list ranking by streams")
    try:
        with host(1, pin=False) as machine:
            _warm(machine)
            found.append(_ranked(machine, random_list(SETUP), effort, rng))
            for n, done in zip(effort.lengths, cost / cost[-1], strict=True):
                found.append(_ranked(machine, random_list(n, plan.seed + n), effort, rng))
                tick(float(done), f"list ranking by streams, n = {n:,}")
    except KeyboardInterrupt:
        if found:
            raise Stopped("fine", section_of(np.concatenate(found), len(usable_cpus()))) from None
        raise
    return section_of(np.concatenate(found), len(usable_cpus()))


def points_of(n: int, effort: Effort) -> Iterator[tuple[str, int]]:
    """Yield the algorithms and numbers of streams that a list of n is ranked by; first the serial loop."""
    yield SERIAL, 1
    most = {"wyllie-cells": effort.cells_up_to, "wyllie-streams": effort.wyllie_up_to}
    for name in PROGRAMS:
        if n <= most.get(name, n):
            yield from ((name, streams) for streams in effort.streams)


def section_of(samples: NDArray[np.void], cpus: int) -> Measurement:
    """Return the section that the repeats make."""
    rows: list[RankedByStreams] = []
    serial: list[Ranked] = []
    for n in np.unique(samples["n"][samples["n"] > SETUP]).tolist():
        mine = samples[samples["n"] == n]
        alone = float(np.median(mine["seconds"][mine["algorithm"] == SERIAL]))
        for name, streams in dict.fromkeys(zip(mine["algorithm"].tolist(), mine["streams"].tolist(), strict=True)):
            repeats = mine[(mine["algorithm"] == name) & (mine["streams"] == streams)]
            times = _statistics(repeats["seconds"], n)
            if name == SERIAL:
                serial.append(Ranked(n=n, **times))
                continue
            median = float(np.median(repeats["seconds"]))
            rows.append(
                RankedByStreams(
                    n=n,
                    algorithm=name,
                    streams=streams,
                    seconds=median,
                    speedup=alone / median,
                    retries=float(np.median(repeats["retries"])),
                    traps=float(np.median(repeats["traps"])),
                    oversubscribed=streams > cpus,
                    **times,
                )
            )
    bad = [row.why[0] for row in rows if row.why]
    why = [f"{len(bad)} of {len(rows)} times are not valid; the first: {bad[0]}"] if 4 * len(bad) > len(rows) else []
    setup = _setup(samples[samples["n"] == SETUP])
    return Measurement(
        Fine(rows=rows, serial=serial, setup=setup, cpus=cpus, valid=not why, why=why), {"fine": samples}
    )


def _setup(samples: NDArray[np.void]) -> list[Setup]:
    made = []
    for name, streams in dict.fromkeys(zip(samples["algorithm"].tolist(), samples["streams"].tolist(), strict=True)):
        seconds = samples["seconds"][(samples["algorithm"] == name) & (samples["streams"] == streams)]
        if name != SERIAL:
            made.append(Setup(algorithm=name, streams=streams, seconds=float(np.median(seconds))))
    return made


class Statistics(TypedDict):
    """The times of some repeats: fields of `Ranked`."""

    ns_per_element: float
    minimum_ns: float
    maximum_ns: float
    repeats: int
    valid: bool
    why: list[str]


def _statistics(seconds: NDArray[np.float64], n: int) -> Statistics:
    low, first, median, third, high = np.percentile(seconds, [0, 25, 50, 75, 100]) / n * 1e9
    stable = bool(third <= LIMITS.spread * first)
    why = (
        []
        if stable
        else [f"unstable: the third quartile is {third / first:.2f} of the first, above {LIMITS.spread:.2f}"]
    )
    return {
        "ns_per_element": float(median),
        "minimum_ns": float(low),
        "maximum_ns": float(high),
        "repeats": int(seconds.size),
        "valid": stable,
        "why": why,
    }


def _cost(n: int, effort: Effort) -> float:
    """About how long a length takes; for the progress."""
    each = {"wyllie-cells": 80.0 * n.bit_length(), "wyllie-streams": 5.0 * n.bit_length()}
    return sum(3e6 + n * each.get(name, 50.0) for name, _ in points_of(n, effort))


def _warm(machine: Machine) -> None:
    """Compile or load every loop."""
    successor, ranks = machine.array(random_list(100)), machine.empty(100, np.int32)
    rank_here(random_list(100))
    for name in PROGRAMS:
        machine.run(_program, name, successor, ranks, 2)


def _ranked(machine: Machine, successor: NDArray[Any], effort: Effort, rng: np.random.Generator) -> NDArray[np.void]:
    """Rank one list by all, the repeats in random order."""
    n = len(successor)
    shared, ranks, expected = machine.array(successor), machine.empty(n, successor.dtype), rank_here(successor)
    points = list(points_of(n, effort))
    samples = []
    for repeat in range(REPEATS if n < FEWER_FROM else FEWER):
        for name, streams in (points[i] for i in rng.permutation(len(points))):
            if name == SERIAL:
                start = time.perf_counter()
                rank_here(successor)
                samples.append((n, 1, name, repeat, time.perf_counter() - start, 0, 0))
                continue
            ranks.view[:] = -1
            run = machine.run(_program, name, shared, ranks, streams)
            if not np.array_equal(ranks.view, expected):
                raise WrongRanks(f"{name} with {streams} streams gives other ranks than the serial loop")
            samples.append((n, streams, name, repeat, run.wall, *run.results[0]))
    return np.array(samples, SAMPLE)


def _program(proc: Processor, name: str, successor: GlobalArray, ranks: GlobalArray, streams: int) -> tuple[int, int]:
    """Rank a list; return the retries and traps that it took."""
    before = proc.counters()
    PROGRAMS[name](proc, successor, ranks, streams=streams)
    after = proc.counters()
    retries, traps = (int(after[what].sum() - before[what].sum()) for what in ("retries", "traps"))
    return retries, traps
