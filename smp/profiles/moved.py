"""Detects that the CPUs were placed differently during a run than when the cost functions were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .profile import Profile


def moved_note(profile: Profile, p: int, placements: Sequence[tuple[float, float]]) -> str:
    """Return a note if the CPUs were placed differently in runs than when a profile's functions were measured, or "".

    Parameters
    ----------
    profile : Profile
    p : int
        Number of processors.
    placements : sequence of (float, float)
        `Run.placement` of each run.
    """
    states = ((profile.data.get("access") or {}).get("placement") or {}).get(str(p)) or []
    readings = np.asarray(placements, np.float64)
    if not states or not np.isfinite(readings).any():
        return ""
    main = states[0]
    high = np.inf if main.get("high_ns") is None else main["high_ns"]
    away = (readings < main["low_ns"]) | (readings >= high)
    if not away.any():
        return ""
    which = "the run" if len(readings) == 1 else f"{int(away.any(axis=1).sum())} of {len(readings)} runs"
    return (
        f"the CPUs were placed differently than for the cost functions: a hand-off of a cache line took "
        f"{main['ns']:.0f} ns then, but {np.median(readings[away]):.0f} ns before or after {which}; accesses to shared "
        "data then have a different price"
    )
