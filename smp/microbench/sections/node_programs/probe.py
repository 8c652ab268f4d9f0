"""Sort keys and rank lists on a machine of MPI, by the programs in supersteps that do without shared memory.

The keys are random and have 32 bits; the lists are random.  The time of a program is the sum of its supersteps.  The
result of each run is compared with that of NumPy or of the serial loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp._runtime.machine import Machine
from smp._runtime.program.run import Run
from smp.errors import SmpError
from smp.kernels.form import Program
from smp.kernels.lists.lists import random_list
from smp.kernels.lists.serial import rank_here
from smp.kernels.lists.wyllie import rank_wyllie
from smp.kernels.sorting.column import sort_column
from smp.kernels.sorting.radix import sort_radix
from smp.kernels.sorting.sample import sort_sample
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.profiles.profile import Profile

from ..programs.probe import Found, in_supersteps, sampled
from .rows import NodePrograms, NodeRun, NodeStep

LENGTHS = {
    "quick": (10_000, 100_000),
    "default": (10_000, 100_000, 1_000_000),
    "full": (10_000, 100_000, 1_000_000, 4_000_000),
}
SORTS: dict[str, Program] = {"radix sort": sort_radix, "sample sort": sort_sample, "column sort": sort_column}
WYLLIE = "Wyllie"
LONGEST_LIST = 1_000_000
"""Most nodes of a list: in each round of the algorithm, every processor reads far pairs one by one."""
REPEATS = 5
SAMPLE = sampled({"n": "i8", "p": "i4", "program": "U16"})


class WrongResult(SmpError):
    """Raised when the result of a program differs from the expected one; this is a defect, not a measurement."""


class Case(NamedTuple):
    """A program with its input, the arrays that it gets in addition to the input, and the expected result."""

    name: str
    program: Program
    given: NDArray[Any]
    expected: NDArray[Any]

    @property
    def in_place(self) -> bool:
        """True if the program changes its input, and False if it has an array of its own for the result."""
        return self.name in SORTS


def cases_of(n: int, seed: int) -> list[Case]:
    """Return the programs with inputs of n elements."""
    keys = np.random.default_rng([seed, n]).integers(0, 1 << 32, n, dtype=np.uint32)
    found = [Case(name, program, keys, np.sort(keys)) for name, program in SORTS.items()]
    if n <= LONGEST_LIST:
        successor = random_list(n, seed + n)
        found.append(Case(WYLLIE, rank_wyllie, successor, rank_here(successor)))
    return found


def measure(plan: Plan, tick: Tick, profile: Profile | None = None) -> Measurement:
    """Run the programs and compare every superstep with its predicted times.

    Parameters
    ----------
    plan : Plan
        A plan with ranks.
    tick : callable
        Called with the fraction done.
    profile : Profile, optional
        Profile with the functions of the machine; without it there are no intervals.

    Returns
    -------
    Measurement
        ``rows`` has a row for each length and program, and ``steps`` its supersteps, those of one label combined.

    Raises
    ------
    MachineError
        If the machine does not come up.
    Stopped
        On Ctrl-C, with the rows measured so far.
    WrongResult
        If a result differs from the expected one.
    """
    found: Found[NodeRun, NodeStep] = Found(profile, NodeStep, plan.placement)
    lengths = LENGTHS[plan.mode]
    done = np.cumsum([n + 50_000 for n in lengths]) / (sum(lengths) + 50_000 * len(lengths))
    with plan.machine() as machine:
        try:
            for case in cases_of(1_000, plan.seed):
                _ran(machine, case)  # compiles or loads every loop
            for n, part in zip(lengths, done, strict=True):
                for case in cases_of(n, plan.seed):
                    _measured(machine, case, found)
                    tick(float(part) * 0.99, f"{case.name}, n = {n:,}")
        except KeyboardInterrupt:
            if found.rows:
                raise Stopped("node_programs", _section(found)) from None
            raise
    tick(1.0, "sorting and list ranking")
    return _section(found)


def _measured(machine: Machine, case: Case, found: Found[NodeRun, NodeStep]) -> None:
    n, p = len(case.given), machine.size
    runs = found.repeat(lambda: _ran(machine, case), REPEATS)
    took = found.add({"n": n, "p": p, "program": case.name}, runs, list(map(in_supersteps, runs)), pool=True)
    found.rows.append(NodeRun(n=n, p=p, program=case.name, ns_per_element=took["seconds"] / n * 1e9, **took))


def _ran(machine: Machine, case: Case) -> Run:
    shared = machine.array(case.given)
    result = shared if case.in_place else machine.empty(len(case.given), case.given.dtype)
    run = machine.run(case.program, shared, *(() if case.in_place else (result,)))
    if not np.array_equal(result[:], case.expected):
        raise WrongResult(f"{case.name} on {machine.size} processors: the result for {len(case.given):,} is wrong")
    return run


def _section(found: Found[NodeRun, NodeStep]) -> Measurement:
    data = NodePrograms(rows=found.rows, steps=found.steps, **found.judged())
    return Measurement(data, {"node_programs": np.array(found.samples, SAMPLE)})
