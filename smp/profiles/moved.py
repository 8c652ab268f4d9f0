"""Whether the CPUs lay otherwise when a program ran than when the cost functions were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .profile import Profile


def moved_note(profile: Profile, p: int, placements: Sequence[tuple[float, float]]) -> str:
    """Say where the CPUs lay otherwise in runs than when the functions of a profile were measured; else nothing.

    Parameters
    ----------
    profile : Profile
    p : int
        Processors.
    placements : sequence of (float, float)
        Of `Run.placement`, one for each run.
    """
    states = (profile.access.get("placement") or {}).get(str(p)) or []
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
        f"the host had moved the CPUs: the functions were measured while a line changed CPUs in {main['ns']:.0f} ns, "
        f"before or after {which} it took {np.median(readings[away]):.0f} ns; what processors share then has another "
        "price"
    )
