"""The states of a machine's placement, found in readings of the hand-over of a line.

    readings on a logarithmic scale           density         valleys between peaks
       ||||||| ||                ||  |||||   ─▶  ╱╲      ╱╲  ─▶   |   state 0   |   state 1   |

The host of a virtual machine moves its CPUs between cores, a few times a minute, and the hand-over between two of them
is then another.  The readings lie close together in each state and far apart between states, so the states are the
peaks of their density: there is no constant in here that says how many there are or where.  A state that holds next to
no readings is none.

Whatever was measured between two readings belongs to the state of both, or to none where the two differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray, FloatArray

RESOLUTION = 0.02
"""Of the density, on the scale of the natural logarithm."""
WIDTH = 0.09
"""Of what a reading contributes to it, its standard deviation: readings of one state scatter by about so much."""
VALLEY = 0.3
"""A peak stands above the valleys at its sides, or it is part of its neighbour: the density there is at most this part
of its own."""
LEAST_SHARE = 0.01
"""Of all readings, which a state has at least."""
NONE = -1
"""The label of what lies in no state."""

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class State:
    """One state.

    Attributes
    ----------
    ns : float
        The median of its readings: a hand-over, one way.
    low, high : float
        Where it begins and ends, in ns.
    share : float
        Of all readings: of the time, where they were taken evenly.
    """

    ns: float
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class Placement:
    """The states of a machine, the main one first: mostly the most frequent.

    Attributes
    ----------
    states : tuple of State
    count : int
        Readings that they were found in.
    """

    states: tuple[State, ...] = field(default=())
    count: int = 0

    @property
    def main(self) -> State | None:
        """The first state; None where there was no reading."""
        return self.states[0] if self.states else None

    def label(self, ns: ArrayLike) -> Labels:
        """Return the state of each reading: its place in `states`, or `NONE`."""
        readings = np.asarray(ns, np.float64)
        labels = np.full(readings.shape, NONE, np.int64)
        for k, state in enumerate(self.states):
            labels[(readings >= state.low) & (readings < state.high)] = k
        return labels

    def between(self, before: ArrayLike, after: ArrayLike) -> Labels:
        """Return the state of what was measured between two readings each: that of both, or `NONE`."""
        first, second = self.label(before), self.label(after)
        return np.where(first == second, first, NONE)

    def is_main(self, before: ArrayLike, after: ArrayLike) -> BoolArray:
        """Return what was measured in the main state; where no states are known, all of it."""
        if not self.states:
            return np.ones(np.shape(before), np.bool_)
        return np.asarray(self.between(before, after) == 0)


def find_states(ns: ArrayLike, weights: ArrayLike | None = None) -> Placement:
    """Find the states in readings.

    Parameters
    ----------
    ns : array_like (n,)
        Hand-overs, one way, in ns; those that are NaN were not seen, and are left out.
    weights : array_like (n,), optional
        What each counts in the states' shares, such as the time until the next; by default all count the same.

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
    """The lowest places between the peaks of the density of readings, ascending."""
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
        elif density[peak] > density[standing[-1]]:  # the two are one
            standing[-1] = peak
    return np.asarray(first + (np.array(lowest, np.float64) + 0.5) * RESOLUTION)
