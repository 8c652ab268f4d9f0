"""Notes that explain the times of an interval by other causes than accesses: one line each, naming the supersteps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smp._computer.page_faults import seconds_of_a_fault
from smp._output.numbers import percent, time
from smp.models.supersteps.locality import SMALL

from .exchanges import exchanged
from .recorded import Repeated

if TYPE_CHECKING:
    from smp.models.supersteps.intervals import Interval

GOOD_PART = 0.25
"""Share of the time of a superstep's copies above which its page faults are noted."""
NOISE = 4.0
"""Factor by which a superstep that is too small to judge may exceed the time that it should take."""
_NAMED = 4


def notes(run: Repeated, interval: Interval) -> list[str]:
    """Return the notes on a run, one of each kind; a note that has nothing to say is empty."""
    faulted = _fault_seconds(run, interval)
    return [
        _uncounted(interval),
        _first_touch(run, interval, faulted),
        _forgotten(run, interval, faulted),
        _changing(run),
        _collectives(run),
    ]


def _uncounted(interval: Interval) -> str:
    labels = _named(interval.label[np.isnan(interval.good)])
    return f"the counts of {labels} do not include all accesses, so there is no prediction" if labels else ""


def _fault_seconds(run: Repeated, interval: Interval) -> NDArray[np.float64]:
    """Return the seconds of page faults in the copies of each superstep: from the repeats' median of `_most`."""
    faults = np.median([_most(repeat.steps, interval) for repeat in run.repeats], axis=0)
    return faults * (seconds_of_a_fault() if faults.any() else 0.0)


def _most(steps: NDArray[np.void], interval: Interval) -> NDArray[np.int64]:
    """Return the most page faults of any processor in the copies of each superstep."""
    found = np.zeros(len(interval), np.int64)
    np.maximum.at(found, np.searchsorted(interval.step, steps["step"]), steps["faults_in"] + steps["faults_out"])
    return found


def _first_touch(run: Repeated, interval: Interval, faulted: NDArray[np.float64]) -> str:
    rows = faulted > GOOD_PART * interval.measured
    if not rows.any():
        return ""
    faults = _most(run.steps, interval)[rows].sum()
    part = min(1.0, faulted[rows].sum() / interval.measured[rows].sum())
    labels = _named(interval.label[rows])
    said = f"page faults: {faults:,} on a processor, about {percent(part)}% of the time of the copies of {labels}: "
    if run.warmup or len(run.repeats) > 2:
        return said + "memory is new in every run; pass out= to copy_in, and make arrays before the run"
    return said + "memory is touched for the first time; run with warmup=1, and if faults remain, pass out= to copy_in"


def _forgotten(run: Repeated, interval: Interval, faulted: NDArray[np.float64]) -> str:
    """Name copy-ins that took longer than all accesses of their superstep could, if `compute` was not called."""
    called = np.zeros(len(interval), np.bool_)
    np.logical_or.at(called, np.searchsorted(interval.step, run.steps["step"]), run.steps["computed"])
    worst = np.fmax(interval.bad, interval.random)
    most = worst * np.where(interval.m < SMALL, NOISE, 1.0)
    rows = ~called & (interval.copy_in > most) & (faulted < interval.copy_in / 2)
    if not rows.any():
        return ""
    labels, seconds = _named(interval.label[rows]), time(float(interval.copy_in[rows].sum()))
    return (
        f"copy-in of {labels} took {seconds}, more than its accesses explain, and step.compute() was not called: "
        "without it, local work is charged to copy-in; call step.compute() after the last copy_in"
    )


def _changing(run: Repeated) -> str:
    """Name supersteps whose counts are not the same in all repeats."""
    first, *others = run.summaries
    names = ["hr", "hw", "m"]
    changed = np.any([first[names] != other[names] for other in others], axis=0) if others else np.zeros(0, np.bool_)
    if not changed.any():
        return ""
    return f"h_r, h_w, M of {_named(first['label'][changed])} differ between the repeats: the last repeat's are shown"


def _collectives(run: Repeated) -> str:
    """Name collectives that move as many words as a superstep that is large enough to judge."""
    found = [each for each in exchanged(run.collectives) if each.m >= SMALL]
    if not found:
        return ""
    said = [f"{each.name} ({each.where}, M {each.m:,}, {time(each.seconds)})" for each in found]
    more = f"; {len(said) - _NAMED} more in run.collectives" if len(said) > _NAMED else ""
    return f"collectives outside of copies are not counted in h_r, h_w, M: {'; '.join(said[:_NAMED])}{more}"


def _named(labels: Iterable[str]) -> str:
    names = list(dict.fromkeys(str(label) for label in labels))
    quoted = [repr(name) for name in names[:_NAMED]]
    return ", ".join(quoted) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
