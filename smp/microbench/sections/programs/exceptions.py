"""Table of the supersteps that lie outside their interval, each with an explanation.

below good     at the good end, within the error of the functions; it stores nothing, whereas Good copies
beyond bad     at the bad end, likewise; page faults; a loop that does more than read
either         more words than were measured
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from smp._output.numbers import count, number
from smp._output.table import Cell, Column, Table, counted, text
from smp.models.supersteps.locality import SMALL, TOLERANCE
from smp.profiles.profile import Profile

from .rows import Counted

FAULT_S = 1.5e-6
"""Approximate seconds of a page fault."""
LOOP_S = 3e-9
"""Most seconds that a copying loop adds to the access of a word: ten instructions or a mispredicted branch."""
MOST_ROWS = 40
COLUMNS = (
    *(text("superstep"), counted("p"), counted("times"), counted("M")),
    *(Column("measured", form="time"), Column("end of interval", form="time"), text("reason")),
)


class Explanation:
    """Explanations, from the data of a profile, of times beyond the ends of an interval."""

    def __init__(self, profile: Profile) -> None:
        rows = [*(profile.access.get("forms") or []), *profile.access["functions"]]
        ranges: dict[str, list[float]] = {}
        for row in rows:
            ranges.setdefault(row["family"], []).append((row.get("h_range") or (0, np.inf))[1])
        self._most = {family: max(ends) for family, ends in ranges.items()}

    def of(self, step: Counted) -> str:
        """Return a clause that explains why a superstep lies outside its interval, or "not explained"."""
        measured, good = step.measured_s or 0.0, step.good_s or 0.0
        worst = max(step.bad_s or 0.0, step.random_s or 0.0)
        if measured < good:
            if measured >= good * (1 - TOLERANCE):
                return "at the good end, within the error of the functions"
            if not step.hw:
                return "it stores nothing of what it reads, whereas Good copies"
            return self._beyond(step) or "not explained"
        if measured <= worst * (1 + TOLERANCE):
            return "at the bad end, within the error of the functions"
        times, faults = step.times or 1, step.faults or 0
        if faults * FAULT_S >= (measured - worst) / 2:
            return f"{count(faults)} page faults"
        more = (measured - worst) / (times * max(step.hr, step.hw))
        if more <= LOOP_S:
            return f"{number(more * 1e9)} ns more per word, which the loop itself may take"
        return self._beyond(step) or "not explained"

    def _beyond(self, step: Counted) -> str:
        most = min(self._most.values(), default=np.inf)
        return f"more words than were measured, {count(most)}" if max(step.hr, step.hw) > most else ""


def outside(steps: Sequence[Counted], profile: Profile, name: Any) -> Iterator[Table]:
    """Yield a table of the supersteps with M of at least `SMALL` that lie outside their interval.

    It yields nothing if all of them lie inside, or if the profile has no cost functions.

    Parameters
    ----------
    steps : sequence of Counted
    profile : Profile
        Profile with the cost functions that predict.
    name : callable
        Function that returns the name of a superstep.
    """
    large = [step for step in steps if step.m >= SMALL and step.good_s is not None]
    away = [step for step in large if not step.inside]
    if not away or not (profile.data.get("access") or {}).get("functions"):
        return
    explained, same = Explanation(profile), dict[Any, list[Counted]]()
    for step in away:
        same.setdefault((name(step), step.p, explained.of(step)), []).append(step)
    rows: list[list[Cell]] = []
    for (called, p, why), steps in list(same.items())[:MOST_ROWS]:
        step = max(steps, key=_far)
        rows.append([called, p, len(steps), step.m, step.measured_s, _end(step), why])
    share = 1 - len(away) / len(large)
    more = f"{len(same) - MOST_ROWS} more rows are not shown." if len(same) > MOST_ROWS else ""
    said = f"{len(large) - len(away)} of {len(large)} supersteps with M of {SMALL:,} and more lie inside ({share:.0%})."
    kind = "Of the others, the farthest of each kind is shown."
    yield Table("Supersteps outside their interval", COLUMNS, rows, [said, kind, more])


def _end(step: Counted) -> float:
    """Return the end of its interval that a superstep lies beyond."""
    good = step.good_s or 0.0
    return good if (step.measured_s or 0.0) < good else max(step.bad_s or 0.0, step.random_s or 0.0)


def _far(step: Counted) -> float:
    return abs(float(np.log(max(step.measured_s or 0.0, 1e-12) / max(_end(step), 1e-12))))
