"""A window: the time that a known amount of work took, and flags for whatever disturbed it.

    a point's windows    |--w--|--w--|--w-- ~~~off the CPU~~~ --|--w--|
    flags                   0     0        DESCHEDULED             0

Windows are short, 0.2 to 2 ms, so that a disturbance spoils one of many and not the only one. Every window
is kept together with the readings taken around it. Its flags say why it does not count, and they can be
computed again from these readings under other limits.
"""

from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from smp.errors import SmpError
from smp.models.placement import Labels, Placement

WINDOW = np.dtype(
    [
        ("round", "i4"),  # which visit of the point
        ("rank", "i4"),  # the processor that took the window; 0 if there is only one
        ("operations", "i8"),  # in the whole window
        ("wall_ns", "i8"),
        ("cpu_ns", "i8"),  # CPU time of the thread
        ("timer_ns", "f8"),  # time that an empty window shows
        ("stolen_ns", "i8"),  # time taken by the hypervisor during the visit
        ("switches", "i8"),  # context switches of the thread, in this window or the one before it
        ("before_GHz", "f8"),  # the clock rate before and after the visit; NaN: not measured
        ("after_GHz", "f8"),
        ("overlap", "f8"),  # fraction during which all partners ran, or of the CPUs that others left; 1 if alone
        ("placed_before_ns", "f4"),  # hand-off of a line between the CPUs, before and after the visit; 0: not known
        ("placed_after_ns", "f4"),
        ("flags", "u1"),
    ]
)

Windows = NDArray[np.void]


class MeasurementError(SmpError, ValueError):
    """Raised for input that cannot be measured; the message says which point and why."""


class Flag(IntFlag):
    """Reasons why a window does not count as clean."""

    DESCHEDULED = 1
    """The wall time exceeds the thread's CPU time."""
    STOLEN = 2
    """The hypervisor took time from these CPUs."""
    SWITCHED = 4
    """The thread was switched away from, in the window or just before it."""
    DRIFTED = 8
    """The clock rate differed from that of the other windows."""
    APART = 16
    """The partners did not run at the same time, or other processes had the CPUs."""
    MOVED = 32
    """The CPUs were not in the main state of their placement."""


NO_FLAG = Flag(0)


@dataclass(frozen=True)
class Limits:
    """Limits on the disturbance that a window may show, and on the disorder that a point may show.

    Parameters
    ----------
    off_cpu : float
        Largest fraction of a window's wall time that is not CPU time.
    drift : float
        Largest relative difference of the clock rate from the reference.
    overlap : float
        Smallest fraction of a window during which all partners run.
    clean_count : int
        Fewest clean windows of a valid point.
    clean_fraction : float
        Smallest fraction of clean windows of a valid point.
    spread : float
        Largest ratio of the median to the minimum. If the median is quoted, largest ratio of the third quartile
        to the first.
    """

    off_cpu: float = 0.02
    drift: float = 0.03
    overlap: float = 0.9
    clean_count: int = 5
    clean_fraction: float = 0.2
    spread: float = 1.25


LIMITS = Limits()


def per_operation(windows: Windows) -> NDArray[np.float64]:
    """Return the time of one operation in each window, in ns, without the timer's cost.

    Parameters
    ----------
    windows : ndarray of WINDOW, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    net: NDArray[np.float64] = (windows["wall_ns"] - windows["timer_ns"]) / windows["operations"]
    return net


def flags(windows: Windows, reference_GHz: float = np.nan, limits: Limits = LIMITS) -> NDArray[np.uint8]:
    """Return the flags of windows, judged by the readings taken around them.

    Parameters
    ----------
    windows : ndarray of WINDOW, shape (n,)
    reference_GHz : float
        Clock rate at which the windows should have been taken; NaN: drift is not judged.
    limits : Limits

    Returns
    -------
    ndarray of uint8, shape (n,)
        A union of `Flag` for each window; 0 is clean.
    """
    off_cpu = windows["wall_ns"] - windows["cpu_ns"]
    rates = np.stack([windows["before_GHz"], windows["after_GHz"]])
    judged = {
        Flag.DESCHEDULED: off_cpu > limits.off_cpu * windows["wall_ns"],
        Flag.STOLEN: windows["stolen_ns"] > 0,
        Flag.SWITCHED: windows["switches"] > 0,
        # a comparison with NaN is false: a rate that was not measured counts as not drifted
        Flag.DRIFTED: (np.abs(rates / reference_GHz - 1) > limits.drift).any(axis=0),
        Flag.APART: windows["overlap"] < limits.overlap,
    }
    union = np.zeros(windows.shape, np.uint8)
    for flag, hit in judged.items():
        union |= np.where(hit, np.uint8(flag), np.uint8(0))
    return union


def mark_moved(windows: Windows, placement: Placement) -> Labels:
    """Flag the windows in which the CPUs were not in the main state of their placement; return the state of each.

    Parameters
    ----------
    windows : ndarray of WINDOW, shape (n,)
    placement : Placement
        States of the placement; if none are known, no window is flagged.
    """
    elsewhere = ~placement.is_main(windows["placed_before_ns"], windows["placed_after_ns"])
    windows["flags"] |= np.where(elsewhere, np.uint8(Flag.MOVED), np.uint8(0))
    return placement.between(windows["placed_before_ns"], windows["placed_after_ns"])
