"""Measure tasks of streams in visits: all tasks in random order, round by round, while there is time.

    round 1    task C   task A   task B          a visit: start the streams, set them off, wait until all have reported
    round 2    task B   task C   task A          one window for each, with the retries and traps at cells in it

Ctrl-C ends the rounds; complete rounds are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, TypeVar

import numpy as np
from numpy.lib.recfunctions import append_fields
from numpy.typing import NDArray

from smp._computer.system import affinity, stolen_ns
from smp.models.placement_log import PlacementLog
from smp.profiles.records import PlacementState

from .others import Others
from .placement import elsewhere_ns, look_and_note, looked_at, records
from .plan import Measurement, Stopped, Tick
from .result import Result, summarise, with_others_named
from .rows import stack
from .visit import Clock
from .windows import WINDOW, Flag, Limits, Windows, flags, mark_moved

if TYPE_CHECKING:
    from smp._computer.documents import Record

COUNTS = ("retries", "traps")
VISIT = np.dtype([*WINDOW.descr, *((name, "i8") for name in COUNTS)])
"""A window, and the retries and traps of all streams in it."""
FEWEST_ROUNDS = 5
TURNS = Flag.DESCHEDULED | Flag.SWITCHED
"""Flags that are normal for streams that sleep and that take turns on a CPU."""
LIMITS = Limits(spread=2.0)
"""Limits for streams that sleep. The operating system wakes them, on this CPU or another, so their times spread."""

Task = TypeVar("Task")
Take = Callable[[list[Task], int], Sequence[Windows]]


def rounds(
    tasks: Sequence[Task],
    take: Take[Task],
    seconds: float,
    rng: np.random.Generator,
    clock: Clock,
    tick: Tick,
    others: Others | None = None,
    log: PlacementLog | None = None,
) -> tuple[dict[Task, Windows], bool]:
    """Visit all tasks in random order, round by round, at least `FEWEST_ROUNDS` times.

    Parameters
    ----------
    tasks : sequence of hashable
    take : callable
        ``take(order, turn)`` returns the windows of each task, in that order.
    seconds : float
        Seconds to spend; exceeded if the fewest rounds take longer.
    rng : numpy.random.Generator
    clock : Clock
    tick : callable
    others : Others, optional
        Gives the share of the CPUs that other processes took in each round. The ``overlap`` of the round's windows is
        limited to the rest. Needed for streams that sleep, or that any CPU may run.
    log : PlacementLog, optional
        Receives a look at the CPUs before and after each round. Windows outside the main state of the placement are
        flagged.

    Returns
    -------
    dict of ndarray
        Windows of each task, in the order of `tasks`, flagged.
    bool
        True if Ctrl-C has cut the rounds short.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C before the first round is complete.
    """
    taken: dict[Task, list[Windows]] = {task: [] for task in tasks}
    begun, done, interrupted = clock.wall(), 0, False
    note, looks = others.note if others else lambda: None, list[float]()

    def between() -> None:
        note()
        if log is not None:
            looks.append(look_and_note(log))

    between()
    try:
        while done < FEWEST_ROUNDS or (clock.wall() - begun) * (done + 1) / done <= 1e9 * seconds:
            order = [tasks[index] for index in rng.permutation(len(tasks))]
            for task, windows in zip(order, take(order, done), strict=True):
                taken[task].append(windows)
            between()
            done += 1
            spent = (clock.wall() - begun) / (1e9 * seconds)
            tick(min(1.0, max(done / FEWEST_ROUNDS / 2, spent)), f"round {done}")
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
    for turn, share in enumerate(others.shares()[:done] if others else ()):
        for visits in taken.values():
            visits[turn]["overlap"] = np.minimum(visits[turn]["overlap"], 1.0 - share)
    kept = {task: np.concatenate(visits[:done]) for task, visits in taken.items()}
    for windows in kept.values():
        windows["flags"] = flags(windows)
        if log is not None:
            readings = np.array(looks)
            windows["placed_before_ns"] = readings[windows["round"]]
            windows["placed_after_ns"] = readings[windows["round"] + 1]
            mark_moved(windows, log.placement(looked_at()))
    return kept, interrupted


def result_of(key: Hashable, windows: Windows, limits: Limits = LIMITS, ignore: Flag = TURNS) -> Result:
    """Return the statistics of a task whose streams take turns; if other processes made it invalid, that is the reason.

    Parameters
    ----------
    key : Hashable
    windows : ndarray of VISIT, shape (n,)
        Windows of the task, with their flags set.
    limits : Limits
    ignore : Flag
    """
    return with_others_named(summarise(key, windows, "median", ignore, limits), limits)


def counted(result: Result, ignore: Flag = TURNS) -> Windows:
    """Return the windows on which the statistics of `result_of` are based: the clean ones, or all if none is clean."""
    windows = result.windows
    clean = (windows["flags"] & ~np.uint8(ignore)) == 0
    return windows[clean] if clean.any() else windows


class Watch:
    """Counts, from its creation on, the stolen time of this processor's CPUs, and its streams' retries and traps."""

    def __init__(self, counters: Callable[[], NDArray[np.void]]) -> None:
        self._counters = counters
        self._cpus = affinity()
        self._before = self._count()
        self._stolen = stolen_ns(self._cpus) or 0

    def window(self, turn: int, operations: int, wall_ns: int, timer_ns: float) -> Windows:
        """Return a window with the counts since this watch was made."""
        made = np.zeros(1, VISIT)
        made["round"], made["operations"], made["wall_ns"], made["timer_ns"] = turn, operations, wall_ns, timer_ns
        made["cpu_ns"] = wall_ns  # no single thread's CPU time applies: streams take turns
        made["stolen_ns"] = (stolen_ns(self._cpus) or 0) - self._stolen
        made["before_GHz"] = made["after_GHz"] = np.nan
        made["overlap"] = 1.0
        for name, before, after in zip(COUNTS, self._before, self._count(), strict=True):
            made[name] = after - before
        return made

    def _count(self) -> tuple[int, ...]:
        counted = self._counters()
        return tuple(int(counted[name].sum()) for name in COUNTS)


def section_of(name: str, results: Sequence[Result], record: Record, key: Mapping[str, str], cut: bool) -> Measurement:
    """Return a section with the windows of its results as samples.

    Raises
    ------
    Stopped
        If the rounds were cut short; it holds the section.
    """
    samples = stack(results, key)
    counts = [np.concatenate([result.windows[count] for result in results]) for count in COUNTS]
    section = Measurement(record, {name: np.asarray(append_fields(samples, list(COUNTS), counts, usemask=False))})
    if cut:
        raise Stopped(name, section)
    return section


class Counts(TypedDict):
    """Retries and traps of a visit."""

    retries: float
    traps: float


def counts_of(result: Result) -> Counts:
    """Return the median retries and traps of a visit."""
    retries, traps = (float(np.median(result.windows[name])) for name in COUNTS)
    return {"retries": retries, "traps": traps}


def elsewhere_of(result: Result, log: PlacementLog) -> list[float | None] | None:
    """Return the median time of an operation in each state of the CPUs that streams run on, except the main one."""
    return elsewhere_ns(result.windows, log.placement(looked_at()), TURNS)


def states_of(log: PlacementLog) -> list[PlacementState]:
    """Return the states of the CPUs that streams run on, in the form that a profile keeps."""
    return records(log.placement(looked_at()))
