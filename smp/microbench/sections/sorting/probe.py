"""Sorting by the paper's three programs for several lengths and numbers of processors, by NumPy, and by the fast form.

The keys are random and have 32 bits.  The time of a program is the sum of its supersteps, as in the paper; the median
of the repeats is kept.  Every superstep is compared with its predicted times, and every result with NumPy's.  NumPy's
sort and the fast form sort the same keys, alternately.
Source: the SMP cost study, section 5, tables 9 to 11, figure 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import measuring_cpus
from smp._runtime.kinds import host
from smp._runtime.machine import Machine
from smp._runtime.program.run import Run
from smp.errors import SmpError
from smp.kernels.in_process import streams_for
from smp.kernels.sorting.forms import FORMS
from smp.kernels.sorting.forms import SortForm as KernelForm
from smp.kernels.sorting.functions import sort
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.models.placement_log import PlacementLog
from smp.models.supersteps.published import paper_lengths
from smp.profiles.profile import Profile

from ..programs.probe import Found, averages, in_supersteps, sampled
from .rows import Form, SortForm, Sorting, SortRun, SortStep, SortSuperstep

HERE: dict[Form, Callable[[NDArray[Any]], NDArray[Any]]] = {"numpy": np.sort, "fast": sort}
"""Functions that need no machine: they take an array and return an array."""
LENGTHS = {"quick": (10_000, 100_000, 1_000_000), "default": (10_000, 100_000, 1_000_000, 4_000_000, 16_000_000)}
REPEATS = 5
FEWER_FROM, FEWER = 4_000_000, 3
KEY = {"n": "i8", "p": "i4", "algorithm": "U16"}


class WrongOrder(SmpError):
    """Raised when the result of a sort differs from NumPy's; this is a defect, not a measurement."""


def lengths_of(mode: str, p: int) -> tuple[int, ...]:
    """Return the numbers of keys to sort, ascending; in the mode "full", those of the paper, which grow with p.

    Examples
    --------
    >>> lengths_of("full", 2)[:3], lengths_of("full", 2)[-3:]
    ((10000, 20000, 30000), (2650000, 2950000, 3250000))
    """
    if mode != "full":
        return LENGTHS[mode]
    return paper_lengths(p)


def measure(plan: Plan, tick: Tick, profile: Profile | None = None) -> Measurement:
    """Sort keys and compare every superstep with its predicted times.

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
        ``rows`` has a row for each length, p and algorithm, and ``steps`` has their supersteps, those of one label
        combined. ``analysis`` follows the paper's tables 9 to 11: averages over all lengths by algorithm, p and label,
        with the counts at the longest length and those of the closed form. ``forms`` has NumPy and the fast form by
        length.

    Raises
    ------
    Stopped
        On Ctrl-C, with everything measured so far.
    WrongOrder
        If the result of a sort differs from NumPy's.
    """
    found = _Found(profile, plan.placement)
    points = [(p, n) for p in plan.processors for n in lengths_of(plan.mode, p)]
    every = sorted({n for _, n in points})
    cost = np.array([n + 20_000 for n in [*every, *(4 * n for _, n in points)]], float)
    done = iter(np.cumsum(cost) / cost.sum())
    try:
        for n in every:
            _sort_here(_keys(n, plan.seed), found)
            tick(float(next(done)), f"sorting without a machine, n = {n:,}")
        for p in plan.processors:
            with host(p, pin=measuring_cpus(p)) as machine:
                _sort(machine, _keys(1_000, plan.seed), _Found(None, PlacementLog()))  # compiles or loads every loop
                for n in lengths_of(plan.mode, p):
                    _sort(machine, _keys(n, plan.seed), found)
                    tick(float(next(done)), f"sorting, n = {n:,}, p = {p}")
    except KeyboardInterrupt:
        if found.rows or found.forms:
            raise Stopped("sorting", found.section()) from None
        raise
    return found.section()


def _keys(n: int, seed: int) -> NDArray[np.uint32]:
    return np.random.default_rng([seed, n]).integers(0, 1 << 32, n, dtype=np.uint32)


def _repeats(n: int) -> int:
    return FEWER if n >= FEWER_FROM else REPEATS


def _sort(machine: Machine, keys: NDArray[np.uint32], found: _Found) -> None:
    """Sort keys by every program."""
    n, p = len(keys), machine.size
    expected, shared = np.sort(keys), machine.empty(n, keys.dtype)
    for name, program in FORMS.items():
        if program.cost is None or n > (program.longest or n):
            continue

        def sorted_once(name: str = name, program: KernelForm = program) -> Run:
            shared.view[:] = keys
            run = machine.run(program.loaded(), shared)
            _check(f"{name} sort on {p} processors", shared.view, expected)
            return run

        runs = found.repeat(sorted_once, _repeats(n))
        took = found.add({"n": n, "p": p, "algorithm": name}, runs, list(map(in_supersteps, runs)), pool=True)
        found.rows.append(SortRun(n=n, p=p, algorithm=name, ns_per_element=took["seconds"] / n * 1e9, **took))


def _sort_here(keys: NDArray[np.uint32], found: _Found) -> None:
    """Sort keys by the functions that need no machine, alternately."""
    n, expected = len(keys), np.sort(keys)
    seconds: dict[Form, list[float]] = {name: [] for name in HERE}
    sort(keys)  # compiles or loads its loops
    for _ in range(_repeats(n)):
        for name, form in HERE.items():
            start = time.perf_counter()
            result = form(keys)
            seconds[name].append(time.perf_counter() - start)
            _check(f"sort, {name}", result, expected)
    alone = float(np.median(seconds["numpy"]))
    for name, taken in seconds.items():
        streams, median = streams_for(None) if name == "fast" else 1, float(np.median(taken))
        steadiness = found.sample({"n": n, "p": streams, "algorithm": name}, taken)
        each, speedup = median / n * 1e9, alone / median
        found.forms.append(
            SortForm(n=n, form=name, streams=streams, ns_per_element=each, speedup=speedup, **steadiness)
        )


def _check(what: str, result: NDArray[Any], expected: NDArray[Any]) -> None:
    if not np.array_equal(result, expected):
        raise WrongOrder(f"{what}: the order of {len(expected):,} keys differs from that of NumPy")


class _Found(Found[SortRun, SortSuperstep]):
    """Rows measured so far, with those of the functions that need no machine."""

    def __init__(self, profile: Profile | None, log: PlacementLog) -> None:
        super().__init__(profile, SortSuperstep, log)
        self.forms: list[SortForm] = []

    def section(self) -> Measurement:
        """Return the section with everything measured so far."""
        analysis = [_with_closed_form(row) for row in averages(self.steps, "algorithm", "p")]
        data = Sorting(rows=self.rows, steps=self.steps, analysis=analysis, forms=self.forms, **self.judged())
        return Measurement(data, {"sorting": np.array(self.samples, sampled(KEY))})


def _with_closed_form(row: SortSuperstep) -> SortStep:
    """Add the counts of the closed form for a superstep, which assumes equal shares for all processors."""
    cost = FORMS[row.algorithm].cost
    assert cost is not None, "it was measured"
    foretold = cost(row.n, row.p)
    (same,) = foretold[foretold["label"] == row.label][:1]
    return SortStep(**(row.to_json() | {f"{name}_closed": int(same[name]) for name in ("hr", "hw", "m")}))
