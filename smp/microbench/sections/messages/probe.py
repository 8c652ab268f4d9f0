"""Messages and collectives: the time of each operation next to that of its floor, and next to MPI.

    machine of 2 processors    all operations, and blocks
    machine of the most        those in which all take part: from all to one, each to the next, collectives

    round      every task is visited once, in random order; then MPI visits the same tasks, in some rounds

A visit takes pairs of bursts, of an operation and of its floor (``tasks``).  The median of the bursts is quoted, since
in the fastest ones a partner may have slept, and the quartiles of the ratios of the pairs.  A ratio to MPI is that of
the medians of one round, and the median over the rounds is quoted.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smp._computer.limits import measuring_cpus, usable_cpus
from smp._runtime.kinds import host
from smp.microbench.method.clocks import clock_rate, timer_cost
from smp.microbench.method.placement import records
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import complaints, judged, key_of, row, stack
from smp.models.placement_log import PlacementLog

from .bursts import BLOCKS, VECTORS
from .costs import Found, costs_of, sized, summary
from .mpi import START_SECONDS as MPI_START_SECONDS
from .mpi import NoMpiError, by_mpi, mpiexec, visit_by_mpi
from .rows import ByMpi, Cost, Messages
from .tasks import Task, shared_of, visit, visits_of

FEWEST_ROUNDS = 3
SHORTEST, LONGEST = 0.004, 0.06
"""Shortest and longest visit, in seconds."""
VISIT_SECONDS = 0.008
"""Seconds that a visit takes in addition to its bursts."""
PAIR = ("trip", "one way", "both ways", "receive", "compiled barrier", "request", "message", "barrier", "any")
"""Operations without a size, of two processors."""
OF_ALL = ("one way", "both ways", "compiled barrier", "message", "barrier", "any")
"""Those of more processors."""
BLOCK_WORDS = (4 << 7, 64 << 7, 1024 << 7)
"""Words of the blocks: 4 KiB, 64 KiB and 1 MiB."""
COMPILED = ("trip", "one way", "poll", "compiled barrier")
"""Operations that load all compiled loops before anything is timed."""
MANY_SENDERS = 64
KEY = {"side": "U9", "what": "U16", "processors": "i4", "size": "i8"}


@dataclass(frozen=True)
class Effort:
    """Extent of a mode: seconds, words of the vectors, planned rounds, and the rounds in which MPI runs at most."""

    seconds: float
    words: tuple[int, ...]
    rounds: int
    mpi_rounds: int


EFFORTS = {
    "quick": Effort(1.7, (8, 10_000, 1_000_000), 3, 1),
    "default": Effort(15.0, (1, 8, 100, 10_000, 1_000_000), 5, 5),
    "full": Effort(58.0, (1, 8, 100, 1000, 10_000, 100_000, 1_000_000), 8, 8),
}
"""Extent of each mode."""


@dataclass(frozen=True)
class Stage:
    """One machine and its tasks."""

    p: int
    tasks: tuple[Task, ...]


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure messages and collectives.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.rows`` has a row for each operation, number of processors and size: the times, the floor's time, and the
        quartiles of their ratio.  ``data.mpi`` has the times by MPI, and is empty if MPI is not installed.  ``samples``
        has every burst; bursts of an operation and of its floor are in the same order.

    Notes
    -----
    Takes 2.5, 16 or 60 s, depending on the mode.  With one CPU, only polls are measured.
    """
    begun, cpus, effort = time.monotonic(), usable_cpus(), EFFORTS[plan.mode]
    stages = stages_of(plan.processors, len(cpus), effort.words)
    timer_ns, GHz, rng = timer_cost(), clock_rate().GHz, np.random.default_rng([plan.seed, 17])
    mpi = Mpi(effort.mpi_rounds, timer_ns)
    rows, results, mpi_rows = list[Cost](), list[Result](), list[ByMpi]()
    for k, stage in enumerate(stages):
        left = plan.seconds(effort.seconds) - (time.monotonic() - begun)

        def told(part: float, text: str, k: int = k) -> None:
            tick((k + part) / len(stages), text)

        found = _visit_all(stage, effort, left / (len(stages) - k), timer_ns, rng, plan.placement, mpi, told)
        made, by_stage = costs_of(stage.p, found, GHz, plan.placement)
        rows += made
        others = {task: summary("mpi", task, stage.p, np.concatenate(each)) for task, each in found.mpi.items() if each}
        mpi_rows += [ByMpi(**sized(task, stage.p), **row(result)) for task, result in others.items()]
        results += [*by_stage, *others.values()]
    counted = [result for result in results if key_of(result)[0] == "operation"]
    why = complaints(counted, name=lambda result: "{}, p = {}".format(*key_of(result)[1:3]))
    data = Messages(
        rows=rows,
        mpi=mpi_rows,
        library=mpi.library,
        no_mpi=mpi.why,
        placement={str(p): records(plan.placement.placement(p)) for p in plan.placement.processors},
        **judged(counted, why),
    )
    return Measurement(data, {"messages": stack(results, KEY)})


def stages_of(counts: tuple[int, ...], cpus: int, words: tuple[int, ...]) -> list[Stage]:
    """Plan the machines: of two processors, and of the most for which there are CPUs; of one if there is one CPU.

    Parameters
    ----------
    counts : tuple of int
        Numbers of processors of the plan.
    cpus : int
        Number of usable CPUs.
    words : tuple of int
        Words of the vectors.
    """
    most = max((p for p in counts if p <= cpus), default=1)
    polls = tuple(Task("poll", senders) for senders in sorted({2, max(2, most), MANY_SENDERS}))
    if most < 2:
        return [Stage(1, polls)]
    stages = []
    for p in sorted({2, most}):
        sized = [Task(what, n) for what in VECTORS for n in words if what != "transpose" or n >= p]
        if p == 2:
            sized += [Task(what, n) for what in BLOCKS for n in BLOCK_WORDS]
        single = (*(Task(what) for what in PAIR), *polls) if p == 2 else tuple(Task(what) for what in OF_ALL)
        stages.append(Stage(p, (*single, *sized)))
    return stages


class Mpi:
    """MPI's part in the first rounds of each stage, until it fails; ``why`` is then the reason, and else empty."""

    def __init__(self, rounds: int, timer_ns: float) -> None:
        self._rounds, self._timer_ns = rounds, timer_ns
        self.library: str | None = None
        self.why = ""
        try:
            mpiexec()
        except NoMpiError as cause:
            self.why = str(cause)

    @property
    def rounds(self) -> int:
        """Number of rounds of a stage in which MPI runs."""
        return 0 if self.why else self._rounds

    def visit(self, tasks: list[Task], cpus: list[int], seconds: float, turn: int, into: Found) -> None:
        """Visit tasks by MPI, and add the windows."""
        try:
            found, self.library = visit_by_mpi(tasks, cpus, seconds, self._timer_ns, turn)
        except NoMpiError as cause:
            self.why = str(cause)
            return
        for task, windows in found.items():
            into.mpi[task].append(windows)


def _visit_all(
    stage: Stage,
    effort: Effort,
    share: float,
    timer_ns: float,
    rng: np.random.Generator,
    log: PlacementLog,
    mpi: Mpi,
    tick: Callable[[float, str], None],
) -> Found:
    """Open a stage's machine and visit its tasks in random order, round by round, for ``share`` seconds."""
    tick(0.0, f"starting {stage.p} processor{'s' * (stage.p > 1)}")
    found, begun = Found(stage.tasks), time.monotonic()
    visits, with_mpi = visits_of(stage.tasks), by_mpi(stage.tasks)
    with host(stage.p, pin=measuring_cpus(stage.p)) as machine:
        shared, cpus = shared_of(machine, stage.p), usable_cpus()[: stage.p]
        for task in stage.tasks:
            if task.what in COMPILED:
                visit(machine, shared, (task,), 0.0, timer_ns, 0)
        started = time.monotonic()
        left = max(share - (started - begun), SHORTEST)
        planned = len(stage.tasks) * effort.rounds + len(with_mpi) * mpi.rounds
        seconds = (left - MPI_START_SECONDS * mpi.rounds) / planned - VISIT_SECONDS
        seconds = float(np.clip(seconds, SHORTEST, LONGEST))
        for turn in itertools.count():
            for index in rng.permutation(len(visits)):
                tasks = rng.permutation(np.array(visits[index], object)).tolist()
                taken = visit(machine, shared, tasks, seconds, timer_ns, turn)
                for task, (operation, floor) in taken.items():
                    found.operations[task].append(operation)
                    found.floors[task].append(floor)
                log.note(stage.p, time.monotonic(), operation[["placed_before_ns", "placed_after_ns"]][:1].tolist())
                tick(min(1.0, (time.monotonic() - started) / left), f"{tasks[0].what}, p = {stage.p}")
            if with_mpi and turn < mpi.rounds:
                order = [with_mpi[index] for index in rng.permutation(len(with_mpi))]
                mpi.visit(order, cpus, seconds, turn, found)
            elapsed = time.monotonic() - started
            if turn + 1 >= FEWEST_ROUNDS and elapsed * (turn + 2) / (turn + 1) > left:
                break
    tick(1.0, f"p = {stage.p}")
    return found
