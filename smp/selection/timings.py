"""Takes timings of tasks at the points of their inputs, and saves them in a file.

series    points of the inputs, and tasks that get the same arguments at each point
task      its timings at each point: three; five, then seven, while the middle three differ by more than 10%
"""

from __future__ import annotations

import gc
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._computer.data import write
from .._runtime.host.looking import Looker
from .._runtime.machine import Machine
from ..errors import ModelError
from ..models.fit.inputs import drawn
from ..models.fit.specification import Specification

FEWEST, MOST = 3, 7
APART = 1.10
"""Ratio of the two timings next to a point's median above which two more timings are taken."""
SHORT_S, WARM_S, BATCH_S = 2e-4, 1e-2, 5e-4
"""Seconds. Calls shorter than SHORT_S are timed in batches, which take BATCH_S. Calls shorter than WARM_S are timed
after another call."""
A_TERM, DRAWS = 3, 10
"""Number of points for each term of a task whose condition holds at few points, and most draws for a missing point."""
REMEDY = "remove it to measure again"
Points = dict[str, NDArray[np.float64]]
Made = tuple[tuple[Any, ...], dict[str, float], dict[str, float]]


def timed(call: Callable[[], Any]) -> float:
    """Return the seconds that a call takes. A short call is made many times; see `smp.calibrate`."""
    collected = gc.isenabled()
    gc.disable()
    try:
        seconds = _once(call)
        if seconds < WARM_S:
            seconds = _once(call)
        if seconds >= SHORT_S:
            return seconds
        count = math.ceil(BATCH_S / max(seconds, 1e-7))
        began = time.perf_counter_ns()
        for _ in range(count):
            call()
        return (time.perf_counter_ns() - began) / count * 1e-9
    finally:
        if collected:
            gc.enable()


def _once(call: Callable[[], Any]) -> float:
    began = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - began) * 1e-9


class Task:
    """The timings of one specification.

    Parameters
    ----------
    specification : Specification
    count : int
        Number of points.

    Attributes
    ----------
    raw : list of lists of float
        Timings at each point, in seconds.
    applies : list of bool
        True for each point at which the condition holds; the task is timed only there.
    """

    def __init__(self, specification: Specification, count: int) -> None:
        self.specification = specification
        self.raw: list[list[float]] = [[] for _ in range(count)]
        self.applies = [True] * count

    def wants(self, point: int) -> bool:
        """Return True if a point needs one more timing."""
        taken = sorted(self.raw[point])
        if not self.applies[point] or len(taken) >= MOST:
            return False
        half = len(taken) // 2
        return len(taken) < FEWEST or len(taken) % 2 == 0 or taken[half + 1] > APART * taken[half - 1]

    def holds(self, inputs: Mapping[str, float]) -> bool:
        """Return True if the task's condition holds for the inputs, or if it has none."""
        condition = self.specification.condition
        return condition is None or bool(condition.of(inputs))


class Series:
    """Tasks that share their points and set-up.

    Parameters
    ----------
    specifications : sequence of Specification
        Specifications that differ only in their names, terms, tasks and conditions.
    points : dict of loop to ndarray (n,)
    verification : ndarray (n,) bool

    Attributes
    ----------
    tasks : list of Task
    inputs : ndarray (n, k) float64
        Inputs of the models at each point; NaN before the first visit.
    """

    def __init__(
        self, specifications: Sequence[Specification], points: Points, verification: NDArray[np.bool_]
    ) -> None:
        self.points, self.verification, self.base = points, verification, len(verification)
        self.tasks = [Task(each, len(verification)) for each in specifications]
        self.inputs = np.full((len(verification), len(specifications[0].ranges)), np.nan)

    def wanting(self) -> Iterator[int]:
        """Return the points at which some task needs a timing."""
        return (k for k in range(len(self.verification)) if any(task.wants(k) for task in self.tasks))

    def taken(self) -> int:
        """Return the number of visits to points, where several visits to one point all count."""
        return sum(max(len(task.raw[k]) for task in self.tasks) for k in range(len(self.verification)))

    def at(self, point: int) -> dict[str, float]:
        """Return the values of the loops at a point; whole numbers are ints."""
        return self._typed({name: values[point] for name, values in self.points.items()})

    def _typed(self, loops: Mapping[str, float]) -> dict[str, float]:
        ranges = self.tasks[0].specification.nested
        return {given.name: int(loops[given.name]) if given.whole else float(loops[given.name]) for given in ranges}

    def tells(self, point: int) -> str:
        """Return a point as text, for messages of progress."""
        values = ", ".join(f"{name} = {value:,.4g}" for name, value in self.at(point).items())
        return f"{self.tasks[0].specification.name.split('/')[0]}: {values}"

    def visit(self, point: int, machine: Machine | None, rng: np.random.Generator, looker: Looker) -> None:
        """Time each task that needs a timing at a point, in random order.

        A timing is repeated if the CPUs were not placed as they mostly are (see `Looker`).
        """
        with self._made(self.at(point), machine) as (arguments, keywords, inputs):
            if np.isnan(self.inputs[point]).any():
                self._enter(point, inputs)
            for task in [self.tasks[k] for k in rng.permutation(len(self.tasks))]:
                if task.wants(point):
                    chosen = task.specification.task
                    call = partial(chosen if machine is None else partial(machine.run, chosen), *arguments, **keywords)
                    task.raw[point].append(looker.time(call if task.specification.clocked else partial(timed, call)))

    def supplement(self, machine: Machine | None, rng: np.random.Generator) -> None:
        """Add random points for tasks whose conditions hold at too few points, once all points have been visited.

        Each task should have as many points for verification as the series has, and `A_TERM` points for each term of
        the fit, but no more than the loop nest has.  At an added point, only the tasks that lack points are timed.  At
        most `DRAWS` points are drawn for each missing one.
        """
        if len(self.verification) > self.base or all(task.specification.condition is None for task in self.tasks):
            return
        whole = np.array([self.base - self.verification.sum(), self.verification.sum()])
        wanted = [np.minimum(whole, [A_TERM * len(task.specification.expressions), whole[1]]) for task in self.tasks]
        lacking = [
            np.maximum(0, some - np.bincount(self.verification[task.applies], minlength=2))
            for some, task in zip(wanted, self.tasks, strict=True)
        ]
        for _ in range(DRAWS * int(sum(some.sum() for some in lacking))):
            if not any(some.any() for some in lacking):
                break
            given = drawn(self.tasks[0].specification.nested, rng, 1)
            with self._made(self._typed({name: value[0] for name, value in given.items()}), machine) as made:
                inputs = made[2]
            verify = any(some[1] for some in lacking)
            where = [some[int(verify)] > 0 and t.holds(inputs) for some, t in zip(lacking, self.tasks, strict=True)]
            if any(where):
                self._append({name: float(value[0]) for name, value in given.items()}, verify)
                self._enter(len(self.verification) - 1, inputs)
                for some, task, there in zip(lacking, self.tasks, where, strict=True):
                    task.applies[-1] = there
                    some[int(verify)] -= there

    @contextmanager
    def _made(self, loops: dict[str, float], machine: Machine | None) -> Iterator[Made]:
        """Make the tasks' arguments, their keywords, and the inputs of the models; clean up at the end of the block."""
        first = self.tasks[0].specification
        keywords = {name: loops.pop(name) for name in first.keywords}
        on = () if machine is None else (machine,)
        arguments = tuple(loops.values()) if first.setup is None else first.setup(*on, **loops)
        try:
            seen = tuple(loops.values()) if first.of is None else first.of(*arguments)
            others = [given.name for given in first.ranges if given.name not in keywords]
            if len(seen) != len(others):
                raise ModelError(f"of() of {first.name} returned {seen}, but its inputs are {', '.join(others)}")
            yield arguments, keywords, dict(zip(others, seen, strict=True)) | keywords
        finally:
            if first.cleanup is not None:
                first.cleanup(*arguments)

    def _append(self, loops: Mapping[str, float], verify: bool) -> None:
        """Add a point, without timings."""
        self.points = {name: np.append(values, loops[name]) for name, values in self.points.items()}
        self.verification = np.append(self.verification, verify)
        self.inputs = np.vstack([self.inputs, np.full(self.inputs.shape[1], np.nan)])
        for task in self.tasks:
            task.raw.append([])
            task.applies.append(False)

    def _enter(self, point: int, inputs: Mapping[str, float]) -> None:
        """Keep the inputs of a point, and find the tasks whose conditions hold there."""
        self.inputs[point] = [inputs[given.name] for given in self.tasks[0].specification.ranges]
        for task in self.tasks:
            task.applies[point] = task.holds(inputs)

    def measured(self, task: Task) -> tuple[Points, list[list[float]], NDArray[np.bool_]]:
        """Return a task's inputs, its timings, and which are for verification, at points where its condition holds."""
        some = np.flatnonzero(task.applies)
        names = [given.name for given in task.specification.ranges]
        inputs = {name: self.inputs[some, k] for k, name in enumerate(names)}
        return inputs, [task.raw[k] for k in some.tolist()], self.verification[some]


def keep(series: Sequence[Series], file: Path) -> None:
    """Save the timings taken so far, completely or not at all."""
    taken = [
        {
            "raw": [task.raw for task in each.tasks],
            "applies": [list(map(bool, task.applies)) for task in each.tasks],
            "added": [
                ({name: float(values[k]) for name, values in each.points.items()}, bool(each.verification[k]))
                for k in range(each.base, len(each.verification))
            ],
            "inputs": [row if row[0] == row[0] else None for row in each.inputs.tolist()],
        }
        for each in series
    ]
    write(file, json.dumps({"measurement": _named(series), "taken": taken}))


def take_up(series: Sequence[Series], file: Path) -> None:
    """Add the timings that `keep` has saved in a file, if the file exists.

    Raises
    ------
    ModelError
        If they are damaged, or belong to other tasks or points.
    """
    if not file.exists():
        return
    from .._computer import documents  # Pydantic takes a while to import, and a new calibration does not need it
    from .layouts import TimingsLayout

    try:
        data = documents.read(file, ModelError, "a file of timings", REMEDY)
        documents.check(data, TimingsLayout, ModelError, "it", REMEDY)
    except ModelError as error:
        raise ModelError(f"cannot resume from {file}: {error}") from error
    taken = data["taken"]
    if data["measurement"] != _named(series):
        raise ModelError(f"{file} holds timings of another calibration: remove it, or give another file")
    if len(taken) != len(series) or not all(map(_fits, series, taken)):
        raise ModelError(f"cannot resume from {file}: it lacks timings of some tasks or points; {REMEDY}")
    for each, found in zip(series, taken, strict=True):
        for loops, verify in found["added"]:
            each._append(loops, verify)
        for point, inputs in enumerate(found["inputs"]):
            if inputs is not None:
                each.inputs[point] = inputs
        for task, raw, applies in zip(each.tasks, found["raw"], found["applies"], strict=True):
            task.raw, task.applies = [list(map(float, timings)) for timings in raw], applies


def _fits(series: Series, found: Mapping[str, Any]) -> bool:
    """Return True if the saved timings have an entry for each task and each point of a series."""
    points, count = series.base + len(found["added"]), len(series.tasks)
    lists = [*found["raw"], *found["applies"], found["inputs"]]
    return (
        len(found["raw"]) == len(found["applies"]) == count
        and all(len(of_points) == points for of_points in lists)
        and all(inputs is None or len(inputs) == series.inputs.shape[1] for inputs in found["inputs"])
        and all(set(loops) == set(series.points) for loops, _ in found["added"])
    )


def _named(series: Sequence[Series]) -> list[Any]:
    """Return the names of the tasks and their points, which identify a measurement."""
    return [
        [
            [task.specification.name for task in each.tasks],
            {name: values[: each.base].tolist() for name, values in each.points.items()},
        ]
        for each in series
    ]
