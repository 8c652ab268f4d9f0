"""Statistics of the messages probe: times, ratios of neighbouring bursts, and ratios to MPI in the same rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smp.microbench.method.placement import elsewhere_ns
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.rows import row
from smp.microbench.method.windows import Flag, Windows, mark_moved, per_operation
from smp.models.placement_log import PlacementLog

from .bursts import BLOCKS, VECTORS
from .rows import Cost
from .tasks import LIMITS, Task


class Found:
    """Windows of a stage, visit by visit: of each task, of its floor, and by MPI."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.operations: dict[Task, list[Windows]] = {task: [] for task in tasks}
        self.floors: dict[Task, list[Windows]] = {task: [] for task in tasks}
        self.mpi: dict[Task, list[Windows]] = {task: [] for task in tasks}


def costs_of(p: int, found: Found, GHz: float, log: PlacementLog) -> tuple[list[Cost], list[Result]]:
    """Return a row for each task of a stage, and the results of the operations and of the floors."""
    rows, results = list[Cost](), list[Result]()
    for task, visits in found.operations.items():
        operation, floor, others = np.concatenate(visits), np.concatenate(found.floors[task]), None
        if p > 1:
            mark_moved(operation, log.placement(p))
            mark_moved(floor, log.placement(p))
            others = elsewhere_ns(operation, log.placement(p), task.ignored)
        measured, below = (
            summary(side, task, p, windows) for side, windows in (("operation", operation), ("floor", floor))
        )
        rows.append(
            Cost(
                **sized(task, p),
                floor=task.floor,
                floor_ns=below.median,
                **ratios(operation, floor, task.ignored),
                over_mpi=over_mpi(visits, found.mpi[task]),
                elsewhere_ns=others,
                **row(measured, GHz),
            )
        )
        results += [measured, below]
    return rows, results


def ratios(operation: Windows, floor: Windows, ignore: Flag) -> dict[str, Any]:
    """Return the quartiles of the ratios of neighbouring bursts, and the number of pairs.

    Pairs count if both bursts are clean, or all if no pair is.
    """
    clean = (operation["flags"] | floor["flags"]) & ~np.uint8(ignore) == 0
    used = clean if clean.any() else np.ones(len(clean), np.bool_)
    quotients = per_operation(operation[used]) / per_operation(floor[used])
    low, middle, high = np.percentile(quotients, (25, 50, 75)).tolist()
    return {"ratio": middle, "ratio_low": low, "ratio_high": high, "pairs": len(quotients)}


def over_mpi(visits: list[Windows], by_mpi: list[Windows]) -> float | None:
    """Return the median, over the rounds in which MPI ran, of the time over MPI's; None if MPI did not run."""
    medians = {int(windows["round"][0]): float(np.median(per_operation(windows))) for windows in visits}
    quotients = [medians[int(each["round"][0])] / float(np.median(per_operation(each))) for each in by_mpi]
    return float(np.median(quotients)) if quotients else None


def summary(side: str, task: Task, p: int, windows: Windows) -> Result:
    """Return the statistics of the windows of an operation, of a floor, or of MPI."""
    return summarise((side, task.what, p, task.size), windows, "median", task.ignored, LIMITS)


def sized(task: Task, p: int) -> dict[str, Any]:
    """Return the fields of a row that name its operation."""
    size = (
        {"words": task.size} if task.what in VECTORS + BLOCKS else {"senders": task.size} if task.what == "poll" else {}
    )
    return {"what": task.what, "processors": p, **size}
