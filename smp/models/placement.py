"""States of a machine's placement, found in readings of the hand-off of a cache line.

    readings on a logarithmic scale           density         valleys between peaks
       ||||||| ||                ||  |||||   ─▶  ╱╲      ╱╲  ─▶   |   state 0   |   state 1   |

The placement is the host's choice of the cores on which a virtual machine's CPUs run. The host moves these CPUs a few
times a minute, and the hand-off of a line between two of them then takes a different time. The readings lie close
together within each state and far apart between states, so the states are the peaks of their density. No constant in
this module fixes how many states there are or where they lie. A peak that holds next to no readings is not a state.

A sample taken between two readings belongs to the state of both, or to none if the two differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray, FloatArray

RESOLUTION = 0.02
"""Step of the grid on which the density is computed, on the scale of the natural logarithm."""
WIDTH = 0.09
"""Standard deviation of the bell curve that each reading adds to the density: readings of one state scatter by about
this much."""
VALLEY = 0.3
"""Largest density in the valley between two peaks, as a part of the lower peak's; with a higher valley the two peaks
are one."""
LEAST_SHARE = 0.01
"""Smallest share of all readings that a state may have."""
NONE = -1
"""Label of readings and samples that belong to no state."""

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class State:
    """One state of the placement.

    Attributes
    ----------
    ns : float
        Median of its readings, in ns: one hand-off, one way.
    low, high : float
        Valleys on the two sides of its peak, in ns: readings from ``low`` up to, but not including, ``high`` are in the
        state. At the two ends of the scale they are 0 and infinity.
    share : float
        Its share of all readings by their weights. This is its share of the time if readings were taken evenly.
    """

    ns: float
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class Placement:
    """States of a machine, the main one first. It is usually the most frequent.

    Attributes
    ----------
    states : tuple of State
    count : int
        Number of readings that they were found in.
    """

    states: tuple[State, ...] = field(default=())
    count: int = 0

    @property
    def main(self) -> State | None:
        """The first state; None if there was no reading."""
        return self.states[0] if self.states else None

    def label(self, ns: ArrayLike) -> Labels:
        """Return the state of each reading as its index in `states`, or `NONE`."""
        readings = np.asarray(ns, np.float64)
        labels = np.full(readings.shape, NONE, np.int64)
        for k, state in enumerate(self.states):
            labels[(readings >= state.low) & (readings < state.high)] = k
        return labels

    def between(self, before: ArrayLike, after: ArrayLike) -> Labels:
        """Return the state of samples taken between two readings each: the state of both readings, or `NONE`."""
        first, second = self.label(before), self.label(after)
        return np.where(first == second, first, NONE)

    def is_main(self, before: ArrayLike, after: ArrayLike) -> BoolArray:
        """Return True for the samples taken in the main state; for all samples if no states are known."""
        if not self.states:
            return np.ones(np.shape(before), np.bool_)
        return np.asarray(self.between(before, after) == 0)


def find_states(ns: ArrayLike, weights: ArrayLike | None = None) -> Placement:
    """Find the states in readings of the hand-off.

    Parameters
    ----------
    ns : array_like (n,)
        Times of one hand-off, one way, in ns. NaN stands for a reading that was not taken, and is left out.
    weights : array_like (n,), optional
        Weight of each reading in the states' shares, such as the time until the next; by default all count the same.

    Returns
    -------
    Placement

    Examples
    --------
    >>> found = find_states([70.0, 72.0, 69.0, 71.0, 280.0, 71.0, 275.0])
    >>> [(round(state.ns), round(state.share, 2)) for state in found.states]
    [(71, 0.71), (278, 0.29)]
    """
    every = np.asarray(ns, np.float64)
    readings = every[every > 0]
    if not len(readings):
        return Placement()
    counted = np.ones(len(readings)) if weights is None else np.asarray(weights, np.float64)[every > 0]
    whole = max(float(counted.sum()), np.finfo(np.float64).tiny)
    logs = np.log(readings)
    edges = _valleys(logs)
    owner = np.searchsorted(edges, logs, side="right")
    states = []
    for k, (low, high) in enumerate(zip([-np.inf, *edges], [*edges, np.inf], strict=True)):
        mine = owner == k
        if mine.sum() >= max(2.0, LEAST_SHARE * len(readings)) or not len(edges):
            share = float(counted[mine].sum()) / whole
            states.append(State(float(np.median(readings[mine])), float(np.exp(low)), float(np.exp(high)), share))
    return Placement(tuple(sorted(states, key=lambda state: -state.share)), len(readings))


def _valleys(logs: FloatArray) -> FloatArray:
    """Return the lowest places between the peaks of the density of readings, ascending."""
    reach = round(5 * WIDTH / RESOLUTION)
    first = logs.min() - reach * RESOLUTION
    counts = np.bincount(((logs - first) / RESOLUTION).astype(np.intp))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * RESOLUTION / WIDTH) ** 2)
    density = np.convolve(np.pad(counts, (0, reach)), kernel)[reach:]
    rises = np.diff(density, prepend=0.0, append=0.0) > 0
    peaks = np.flatnonzero(rises[:-1] & ~rises[1:]).tolist()
    lowest: list[int] = []
    standing: list[int] = peaks[:1]
    for peak in peaks[1:]:
        valley = standing[-1] + int(np.argmin(density[standing[-1] : peak]))
        if density[valley] <= VALLEY * min(density[standing[-1]], density[peak]):
            standing.append(peak)
            lowest.append(valley)
        elif density[peak] > density[standing[-1]]:  # the two peaks are one
            standing[-1] = peak
    return np.asarray(first + (np.array(lowest, np.float64) + 0.5) * RESOLUTION)
