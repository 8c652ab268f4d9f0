"""The cost of a program, price by price: from the phases of measured runs if there are any, else from its charges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from smp.errors import ProfileError
from smp.models.supersteps.factored import Derivative, Factored
from smp.models.supersteps.hybrid import Hybrid
from smp.models.supersteps.shares import Share

from .changes import Source, model_of, opened
from .phases import ByPhase, by_phase
from .programs import Cost, Kernel, kernel_of

LEAST = 0.001
"""Share of the time below which a price is left out."""


@dataclass(frozen=True)
class Impact:
    """Cost of a program, price by price.

    Attributes
    ----------
    model : Factored
    phases : ByPhase, optional
        Cost by phase, if measured runs give the time of each phase.
    why : str
        Message on the measured runs that are missing; empty if none are.
    """

    model: Factored
    phases: ByPhase | None = None
    why: str = ""

    def share_of(self, each: Derivative) -> Share:
        """Return the share of the time that is due to a price."""
        if self.phases is None:
            return Share(each.share, each.share, each.share)
        return self.phases.prices[each.term]

    def derivatives(self) -> Iterator[tuple[Derivative, Share]]:
        """Yield the prices that may matter, the largest share first."""
        for each in self.model.derivatives():
            mine = self.share_of(each)
            if max(abs(mine.low), abs(mine.high)) >= LEAST:
                yield each, mine

    def saved(self, term: str) -> float:
        """Return the share of the time that halving a price saves."""
        return 1 - self.model.impact({term: 0.5})

    def to_json(self) -> dict[str, Any]:
        """Return the cost as plain JSON; a share that is not determined is null."""
        prices = [
            each._asdict() | _bounds(self.share_of(each), self.phases is not None) for each in self.model.derivatives()
        ]
        if self.phases is None:
            return {"prices": prices}
        total = self.model.total()
        parts = [{"part": name, **_bounds(each, True)} for name, each in self.phases.parts.items()]
        return {"seconds": total, "measured": list(self.phases.measured), "parts": parts, "prices": prices}


def impact_of(profile: Source, kernel: str | Kernel | Cost, n: int, p: int, *, hybrid: Hybrid | None = None) -> Impact:
    """Return the cost of a kernel: by the phases of measured runs if the profile has them, else by its charges.

    Parameters
    ----------
    profile, kernel, n, p, hybrid
        As for `smp.microbench.predictions.changes.model_of`; a hybrid model takes the place of the phases.

    Raises
    ------
    ValueError, ProfileError
        As for `model_of`.
    """
    known, chosen = opened(profile), kernel_of(kernel)
    model, why = model_of(known, chosen, n, p, hybrid=hybrid), ""
    if hybrid is None and chosen.section:
        try:
            found = by_phase(known, chosen, n, p)
            return Impact(found.model, found)
        except ProfileError as error:  # no measured runs of it: report its charges without them
            why = str(error)
    return Impact(model, why=why)


def _bounds(each: Share, by_phase: bool) -> dict[str, Any]:
    if not by_phase:
        return {}
    return {"share": each.value if each.determined else None, "low": each.low, "high": each.high}
