"""The states of the placement as a profile has them, and what was measured in each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp.models.placement import Placement
from smp.profiles.records import PlacementState


def records(placement: Placement) -> list[PlacementState]:
    """Return the states as a profile has them, the main one first."""
    return [
        PlacementState(
            ns=state.ns, low_ns=state.low, high_ns=state.high if np.isfinite(state.high) else None, share=state.share
        )
        for state in placement.states
    ]


def by_state(placement: Placement, labels: NDArray[np.int64], values: ArrayLike) -> list[float | None]:
    """Return the median of what was measured in each state; None where nothing was."""
    measured = np.asarray(values, np.float64)
    parts: list[Any] = [measured[labels == k] for k in range(len(placement.states))]
    return [float(np.median(part)) if len(part) else None for part in parts]
