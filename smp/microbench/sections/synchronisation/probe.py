"""Synchronisation: fetch-and-add, the hand-off of a line between two CPUs, barriers, and an empty superstep.

    alone        fetch_add by one processor
    contended    fetch_add by all on one word: the time of one processor's operation
    store        hand-off of a line, one way, by looking and storing         for each pair of CPUs
    exchange     the same by compare_exchange
    compiled     barrier in a compiled loop
    python       proc.barrier()
    superstep    with proc.superstep(): pass

Each operation runs for a fixed time, in windows that count only if all processors of the operation run.  The median is
quoted, since in the fastest windows a partner may have slept.  If there are more processors than CPUs, windows count
although processors wait for their turn on a CPU, and the rows are marked as oversubscribed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from smp._computer.limits import usable_cpus
from smp._runtime.kinds import host
from smp.microbench.method.clocks import clock_rate, timer_cost
from smp.microbench.method.placement import elsewhere_ns, records
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.rows import complaints, judged, key_of, row, stack
from smp.microbench.method.windows import NO_FLAG, Flag, Windows, mark_moved
from smp.models.placement_log import PlacementLog

from .loops import SHARED_WORDS
from .rows import Adds, Barrier, Matrices, Matrix, Operation, Synchronisation
from .tasks import HANDOFFS, Task, visit, warm_up

FEWEST_ROUNDS = 3
BUDGETS = {"quick": 2.0, "default": 10.0, "full": 40.0}
"""Seconds, by mode."""
MOST_CPUS = {"quick": 4, "default": 12, "full": 48}
"""Largest number of CPUs of the hand-off matrix, by mode."""
SHORTEST, LONGEST = 0.015, 0.06
"""Shortest and longest visit, in seconds; a visit is short because time that the hypervisor takes spoils all of it."""
VISIT_SECONDS = 0.006
"""Seconds that a visit takes in addition to its windows."""
START_SECONDS = 0.5
"""Seconds that a machine takes to start and to load compiled code."""
ASLEEP = Flag.DESCHEDULED | Flag.SWITCHED | Flag.APART
"""Flags that are no disturbance if processors take turns on a CPU."""


@dataclass(frozen=True)
class Stage:
    """One machine and its tasks; ``cpus`` has the CPU of each processor, or is None if there are too few CPUs."""

    p: int
    cpus: tuple[int, ...] | None
    tasks: tuple[Task, ...]

    def key(self, task: Task) -> tuple[str, int, int, int]:
        """Return the operation, number of processors, and the two CPUs of a hand-off (-1, -1 for anything else)."""
        pair = [self.cpus[rank] for rank in task.ranks] if task.what in HANDOFFS and self.cpus else [-1, -1]
        return task.what, len(task.ranks), pair[0], pair[1]


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the cost of synchronisation.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data`` has ``fetch_add_ns`` ("alone" and, by p, "contended") and ``handoff_ns`` ("store" and "exchange":
        matrices over ``handoff_cpus``, one way, None on the diagonal). The medians of the matrices are
        ``handoff_store_ns`` and ``handoff_exchange_ns``. It also has ``barrier_us`` (by p, "compiled" and "python"),
        ``superstep_us`` (by p), ``oversubscribed``, the p's above the number of CPUs, and ``rows`` with the statistics
        of each operation. Numbers of processors are keys, and therefore strings. ``samples`` has every window.

    Notes
    -----
    Takes 2, 10 or 40 s, depending on the mode, and more if the hand-off matrix or the list of p's is long.
    """
    begun, cpus = time.monotonic(), tuple(usable_cpus())
    chosen = spread(cpus, MOST_CPUS[plan.mode])
    stages = stages_of(sorted(set(plan.processors)), cpus, chosen)
    timer_ns, GHz = timer_cost(), clock_rate().GHz
    rng = np.random.default_rng([plan.seed, 3])
    found: list[tuple[Result, list[float | None] | None]] = []
    whole, done = sum(len(stage.tasks) for stage in stages), 0
    for k, stage in enumerate(stages):
        left = plan.seconds(BUDGETS[plan.mode]) - (time.monotonic() - begun) - START_SECONDS * (len(stages) - k)
        share = left / (whole - done)  # seconds for each task

        def told(part: float, text: str, done: int = done, tasks: int = len(stage.tasks)) -> None:
            tick((done + part * tasks) / whole, text)

        found += _measure_stage(stage, share, timer_ns, rng, plan.placement, told)
        done += len(stage.tasks)
    results = [result for result, _ in found]
    why = complaints(results, name=lambda result: "{}, p = {}".format(*key_of(result)))
    data = Synchronisation(
        **summary(results, chosen),
        rows=[_row(result, others, GHz, len(cpus)) for result, others in found],
        placement={str(p): records(plan.placement.placement(p)) for p in plan.placement.processors},
        oversubscribed=[p for p in sorted(set(plan.processors)) if p > len(cpus)],
        **judged(results, why),
    )
    names = {"what": "U10", "processors": "i4", "first_cpu": "i4", "second_cpu": "i4"}
    return Measurement(data, {"synchronisation": stack(results, names)})


def spread(cpus: Sequence[int], most: int) -> tuple[int, ...]:
    """Return all CPUs, or ``most`` of them, evenly spread from the first to the last.

    Examples
    --------
    >>> spread(range(9), 3)
    (0, 4, 8)
    """
    if len(cpus) <= most:
        return tuple(cpus)
    return tuple(cpus[i] for i in np.linspace(0, len(cpus) - 1, most).round().astype(int))


def stages_of(counts: Sequence[int], cpus: tuple[int, ...], chosen: tuple[int, ...]) -> list[Stage]:
    """Plan the machines: one for each p, and one for the hand-offs unless one of the others has the same CPUs.

    Parameters
    ----------
    counts : sequence of int
        Numbers of processors, ascending.
    cpus, chosen : tuple of int
        CPUs that may be used, and CPUs of the hand-off matrix.
    """
    pairs = itertools.combinations(range(len(chosen)), 2)
    matrix = tuple(Task(what, pair) for pair in pairs for what in HANDOFFS)
    stages = []
    for p in counts:
        everyone = tuple(range(p))
        tasks = [Task(what, everyone) for what in ("compiled", "python", "superstep")]
        if p == counts[0]:
            tasks.append(Task("alone", (0,)))
        if 1 < p <= len(cpus):
            tasks.append(Task("contended", everyone))
        if p <= len(cpus) and cpus[:p] == chosen:
            tasks += matrix
            matrix = ()
        stages.append(Stage(p, cpus[:p] if p <= len(cpus) else None, tuple(tasks)))
    if matrix:
        stages.append(Stage(len(chosen), chosen, matrix))
    return stages


class Summary(TypedDict):
    """Numbers that a reader asks for first: fields of `Synchronisation`."""

    fetch_add_ns: Adds
    handoff_cpus: list[int]
    handoff_ns: Matrices
    handoff_store_ns: float | None
    handoff_exchange_ns: float | None
    barrier_us: dict[str, Barrier]
    superstep_us: dict[str, float]


def summary(results: Sequence[Result], chosen: Sequence[int]) -> Summary:
    """Return the numbers that a reader asks for first, from the results of all tasks."""
    by_p: dict[str, dict[str, float]] = {}
    matrices: dict[str, Matrix] = {what: [[None] * len(chosen) for _ in chosen] for what in HANDOFFS}
    for result in results:
        what, p, *pair = key_of(result)
        if what in HANDOFFS:
            i, j = (list(chosen).index(cpu) for cpu in pair)
            matrices[what][i][j] = matrices[what][j][i] = result.median
        else:
            by_p.setdefault(what, {})[str(p)] = result.median
    return {
        "fetch_add_ns": Adds(alone=by_p["alone"]["1"], contended=by_p.get("contended", {})),
        "handoff_cpus": list(chosen),
        "handoff_ns": Matrices(store=matrices["store"], exchange=matrices["exchange"]),
        "handoff_store_ns": _middle(matrices["store"]),
        "handoff_exchange_ns": _middle(matrices["exchange"]),
        "barrier_us": {
            p: Barrier(compiled=ns / 1e3, python=by_p["python"][p] / 1e3) for p, ns in by_p["compiled"].items()
        },
        "superstep_us": {p: ns / 1e3 for p, ns in by_p["superstep"].items()},
    }


def _middle(matrix: Matrix) -> float | None:
    """Return the median of a matrix; None for a single CPU, which has no partner."""
    values = [value for line in matrix for value in line if value is not None]
    return float(np.median(values)) if values else None


def _row(result: Result, others: list[float | None] | None, GHz: float, cpus: int) -> Operation:
    what, p, *pair = key_of(result)
    places: dict[str, Any] = {"cpus": pair} if what in HANDOFFS else {}
    places["elsewhere_ns"] = others
    return Operation(what=what, processors=p, **places, oversubscribed=p > cpus, **row(result, GHz))


def _measure_stage(
    stage: Stage,
    share: float,
    timer_ns: float,
    rng: np.random.Generator,
    log: PlacementLog,
    tick: Callable[[float, str], None],
) -> list[tuple[Result, list[float | None] | None]]:
    """Open a stage's machine and visit its tasks in random order, round by round, each for its share of seconds."""
    seconds = float(np.clip(share / FEWEST_ROUNDS - VISIT_SECONDS, SHORTEST, LONGEST))
    tick(0.0, f"starting {stage.p} processor{'s' * (stage.p > 1)}")
    taken: dict[Task, list[Windows]] = {task: [] for task in stage.tasks}
    with host(stage.p, pin=stage.cpus) as machine:
        words = machine.zeros(SHARED_WORDS, np.int64)
        warm_up(machine, words, stage.tasks)
        begun, whole = time.monotonic(), max(share, FEWEST_ROUNDS * seconds) * len(taken)
        for turn in itertools.count():
            for index in rng.permutation(len(taken)):
                task = stage.tasks[index]
                taken[task].append(windows := visit(machine, words, task, seconds, timer_ns, turn))
                log.note(stage.p, time.monotonic(), windows[["placed_before_ns", "placed_after_ns"]][:1].tolist())
                elapsed = time.monotonic() - begun
                tick(min(1.0, elapsed / whole), f"{task.what}, p = {len(task.ranks)}")
            if turn + 1 >= FEWEST_ROUNDS and elapsed * (turn + 2) / (turn + 1) > whole:
                break
    tick(1.0, f"p = {stage.p}")
    results: list[tuple[Result, list[float | None] | None]] = []
    for task, visits in taken.items():
        every, others = np.concatenate(visits), None
        if len(task.ranks) > 1:
            mark_moved(every, log.placement(stage.p))
            others = elsewhere_ns(every, log.placement(stage.p))
        results.append((summarise(stage.key(task), every, "median", NO_FLAG if stage.cpus else ASLEEP), others))
    return results
