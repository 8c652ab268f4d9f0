"""Stand-ins for computers whose CPUs never move, or move from time to time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from smp._runtime.host.looking import Looker
from smp.models.placement_log import PlacementLog


class Still(PlacementLog):
    """Log by which all runs count, whatever the host of this computer does."""

    def note_runs(self, p: int, placements: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
        return np.ones(len(placements), np.bool_)


NEAR, FAR = 30.0, 200.0
"""Times of a hand-over between CPUs that lie near and far, in ns."""
SLOWER = 1.5
"""Factor by which work takes longer when the CPUs lie far from each other."""


class Moving:
    """A computer whose CPUs lie far from each other at times, when work takes longer. Its clock is virtual."""

    def __init__(self, far: Callable[[float], bool]) -> None:
        self.now, self._far, self._rng = 0.0, far, np.random.default_rng(0)

    def clock(self) -> float:
        return self.now

    def looking(self) -> float:
        self.now += 2e-4
        return (FAR if self._far(self.now) else NEAR) * self._rng.uniform(0.9, 1.1)

    def work(self, seconds: float = 0.010, slower: float = SLOWER) -> float:
        """Work for the given seconds, or longer if the CPUs lie far from each other; return the time that it took."""
        taken = seconds * (slower if self._far(self.now) else 1.0)
        self.now += taken
        return taken

    def looker(self) -> Looker:
        return Looker(self.looking, self.clock)
