"""Observe the placement of the CPUs during a section: take readings, list its states, give medians for each state."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp._computer.limits import usable_cpus
from smp._runtime.host import looking
from smp._runtime.protocols.placement import UNKNOWN
from smp.models.placement import Placement
from smp.models.placement_log import PlacementLog
from smp.profiles.records import PlacementState

from .windows import NO_FLAG, Flag, Windows, per_operation


def records(placement: Placement) -> list[PlacementState]:
    """Return the states in the form that a profile keeps, the main one first."""
    return [
        PlacementState(
            ns=state.ns, low_ns=state.low, high_ns=state.high if np.isfinite(state.high) else None, share=state.share
        )
        for state in placement.states
    ]


def by_state(placement: Placement, labels: NDArray[np.int64], values: ArrayLike) -> list[float | None]:
    """Return the median of the values that were measured in each state; None for a state without values."""
    measured = np.asarray(values, np.float64)
    parts: list[Any] = [measured[labels == k] for k in range(len(placement.states))]
    return [float(np.median(part)) if len(part) else None for part in parts]


def looked_at() -> int:
    """Return the number of CPUs that a look covers: those that streams run on, or the first few of many."""
    return min(len(usable_cpus()), looking.MOST_CPUS)


def look_and_note(log: PlacementLog) -> float:
    """Look at the CPUs that streams run on; log the reading, and return it in ns."""
    ns = looking.look()
    log.note(looked_at(), time.monotonic(), ns)
    return ns


def farthest(picoseconds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the placement of the CPUs at some moments, in ns: the longest hand-off between any two neighbours.

    Parameters
    ----------
    picoseconds : int64 array, shape (processors, ...)
        Hand-off that each processor measured with its neighbours.

    Returns
    -------
    ndarray of float64
        NaN if the hand-off of any processor is unknown.
    """
    known = (picoseconds != UNKNOWN).all(0)
    return np.where(known, picoseconds.max(0) / 1e3, np.nan)


def elsewhere_ns(windows: Windows, placement: Placement, ignore: Flag = NO_FLAG) -> list[float | None] | None:
    """Return the median time of an operation in each state but the main one; None if there is no other state.

    Parameters
    ----------
    windows : ndarray of WINDOW, shape (n,)
        Windows with their flags set.
    placement : Placement
    ignore : Flag
        Flags that belong to the operation itself.
    """
    if len(placement.states) < 2:
        return None
    clean = windows[windows["flags"] & ~np.uint8(ignore | Flag.MOVED) == 0]
    labels = placement.between(clean["placed_before_ns"], clean["placed_after_ns"])
    return by_state(placement, labels, per_operation(clean))[1:]
