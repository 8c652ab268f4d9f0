"""List ranking by every algorithm, for several lengths and numbers of processors, with every superstep in its interval.

The lists are random, with int32 successors.  Speed-ups are relative to the compiled serial loop in private memory, and
every result is compared with the ranks from that loop.  A time is the median of the repeats and includes everything
inside ``machine.run``.  The supersteps shown are those of the repeat nearest to the median.  `rank_list`, the fast
form, ranks the same lists.
Source: the study of the Tera MTA, section 4, figure 17; the SMP cost study, section 5.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import measuring_cpus
from smp._runtime.kinds import host
from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.run import Run
from smp.errors import SmpError
from smp.kernels.in_process import streams_for
from smp.kernels.lists.forms import FORMS, WORTH_STREAMS
from smp.kernels.lists.functions import rank_list
from smp.kernels.lists.lists import random_list
from smp.kernels.lists.serial import rank_here
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.models.placement_log import PlacementLog
from smp.profiles.profile import Profile

from ..programs.probe import Found, sampled
from ..programs.rows import FastList, Repeated
from .rows import ListRun, Lists, ListStep

LENGTHS = {
    "quick": (10_000, 100_000, 1_000_000),
    "default": (1_000, 10_000, 100_000, 1_000_000, 4_000_000, 16_000_000),
    "full": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 4_000_000, 16_000_000, 64_000_000),
}
REPEATS = 5
FEWER_FROM, FEWER = 4_000_000, 3

SAMPLE = sampled({"n": "i8", "p": "i4", "algorithm": "U16"})


class WrongRanks(SmpError):
    """Raised when an algorithm's ranks differ from those of the serial loop; this is a defect, not a measurement."""


def algorithms() -> list[str]:
    """Return the forms of list ranking that are measured: those with a known cost of each superstep."""
    return [name for name, form in FORMS.items() if form.cost]


def measure(plan: Plan, tick: Tick, profile: Profile | None = None) -> Measurement:
    """Rank lists and compare every superstep with its predicted times.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.
    profile : Profile, optional
        Profile with fitted cost functions; without it there are no intervals.

    Returns
    -------
    Measurement
        ``rows`` has a row for each length, p and algorithm, and ``steps`` has their supersteps. ``serial`` has the
        times of the serial loop, and ``fast`` those of `smp.kernels.rank_list`.

    Raises
    ------
    Stopped
        On Ctrl-C, with the rows measured so far.
    WrongRanks
        If the ranks of an algorithm differ from those of the serial loop.
    """
    found = _Found(profile, plan.placement)
    lengths = LENGTHS[plan.mode]
    cost = np.array([n + 20_000 for n in lengths for _ in (0, *plan.processors)], float)
    done = iter(np.cumsum(cost) / cost.sum())
    try:
        lists = {n: random_list(n, plan.seed + n) for n in lengths}
        expected: dict[int, NDArray[Any]] = {}
        rank_here(lists[lengths[0]])
        for n in lengths:
            expected[n] = found.serial(lists[n])
            found.fast(lists[n], expected[n])
            tick(float(next(done)), f"list ranking without a machine, n = {n:,}")
        for p in plan.processors:
            with host(p, pin=measuring_cpus(p)) as machine:
                _warm(machine)
                for n in lengths:
                    _rank(machine, lists[n], expected[n], found)
                    tick(float(next(done)), f"list ranking, n = {n:,}, p = {p}")
    except KeyboardInterrupt:
        if found.rows:
            raise Stopped("lists", found.section()) from None
        raise
    return found.section()


def _warm(machine: Machine) -> None:
    """Compile or load every loop."""
    successor, ranks = machine.array(random_list(1_000)), machine.empty(1_000, np.int32)
    for name in algorithms():
        machine.run(FORMS[name].loaded(), successor, ranks)


def _repeats(n: int) -> int:
    return FEWER if n >= FEWER_FROM else REPEATS


def _rank(machine: Machine, successor: NDArray[Any], expected: NDArray[Any], found: _Found) -> None:
    n = len(successor)
    shared, ranks = machine.array(successor), machine.empty(n, successor.dtype)
    for name in algorithms():
        if n > (FORMS[name].longest or n):
            continue
        runs = found.repeat(partial(_ranked, machine, name, shared, ranks, expected), _repeats(n))
        found.ranked(n, machine.size, name, runs)


def _ranked(machine: Machine, name: str, shared: GlobalArray, ranks: GlobalArray, expected: NDArray[Any]) -> Run:
    ranks.view[:] = -1
    run = machine.run(FORMS[name].loaded(), shared, ranks)
    if not np.array_equal(ranks.view, expected):
        raise WrongRanks(f"{name} on {machine.size} processors gives different ranks from the serial loop")
    return run


class _Timing(TypedDict):
    """Time to rank a list without a machine: fields of `Repeated`."""

    n: int
    seconds: float
    ns_per_element: float
    repeats: int
    valid: bool
    why: list[str]


class _Found(Found[ListRun, ListStep]):
    """Rows measured so far, with those of the serial loop and the fast form."""

    def __init__(self, profile: Profile | None, log: PlacementLog) -> None:
        super().__init__(profile, ListStep, log)
        self.serials: list[Repeated] = []
        self.fasts: list[FastList] = []
        self._serial_seconds: dict[int, float] = {}

    def serial(self, successor: NDArray[Any]) -> NDArray[Any]:
        """Time the serial loop; return its ranks."""
        ranks, row = self._timed("serial", rank_here, successor, 1)
        self._serial_seconds[row["n"]] = row["seconds"]
        self.serials.append(Repeated(**row))
        return ranks

    def fast(self, successor: NDArray[Any], expected: NDArray[Any]) -> None:
        """Time the function that users call."""
        streams = streams_for(None) if len(successor) >= WORTH_STREAMS else 1
        rank_list(successor)  # compiles or loads its loops
        ranks, row = self._timed("fast", rank_list, successor, streams)
        if not np.array_equal(ranks, expected):
            raise WrongRanks("rank_list gives different ranks from the serial loop")
        speedup = self._serial_seconds[row["n"]] / row["seconds"]
        self.fasts.append(FastList(streams=streams, speedup=speedup, **row))

    def _timed(self, name: str, rank: Any, successor: NDArray[Any], streams: int) -> tuple[NDArray[Any], _Timing]:
        n = len(successor)
        seconds = []
        for _ in range(_repeats(n)):
            start = time.perf_counter()
            ranks = rank(successor)
            seconds.append(time.perf_counter() - start)
        steadiness = self.sample({"n": n, "p": streams, "algorithm": name}, seconds)
        median = float(np.median(seconds))
        each = median / n * 1e9
        return ranks, {"n": n, "seconds": median, "ns_per_element": each, "repeats": len(seconds), **steadiness}

    def ranked(self, n: int, p: int, name: str, runs: list[Run]) -> None:
        """Add the repeats of one algorithm."""
        took = self.add({"n": n, "p": p, "algorithm": name}, runs, [run.wall for run in runs])
        each, speedup = took["seconds"] / n * 1e9, self._serial_seconds[n] / took["seconds"]
        self.rows.append(ListRun(n=n, p=p, algorithm=name, ns_per_element=each, speedup=speedup, **took))

    def section(self) -> Measurement:
        """Return the section with everything measured so far."""
        data = Lists(
            rows=self.rows,
            steps=self.steps,
            serial=self.serials,
            fast=self.fasts,
            superstep=self._example(),
            **self.judged(),
        )
        return Measurement(data, {"lists": np.array(self.samples, SAMPLE)})

    def _example(self) -> ListStep | None:
        """Return the superstep to show first: the slowest one of the fastest algorithm at the largest n and p."""
        best = min(self.rows, key=lambda row: (-row.n, -row.p, row.seconds), default=None)
        if best is None:
            return None
        own = [step for step in self.steps if (step.n, step.p, step.algorithm) == (best.n, best.p, best.algorithm)]
        return max(own, key=lambda step: step.measured_s or 0.0, default=None)
