"""Log of the CPUs' placement during a campaign of measurements, as readings of the hand-off of a cache line.

    reading | sample | reading | sample | reading
                └ belongs to the state of both readings, or to none
    all readings so far       ─▶  states          the more readings, the better they are known

A measurement notes its readings here and asks for the states. Figures, fits and choices use samples of the main state
alone. A state that has been the main one stays the main one until another is clearly more frequent. Otherwise, if two
states are about equally frequent, a figure could begin with samples of one state and end with samples of the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray
from .placement import Placement, find_states

READING = np.dtype([("p", np.int16), ("at_s", np.float64), ("ns", np.float32)])
LONGEST = 0.2
"""Most seconds that a reading counts for in the states' shares of the time. It counts up to the next reading."""

CLEARLY = 2.0
"""Another state becomes the main one when it is this many times as frequent."""

Readings = NDArray[np.void]


class PlacementLog:
    """Readings of a campaign, by number of processors; times are in seconds of the computer's monotonic clock."""

    def __init__(self) -> None:
        self._parts: list[Readings] = []
        self._known: dict[int, Placement] = {}
        self._main: dict[int, float] = {}  # the hand-off of the main state, in ns

    def note(self, p: int, at_s: ArrayLike, ns: ArrayLike) -> None:
        """Note readings of p processors; NaN stands for a reading that was not taken, and is left out."""
        readings = np.ravel(np.asarray(ns, np.float64))
        part = np.zeros(len(readings), READING)
        part["p"], part["at_s"], part["ns"] = p, np.broadcast_to(np.ravel(at_s), len(readings)), readings
        self._parts.append(part[np.isfinite(readings)])
        self._known.pop(p, None)

    def note_runs(self, p: int, placements: Sequence[tuple[float, float]]) -> BoolArray:
        """Note the readings before and after some runs of programs; return which ran in the main state.

        Parameters
        ----------
        p : int
            Number of processors.
        placements : sequence of (float, float)
            `Run.placement` of each run.

        Returns
        -------
        ndarray (n,) bool
            True for all runs if no states are known.
        """
        readings = np.asarray(placements, np.float64)
        self.note(p, time.monotonic(), readings)
        return self.placement(p).is_main(readings[:, 0], readings[:, 1])

    def restore(self, readings: Readings) -> None:
        """Add the readings of an earlier part of the campaign."""
        self._parts.append(readings.astype(READING))
        self._known.clear()

    def placement(self, p: int) -> Placement:
        """Return the states that all readings so far show for p processors."""
        if p not in self._known:
            mine = self.samples()
            mine = mine[mine["p"] == p]
            self._known[p] = self._steady(p, find_states(mine["ns"], _seconds(mine["at_s"])))
        return self._known[p]

    def _steady(self, p: int, found: Placement) -> Placement:
        """Put the state that was the main one first, unless another is clearly more frequent."""
        states, before = found.states, self._main.get(p)
        same = next((state for state in states if before and state.low <= before < state.high), None)
        if same is not None and states[0].share < CLEARLY * same.share:
            states = (same, *(state for state in states if state is not same))
        if states:
            self._main[p] = states[0].ns
        return Placement(states, found.count)

    def samples(self) -> Readings:
        """Return all readings."""
        return np.concatenate([np.zeros(0, READING), *self._parts])

    @property
    def processors(self) -> list[int]:
        """Return the numbers of processors for which there are readings, ascending."""
        return sorted({int(p) for part in self._parts for p in np.unique(part["p"])})


def _seconds(at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the seconds that each reading counts for; readings of the same moment share its seconds evenly."""
    moments, inverse, counts = np.unique(at_s, return_inverse=True, return_counts=True)
    gaps = np.clip(np.diff(moments, append=moments[-1:]), 1e-6, LONGEST)
    return np.asarray((gaps / counts)[inverse])
