"""A log of the placement on a computer whose CPUs never move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smp.microbench.method.placement import PlacementLog


class Still(PlacementLog):
    """All runs count, whatever this computer's host does."""

    def note_runs(self, p: int, placements: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
        return np.ones(len(placements), np.bool_)
