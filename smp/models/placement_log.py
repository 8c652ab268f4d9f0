"""How the CPUs lay while something was measured: all readings of the hand-over of a line, and the states in them.

    reading | sample | reading | sample | reading
                └ of the state of both readings, or of none
    all readings so far       ─▶  states          the more readings, the better they are known

Whoever measures notes the readings and asks for the states: figures, fits and choices are of the main state alone.  A
state that has been the main one stays it until another is clearly more frequent: where the two are about as frequent, a
figure would else begin with samples of the one and end with the other's.
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
"""Seconds that a reading stands for at most, up to the next, in the states' shares of the time."""

CLEARLY = 2.0
"""Another state becomes the main one when it is so many times as frequent."""

Readings = NDArray[np.void]


class PlacementLog:
    """The readings of a campaign, by number of processors; times are in seconds of the computer's monotonic clock."""

    def __init__(self) -> None:
        self._parts: list[Readings] = []
        self._known: dict[int, Placement] = {}
        self._main: dict[int, float] = {}  # the hand-over of the main state, in ns

    def note(self, p: int, at_s: ArrayLike, ns: ArrayLike) -> None:
        """Note readings of p processors; those that are NaN were not seen."""
        readings = np.ravel(np.asarray(ns, np.float64))
        part = np.zeros(len(readings), READING)
        part["p"], part["at_s"], part["ns"] = p, np.broadcast_to(np.ravel(at_s), len(readings)), readings
        self._parts.append(part[np.isfinite(readings)])
        self._known.pop(p, None)

    def note_runs(self, p: int, placements: Sequence[tuple[float, float]]) -> BoolArray:
        """Note how the CPUs lay before and after some runs of programs; return which ran in the main state.

        Parameters
        ----------
        p : int
            Processors.
        placements : sequence of (float, float)
            Of `Run.placement`.

        Returns
        -------
        ndarray (n,) bool
            All, where no states are known.
        """
        readings = np.asarray(placements, np.float64)
        self.note(p, time.monotonic(), readings)
        return self.placement(p).is_main(readings[:, 0], readings[:, 1])

    def restore(self, readings: Readings) -> None:
        """Take in the readings of an earlier part of the campaign."""
        self._parts.append(readings.astype(READING))
        self._known.clear()

    def placement(self, p: int) -> Placement:
        """Return the states of p processors in all readings so far."""
        if p not in self._known:
            mine = self.samples()
            mine = np.sort(mine[mine["p"] == p], order="at_s")
            gaps = np.diff(mine["at_s"], append=mine["at_s"][-1:])
            self._known[p] = self._steady(p, find_states(mine["ns"], np.clip(gaps, 1e-6, LONGEST)))
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
        """Return the numbers of processors that there are readings of, ascending."""
        return sorted({int(p) for part in self._parts for p in np.unique(part["p"])})
