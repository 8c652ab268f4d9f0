"""How well cost functions are known: by the rounds of the patterns that they were fitted to, and by their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from smp.microbench.method.samples import Samples, select
from smp.microbench.method.spreads import Spread
from smp.profiles.kept_apart import FAMILIES

if TYPE_CHECKING:
    from smp.profiles.access import Access

NEAR = 4
"""Patterns of so many times fewer to so many times more words are of about a size."""
MOST_LOST = 0.25
"""Share of a family's patterns that may have been disturbed every time."""


class Patterns:
    """The measured patterns of a family and p: whether they were disturbed, and how far their rounds spread."""

    def __init__(self, found: Access, samples: Samples, family: str, p: int) -> None:
        self._rows = [row for row in found.patterns if (row.family, row.p) == (family, p)]
        self._taken = select(samples, "access", family=FAMILIES.index(family), p=p, clean=True)
        lost = sum(row.clean == 0 for row in self._rows)
        self.valid = lost <= MOST_LOST * len(self._rows)

    def spread(self, words: int) -> Spread | None:
        """Return the spread of what words cost by the rounds of the patterns of about that size.

        In each round the patterns are compared with themselves in all rounds: what is common to them is the round's.
        """
        if self._taken is None:
            return None
        away: dict[int, list[float]] = {}
        for mine in self._near(words):
            times = np.log(np.maximum(mine["copy_in_ns"] + mine["copy_out_ns"], 1))
            rounds = {int(turn): float(np.median(times[mine["round"] == turn])) for turn in np.unique(mine["round"])}
            if len(rounds) > 1:
                usual = float(np.mean([*rounds.values()]))
                for turn, time in rounds.items():
                    away.setdefault(turn, []).append(time - usual)
        if len(away) < 2:
            return None
        means = [float(np.mean(each)) for each in away.values()]
        return Spread(float(np.std(means, ddof=1) / len(means) ** 0.5), len(means) - 1)

    def _near(self, words: int) -> Iterator[NDArray[Any]]:
        """Yield the undisturbed supersteps of each pattern of about a size."""
        assert self._taken is not None
        for suite in sorted({row.suite for row in self._rows}):
            for index, row in enumerate(row for row in self._rows if row.suite == suite):
                if words / NEAR <= row.h <= words * NEAR:
                    yield self._taken[(self._taken["suite"] == suite) & (self._taken["pattern"] == index)]


def above_zero(function: Mapping[str, Any], k: int) -> bool:
    """Whether the interval of a price, if there is one, leaves out zero."""
    low = function["low"][k] if function.get("low") else None
    return low is None or low > 0.0


def of_price(function: Mapping[str, Any], k: int) -> Spread | None:
    """The spread of a price, by its interval; None where that is open."""
    price, high = function["coefficients"][k], function["high"][k] if function.get("high") else None
    if high is None or not 0.0 < price < high:
        return None
    freedom = max((function.get("count") or 0) - len(function["terms"]), 1)
    return Spread((high - price) / price / float(stdtrit(freedom, 0.975)), freedom)
