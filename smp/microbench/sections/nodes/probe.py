"""Measure a machine of MPI: its operations, and what near and far accesses cost in supersteps.

    round    the patterns of both families in random order, some supersteps each; then a burst of each operation

The counts and the times of a superstep are those of a run's record, by which programs are judged too.  The time of a
pattern is the median over its supersteps.  There is no sign of disturbance that holds on all computers of a machine:
if processors take turns on the CPUs, that is part of the measurement.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.microbench.method.windows import MeasurementError
from smp.models.fit.linear import Fit
from smp.models.supersteps.far import fit_far, predict_far
from smp.profiles.kept_apart import LIMIT

from . import operations, rows
from .operations import Task, bursts, tasks_of
from .patterns import APART, Pattern, patterns_of
from .visiting import block_words, visit

FAMILIES = ("good", "bad")


@dataclass(frozen=True)
class Effort:
    """Extent of a mode: seconds, and the words of the busiest processors in each family."""

    seconds: float
    good: tuple[int, ...]
    bad: tuple[int, ...]


EFFORTS = {
    "quick": Effort(10.0, (1_000, 10_000, 100_000), (1_000, 10_000, 100_000)),
    "default": Effort(50.0, (1_000, 3_000, 10_000, 30_000, 100_000, 300_000), (1_000, 3_000, 10_000, 30_000, 100_000)),
    "full": Effort(
        *(180.0, (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
        (1_000, 3_000, 10_000, 30_000, 100_000, 300_000),
    ),
}
REPEATS, BATCH = 3, 12
"""Supersteps of a visit, and patterns of a run: Ctrl-C takes effect between runs."""
BURSTS = 3
"""Bursts of each operation in a round."""
LEAST_ROUNDS, MOST_ROUNDS = 2, 20
MOST_UNSTEADY = 2.0
"""Ratio of the quartiles of an operation's bursts from which its time is not valid: ranks may share CPUs."""
COUNTS = ("hr", "hw", "m", "far_reads", "far_writes", "m_far", "messages")
SAMPLE = np.dtype(
    [("family", "U4"), ("suite", "i4"), ("pattern", "i4"), ("round", "i4")]
    + [(name, "i8") for name in (*COUNTS, "hr_bytes", "hw_bytes", "m_bytes")]
    + [("copy_in", "f8"), ("copy_out", "f8")]
)
BURST = np.dtype([("operation", "U32"), ("where", "U4"), ("round", "i4"), ("seconds", "f8")])


@dataclass
class Found:
    """Measurements so far."""

    nodes: list[int]
    opened_s: float
    tasks: list[Task]
    samples: list[NDArray[np.void]] = field(default_factory=list)
    bursts: list[list[float]] = field(default_factory=list)

    def section(self) -> Measurement:
        """Return the section with everything measured so far."""
        samples = np.concatenate(self.samples)
        made = [
            _operation(task, seconds) for task, seconds in zip(self.tasks, zip(*self.bursts, strict=True), strict=True)
        ]
        functions, patterns = list[rows.Function](), list[rows.Pattern]()
        for family in FAMILIES:
            function, measured = _fitted(samples[samples["family"] == family])
            functions.append(function)
            patterns += measured
        why = [
            f"{function.family}: the function is off by {function.average:.0%} on suite {APART}, which it was not "
            f"fitted on (valid to {LIMIT:.0%})"
            for function in functions
            if function.average > LIMIT
        ]
        every = [row for row in made if row.valid is False]
        if 2 * len(every) > len(made):
            why.append(f"{len(every)} of {len(made)} operations are not valid")
        counts = np.bincount(self.nodes).tolist()
        data = rows.Nodes(
            nodes=counts,
            processors=len(self.nodes),
            opened_s=self.opened_s,
            operations=made,
            functions=functions,
            patterns=patterns,
            valid=not why,
            why=why,
        )
        taken = [
            (task.name, task.where, turn, seconds)
            for turn, each in enumerate(self.bursts)
            for task, seconds in zip(self.tasks, each, strict=True)
        ]
        return Measurement(data, {"nodes": samples, "nodes_operations": np.array(taken, BURST)})


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the plan's machine of MPI, and fit and check its cost functions.

    Parameters
    ----------
    plan : Plan
        A plan with ranks.
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.operations`` has the time of each operation, ``data.functions`` the functions of both families with their
        errors on the suite that was kept apart, and ``data.patterns`` each pattern.  ``samples`` has every superstep
        and every burst.

    Raises
    ------
    MachineError
        If the machine does not come up.
    Stopped
        On Ctrl-C, with the complete rounds.
    """
    effort, rng = EFFORTS[plan.mode], np.random.default_rng([plan.seed, 18])
    begun = time.monotonic()
    with plan.machine() as machine:
        found = Found(machine.nodes, time.monotonic() - begun, tasks_of(machine.nodes))
        patterns = [
            pattern
            for family, sizes in zip(FAMILIES, (effort.good, effort.bad), strict=True)
            for pattern in patterns_of(family, machine.nodes, sizes, rng)
        ]
        words = max(block_words(max(effort.good), max(effort.bad)), operations.MEBIBYTE // 8)
        array, cells = machine.zeros(machine.size * words), machine.cells(2 * machine.size, padded=True)
        machine.run(bursts, array, cells, found.tasks)  # loads the code of all processors
        _visited(machine, array, patterns[:1], plan.seed)
        started, left = time.monotonic(), plan.seconds(effort.seconds)
        try:
            for turn in itertools.count():
                order, taken = rng.permutation(len(patterns)), list[NDArray[np.void]]()
                for first in range(0, len(order), BATCH):
                    some = order[first : first + BATCH]
                    rows_of = _visited(machine, array, [patterns[k] for k in some], plan.seed + turn)
                    rows_of["pattern"], rows_of["round"] = np.repeat(some, REPEATS), turn
                    taken.append(rows_of)
                    spent, rounds = (time.monotonic() - started) / left, (turn + first / len(order)) / LEAST_ROUNDS
                    tick(min(spent, rounds, 1.0), "near and far accesses")
                each = [machine.run(bursts, array, cells, found.tasks).results[0] for _ in range(BURSTS)]
                found.samples += taken  # complete rounds only
                found.bursts += each
                elapsed = time.monotonic() - started
                if turn + 1 >= MOST_ROUNDS or (turn + 1 >= LEAST_ROUNDS and elapsed * (turn + 2) / (turn + 1) > left):
                    break
        except KeyboardInterrupt:
            if found.bursts:
                raise Stopped("nodes", found.section()) from None
            raise
    tick(1.0, "near and far accesses")
    return found.section()


def _visited(machine: Machine, array: GlobalArray, patterns: Sequence[Pattern], seed: int) -> NDArray[np.void]:
    """Run some patterns; return a sample for each superstep.

    Raises
    ------
    MeasurementError
        If the record has other counts than the patterns; this is a defect.
    """
    summary = machine.run(visit, array, machine.nodes, patterns, REPEATS, seed).summary()
    asked = np.repeat([_asked(pattern) for pattern in patterns], REPEATS, axis=0)
    counted = np.transpose([summary[name] for name in ("hr", "hw", "far_reads", "far_writes")])
    if not np.array_equal(asked, counted):
        raise MeasurementError(f"the patterns have the counts {asked.tolist()}, but {counted.tolist()} were recorded")
    found = np.zeros(len(summary), SAMPLE)
    for name in set(SAMPLE.names or ()) & set(summary.dtype.names or ()):
        found[name] = summary[name]
    found["family"] = np.repeat([pattern.family for pattern in patterns], REPEATS)
    found["suite"] = np.repeat([pattern.suite for pattern in patterns], REPEATS)
    return found


def _asked(pattern: Pattern) -> list[int]:
    reads, writes = (
        np.add(near, far)
        for near, far in ((pattern.near_reads, pattern.far_reads), (pattern.near_writes, pattern.far_writes))
    )
    return [int(reads.max()), int(writes.max()), max(pattern.far_reads), max(pattern.far_writes)]


def _operation(task: Task, seconds: Sequence[float]) -> rows.Operation:
    low, middle, high = np.quantile(seconds, (0.25, 0.5, 0.75)).tolist()
    why = [f"unstable: the third quartile is {high / low:.2f} times the first, above {MOST_UNSTEADY:g}"]
    steady = high <= MOST_UNSTEADY * low
    return rows.Operation(
        name=task.name,
        where=task.where,  # type: ignore[arg-type]
        seconds=middle,
        low_s=low,
        high_s=high,
        bursts=len(seconds),
        times=task.times,
        valid=steady,
        why=[] if steady else why,
    )


def _fitted(samples: NDArray[np.void]) -> tuple[rows.Function, list[rows.Pattern]]:
    """Fit the function of a family on the medians of the patterns, except for those of the suite kept apart."""
    numbers, first, which = np.unique(samples["pattern"], return_index=True, return_inverse=True)
    one, took = samples[first], samples["copy_in"] + samples["copy_out"]
    seconds = np.array([np.median(took[which == k]) for k in range(len(numbers))])
    family = str(one["family"][0])
    inside = one["suite"] != APART
    model = fit_far(family, one[inside], seconds[inside])
    function: dict[str, Any] = {
        "family": family,
        "terms": list(model.terms),
        "coefficients": model.coefficients.tolist(),
    }
    predicted = predict_far(function, one)
    off = np.abs(predicted - seconds)[~inside] / seconds[~inside]
    h = np.maximum(one["hr"], one["hw"])
    made = rows.Function(
        **function,
        low=_finite(model, model.low),
        high=_finite(model, model.high),
        unidentified=list(model.unidentified),
        count=model.count,
        h_range=[int(h.min()), int(h.max())],
        average=float(off.mean()),
        maximum=float(off.max()),
        apart=len(off),
    )
    counts = [{name: int(row[name]) for name in COUNTS} for row in one]
    measured = [
        rows.Pattern(
            family=family,  # type: ignore[arg-type]
            suite=int(one["suite"][k]),
            **counts[k],
            seconds=float(seconds[k]),
            predicted_s=float(predicted[k]),
            supersteps=int((which == k).sum()),
        )
        for k in range(len(one))
    ]
    return made, measured


def _finite(model: Fit, bounds: NDArray[np.float64]) -> list[float | None]:
    return [float(bound) if np.isfinite(bound) else None for bound in bounds]
