"""Uncertainty of cost functions, from the rounds of the patterns that they were fitted to, and from their intervals."""

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
"""Patterns whose words differ by at most this factor are of about the same size."""
MOST_LOST = 0.25
"""Largest share of a family's patterns that may have been disturbed every time."""


class Patterns:
    """The measured patterns of a family and p, with their validity and the spread of their rounds."""

    def __init__(self, found: Access, samples: Samples, family: str, p: int) -> None:
        self._rows = [row for row in found.patterns if (row.family, row.p) == (family, p)]
        self._taken = select(samples, "access", family=FAMILIES.index(family), p=p, clean=True)
        lost = sum(row.clean == 0 for row in self._rows)
        self.valid = lost <= MOST_LOST * len(self._rows)

    def spread(self, words: int) -> Spread | None:
        """Return the spread of the cost of words, from the rounds of the patterns of about that size.

        In each round every pattern is compared with its own mean over all rounds.  The mean deviation of the patterns
        is that of the round.
        """
        if self._taken is None:
            return None
        away: dict[int, list[float]] = {}
        for mine in self._near(words):
            times, turns = np.log(np.maximum(_nanoseconds(mine), 1)), mine["round"]
            rounds = {int(turn): float(np.median(times[turns == turn])) for turn in np.unique(turns)}
            if len(rounds) > 1:
                usual = float(np.mean([*rounds.values()]))
                for turn, time in rounds.items():
                    away.setdefault(turn, []).append(time - usual)
        if len(away) < 2:
            return None
        means = [float(np.mean(each)) for each in away.values()]
        return Spread(float(np.std(means, ddof=1) / len(means) ** 0.5), len(means) - 1)

    def _near(self, words: int) -> Iterator[NDArray[Any]]:
        """Yield the undisturbed samples of each pattern of about that size, one group of alike pieces at a time."""
        assert self._taken is not None
        places: dict[tuple[int, int], int] = {}
        for row in self._rows:
            of = getattr(row, "footprint", None) or 0, row.suite
            index = places[of] = places.get(of, -1) + 1
            if words / NEAR <= row.h <= words * NEAR:
                key = {"footprint": of[0], "suite": of[1], "pattern": index}
                yield from _apart(_where(self._taken, key), ("phase", "alike"))


def _where(samples: NDArray[Any], key: Mapping[str, int]) -> NDArray[Any]:
    """Return the samples whose fields have the given values; fields that the samples lack are ignored."""
    for field in {*key} & {*(samples.dtype.names or ())}:
        samples = samples[samples[field] == key[field]]
    return samples


def _apart(samples: NDArray[Any], fields: tuple[str, ...]) -> Iterator[NDArray[Any]]:
    """Yield groups of samples that agree in some fields; fields that the samples lack are ignored."""
    kept = [field for field in fields if field in (samples.dtype.names or ())]
    for values in np.unique(samples[kept]) if kept else [()]:
        yield _where(samples, dict(zip(kept, values, strict=True)))


def _nanoseconds(samples: NDArray[Any]) -> NDArray[Any]:
    """Return the time of each sample: of a piece of a phase, or, by an earlier version, of a superstep's copies."""
    if "ns" in (samples.dtype.names or ()):
        return np.asarray(samples["ns"])
    return np.asarray(samples["copy_in_ns"] + samples["copy_out_ns"])


def comparable(function: Mapping[str, Any], k: int) -> bool:
    """Return True if a price means the same on another machine, and is distinct from other prices and from zero.

    A price on one side of a knee of the data does not mean the same: the next measurement has the knee elsewhere.
    """
    term, low = function["terms"][k], function["low"][k] if function.get("low") else None
    if term in (function.get("unidentified") or ()) or (function.get("knees") and term[-1].isdecimal()):
        return False
    return low is None or low > 0.0


def of_price(function: Mapping[str, Any], k: int) -> Spread | None:
    """Return the spread of a price, from its interval; None if the interval is open."""
    price, high = function["coefficients"][k], function["high"][k] if function.get("high") else None
    if high is None or not 0.0 < price < high:
        return None
    freedom = max((function.get("count") or 0) - len(function["terms"]), 1)
    return Spread((high - price) / price / float(stdtrit(freedom, 0.975)), freedom)
