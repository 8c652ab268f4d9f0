"""Measure list ranking by streams of one processor, in three ways, by length of the list and number of streams.

    wyllie-cells           in place, a full/empty bit serialises access to each node         (after figure 18)
    wyllie-streams         two lists, a barrier of the streams after each round              (after figure 19)
    reid-miller-streams    every stream has its sublists                                     (after figure 20)

The processor's streams run on all CPUs that it may use; more streams than CPUs take turns.  Only the ranking itself is
timed, from when the first stream goes on until the last is done.  Lists, cells and streams are made before (`loops`).
The rest of a run, which makes and starts all that, is kept separately as the set-up.  Speed-ups are over the compiled
serial loop in private memory, and every result is compared with the ranks of that loop.  A time is the median of the
repeats, which are done in random order.  Of the repeats by streams, only those in the main state of the CPUs' placement
count, or all if none was in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._runtime.kinds import host
from smp._runtime.machine import Machine
from smp.kernels.lists.lists import random_list
from smp.kernels.lists.serial import rank_here
from smp.microbench.method.others import Others
from smp.microbench.method.placement import by_state, look_and_note, looked_at, records
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.microbench.method.windows import LIMITS
from smp.models.placement import Placement
from smp.models.placement_log import PlacementLog

from ..lists.probe import WrongRanks
from .loops import PREPARED, program, timed_walk
from .rows import Fine, Ranked, RankedByStreams

REPEATS, FEWER_FROM, FEWER = 9, 100_000, 5
"""Repeats of a list, the length from which a list has fewer, and the repeats of such a list."""
SERIAL = "serial"
MOST_OTHERS = 1 - LIMITS.overlap
"""Largest share of the CPUs' time that other processes may take while a length is measured."""
SAMPLE = np.dtype(
    [
        *(("n", "i8"), ("streams", "i4"), ("algorithm", "U20"), ("repeat", "i4"), ("seconds", "f8")),
        *(("setup_s", "f8"), ("retries", "i8"), ("traps", "i8"), ("others", "f8")),
        *(("placed_before_ns", "f4"), ("placed_after_ns", "f4")),
    ]
)


@dataclass(frozen=True)
class Effort:
    """Extent of the measurement in one mode: lengths, numbers of streams, longest lists of the n log n algorithms."""

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
"""Efforts by mode: about 1.5, 8 and 60 s on two CPUs."""


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Rank lists by streams.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``rows`` has a row for each length, algorithm and number of streams: median, minimum and maximum ns per element,
        ``speedup`` over the serial loop, ``setup_s``, the other seconds of a run, ``retries`` and ``traps`` at cells
        (medians of a run), and ``oversubscribed``. ``serial`` has the serial loop. ``samples`` has every repeat, with
        the share of the CPUs' time that others had while its length was measured.

    Raises
    ------
    Stopped
        On Ctrl-C, with the lengths that were finished.
    WrongRanks
        If the ranks of an algorithm differ from those of the serial loop.
    """
    effort = EFFORTS[plan.mode]
    rng = np.random.default_rng([plan.seed, 9])
    found: list[NDArray[np.void]] = []
    cost = np.cumsum([_cost(n, effort) for n in effort.lengths])
    tick(0.0, "list ranking by streams")
    try:
        with host(1, pin=False) as machine:
            _warm(machine)
            others = Others()
            others.note()
            for n, done in zip(effort.lengths, cost / cost[-1], strict=True):
                found.append(_ranked(machine, random_list(n, plan.seed + n), effort, rng, plan.placement))
                others.note()
                for samples, share in zip(found, others.shares(), strict=False):
                    samples["others"] = share
                tick(float(done), f"list ranking by streams, n = {n:,}")
    except KeyboardInterrupt:
        if found:
            raise Stopped("fine", section_of(np.concatenate(found), len(usable_cpus()), plan.placement)) from None
        raise
    return section_of(np.concatenate(found), len(usable_cpus()), plan.placement)


def points_of(n: int, effort: Effort) -> Iterator[tuple[str, int]]:
    """Yield the algorithms and numbers of streams by which a list of n is ranked, the serial loop first."""
    yield SERIAL, 1
    most = {"wyllie-cells": effort.cells_up_to, "wyllie-streams": effort.wyllie_up_to}
    for name in PREPARED:
        if n <= most.get(name, n):
            yield from ((name, streams) for streams in effort.streams)


def section_of(samples: NDArray[np.void], cpus: int, log: PlacementLog) -> Measurement:
    """Return the section, computed from the repeats."""
    placement = log.placement(looked_at())
    rows: list[RankedByStreams] = []
    serial: list[Ranked] = []
    for n in np.unique(samples["n"]).tolist():
        mine = samples[samples["n"] == n]
        alone = float(np.median(mine["seconds"][mine["algorithm"] == SERIAL]))
        for name, streams in dict.fromkeys(zip(mine["algorithm"].tolist(), mine["streams"].tolist(), strict=True)):
            every = mine[(mine["algorithm"] == name) & (mine["streams"] == streams)]
            main = placement.is_main(every["placed_before_ns"], every["placed_after_ns"])
            repeats = every[main] if main.any() and name != SERIAL else every
            times = _statistics(repeats, n)
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
                    setup_s=float(np.median(repeats["setup_s"])),
                    speedup=alone / median,
                    retries=float(np.median(repeats["retries"])),
                    traps=float(np.median(repeats["traps"])),
                    oversubscribed=streams > cpus,
                    elsewhere_ns=_elsewhere(every, n, placement),
                    **times,
                )
            )
    bad = [row.why[0] for row in rows if row.why]
    why = [f"{len(bad)} of {len(rows)} times are not valid; the first: {bad[0]}"] if 4 * len(bad) > len(rows) else []
    states = records(placement)
    data = Fine(rows=rows, serial=serial, setup=[], cpus=cpus, placement=states, valid=not why, why=why)
    return Measurement(data, {"fine": samples})


def _elsewhere(repeats: NDArray[np.void], n: int, placement: Placement) -> list[float | None] | None:
    """Return the median ns per element in each state but the main one; None if there is no other state."""
    labels = placement.between(repeats["placed_before_ns"], repeats["placed_after_ns"])
    return by_state(placement, labels, repeats["seconds"] / n * 1e9)[1:] or None


class Statistics(TypedDict):
    """Times of some repeats: fields of `Ranked`."""

    ns_per_element: float
    minimum_ns: float
    maximum_ns: float
    repeats: int
    valid: bool
    why: list[str]


def _statistics(repeats: NDArray[np.void], n: int) -> Statistics:
    low, first, median, third, high = np.percentile(repeats["seconds"], [0, 25, 50, 75, 100]) / n * 1e9
    others, why = repeats["others"].max(), []
    if others > MOST_OTHERS:
        why.append(f"other processes took {others:.0%} of the CPU time")
    elif third > LIMITS.spread * first:
        why.append(f"unstable: the third quartile is {third / first:.2f} times the first, above {LIMITS.spread:.2f}")
    return {
        "ns_per_element": float(median),
        "minimum_ns": float(low),
        "maximum_ns": float(high),
        "repeats": int(repeats.size),
        "valid": not why,
        "why": why,
    }


def _cost(n: int, effort: Effort) -> float:
    """Return the approximate ns that one repeat of everything at a length takes, for the progress."""
    each = {"wyllie-cells": 80.0 * n.bit_length(), "wyllie-streams": 5.0 * n.bit_length()}
    return sum(3e6 + n * each.get(name, 50.0) for name, _ in points_of(n, effort))


def _warm(machine: Machine) -> None:
    """Compile or load every loop."""
    nodes = random_list(100)
    successor, ranks, span = machine.array(nodes), machine.empty(100, nodes.dtype), np.zeros(2, np.int64)
    timed_walk(nodes, rank_here(nodes), 0, span)
    for name in PREPARED:
        machine.run(program, name, successor, ranks, 0, 2)


def _ranked(
    machine: Machine, successor: NDArray[Any], effort: Effort, rng: np.random.Generator, log: PlacementLog
) -> NDArray[np.void]:
    """Rank one list in all ways, each repeat in a random order of the ways."""
    n, expected = len(successor), rank_here(successor)
    head, found, span = int(expected.argmin()), np.zeros_like(expected), np.zeros(2, np.int64)
    shared, ranks = machine.array(successor), machine.empty(n, successor.dtype)
    points = list(points_of(n, effort))
    samples = []
    placed = look_and_note(log)
    for repeat in range(REPEATS if n < FEWER_FROM else FEWER):
        for name, streams in (points[i] for i in rng.permutation(len(points))):
            if name == SERIAL:
                for _ in range(2):  # the second finds the list in the caches, as far as it fits, as the streams do
                    timed_walk(successor, found, head, span)
                samples.append((n, 1, name, repeat, (span[1] - span[0]) / 1e9, 0.0, 0, 0, 0.0, np.nan, np.nan))
                continue
            ranks.view[:] = -1
            run = machine.run(program, name, shared, ranks, head, streams)
            if not np.array_equal(ranks.view, expected):
                raise WrongRanks(f"{name} with {streams} streams gives different ranks from the serial loop")
            ns, retries, traps = run.results[0]
            seconds, before, placed = ns / 1e9, placed, look_and_note(log)
            counts = retries, traps, 0.0, before, placed
            samples.append((n, streams, name, repeat, seconds, run.wall - seconds, *counts))
    return np.array(samples, SAMPLE)
