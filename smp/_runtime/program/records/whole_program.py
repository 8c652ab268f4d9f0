"""A program as one row: its time and all accesses that were counted, with notes on how they were counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smp._output.numbers import time

from ..steps import FAR, SUMMARY, set_others
from .recorded import COUNTS, SOURCES, Repeat, Repeated

if TYPE_CHECKING:
    from smp.models.supersteps.intervals import Interval

LABEL = "whole program"


def seconds_of(run: Repeated) -> NDArray[np.float64]:
    """Return the seconds of the slowest processor in each repeat, as a column."""
    return np.array([[repeat.seconds.max()] for repeat in run.repeats])


def row_of(run: Repeated) -> NDArray[np.void]:
    """Return the program as if it were one superstep, with the time of the slowest processor.

    Returns
    -------
    SUMMARY array
        One row.  ``uncounted`` is True if no access was counted.
    """
    row = np.zeros(1, SUMMARY)
    row["step"], row["label"], row["copy_in"] = -1, LABEL, float(np.median(seconds_of(run)))
    by_rank = {name: run.accesses[name].reshape(run.size, -1).sum(axis=1) for name in COUNTS}
    for end, read, written in (("", "reads", "writes"), ("_bytes", "bytes_read", "bytes_written")):
        row["hr" + end], row["hw" + end] = by_rank[read].max(), by_rank[written].max()
        row["m" + end] = (by_rank[read] + by_rank[written]).sum()
    for name in ("reads", "writes"):
        set_others(row, np.zeros(run.size, np.intp), by_rank[name], name)
    for name in ("chain", "loop_bytes", *FAR):
        row[name] = np.bincount(run.steps["rank"], run.steps[name], run.size).max()
    row["m_loop_bytes"] = run.steps["loop_bytes"].sum()
    row["m_far"] = (run.steps["far_reads"] + run.steps["far_writes"]).sum()
    row["uncounted"] = row["m"] == 0
    return row


def notes(run: Repeated, interval: Interval) -> list[str]:
    """Return notes on the accesses that were counted and on the parts of the time."""
    return [_time(interval), _counted(run), _unseen(run), _hardware(run)]


def _time(interval: Interval) -> str:
    said = "the time is that of the slowest processor, including local work and waits"
    worst = float(np.fmax(interval.bad, interval.random)[0])
    if interval.measured[0] <= worst or np.isnan(worst):
        return said
    return f"{said}; the counted accesses take at most {time(worst)} of it"


def _counted(run: Repeat) -> str:
    said = []
    for source in SOURCES:
        rows = run.accesses[run.accesses["source"] == source]
        if total := int((rows["reads"] + rows["writes"]).sum()):
            said.append(f"{source} {total:,}")
    return f"counted: {', '.join(said)}" if said else "no accesses were counted, so there is no prediction"


def _unseen(run: Repeated) -> str:
    calls = f"{run.loops_with_cells:,} call{'s' * (run.loops_with_cells != 1)}"
    loops = f"operations on cells in {calls} of compiled loops, " if run.loops_with_cells else ""
    half = "the reads of supersteps with counted=False, " if not run.steps["counted"].all() else ""
    return f"not counted: {loops}{half}accesses through array.view; a program can state them with proc.count_accesses"


def _hardware(run: Repeat) -> str:
    """Return the sums of the hardware's counts over all processors, and why other events were not counted."""
    found = [each for each in run.hardware if each is not None]
    if not found:
        return "hardware counters were not requested: run with counters=True"
    names = dict.fromkeys(name for counts, missing in found for name in (*counts, *missing))
    counted = [name for name in names if all(name in counts for counts, _ in found)]
    said = [f"{name} {sum(counts[name] for counts, _ in found):,}" for name in counted]
    missing = {missing[name]: None for _, missing in found for name in missing}
    for why in missing:
        refused = [name for name in names if any(each.get(name) == why for _, each in found)]
        said.append(f"{', '.join(refused)} {why}")
    return f"hardware counters: {'; '.join(said)}"
