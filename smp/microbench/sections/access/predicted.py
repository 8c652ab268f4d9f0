"""Times that a section's own functions and forms predict for its patterns, for its tables and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smp.errors import ProfileError
from smp.microbench.output.curves import column
from smp.models.supersteps.cost import Others, predict
from smp.profiles.access import Access, Pattern
from smp.profiles.profile import Profile

Seconds = NDArray[np.float64]


def others(rows: Sequence[Pattern]) -> Others | None:
    """Return the words of the processors other than the busiest; None if an earlier version did not keep them."""
    if any(row.reads is None or row.writes is None for row in rows):
        return None
    return Others.of([row.reads or () for row in rows], [row.writes or () for row in rows])


def by_function(found: Access, name: str, rows: Sequence[Pattern]) -> Seconds:
    """Return the seconds that a function of the SMP cost study charges for patterns of one family and p.

    Each pattern is charged by the function of its set (R0 or R1), else by the function for all; NaN if there is none.
    """
    tiers = [math.inf if tier.words is None else tier.words for tier in found.tiers]
    key = (rows[0].family, rows[0].p, name)
    of_set = {row.set: row for row in found.functions if (row.family, row.p, row.name) == key}
    hr, hw, m = (column(rows, count) for count in ("hr", "hw", "m"))
    edge = found.private_words or math.inf
    small = np.maximum(hr, hw) <= edge
    seconds = np.full(len(rows), np.nan)
    for label, chosen in (("all", small | True), ("R0", small), ("R1", ~small)):
        if label in of_set and (label == "all" or edge < math.inf):
            charged = predict(of_set[label].model_dump(), hr, hw, m, tiers, others(rows))
            seconds = np.where(chosen, charged, seconds)
    return seconds


def by_choice(found: Access, rows: Sequence[Pattern]) -> Seconds:
    """Return the seconds that a profile predicts for patterns of one family and p; NaN without functions."""
    profile = Profile({"access": found.to_json()})
    hr, hw, m = (column(rows, count) for count in ("hr", "hw", "m"))
    spans = [row.footprint for row in rows]
    footprint = None if None in spans else np.array(spans, np.float64)
    try:
        return profile.predict(rows[0].family, rows[0].p, hr, hw, m, others(rows), footprint)
    except ProfileError:
        return np.full(len(rows), np.nan)
