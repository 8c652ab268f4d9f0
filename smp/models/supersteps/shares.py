"""Shares of a program's time: accesses, barriers, runtime and computation, from the phases of its supersteps.

    copies  =  accesses + two barriers + the rest of the time that the runtime adds
    compute =  a barrier + local computation

The time that the runtime adds is known as an interval, from its least to its most. The copies spend the rest of their
time on accesses. The good and the bad cost function price the accesses together: their time lies between the two ends,
at the run's own Loc (1 at the good end, 0 at the bad one). If few words move, the time that the runtime adds hides the
time of the accesses, which is then known only to lie between the ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._types import BoolArray, FloatArray
from .factored import Charge, Factored

WIDEST = 0.5
"""A share whose interval is wider is not determined."""
PERCENTILES = (2.5, 97.5)
HIDDEN = 0.5
"""Assumed place of hidden accesses, as a part of the way from the good to the bad end."""


class Share(NamedTuple):
    """Share of the time, with its interval.

    Attributes
    ----------
    value : float
    low, high : float
        Ends of the 95% interval.
    """

    value: float
    low: float
    high: float

    @property
    def determined(self) -> bool:
        """True if the interval is no wider than `WIDEST`."""
        return self.high - self.low <= WIDEST


class Parts(NamedTuple):
    """Seconds spent on accesses, barriers, runtime and computation; the last axis of each array has n supersteps."""

    memory: FloatArray
    barrier: FloatArray
    runtime: FloatArray
    local: FloatArray

    @property
    def total(self) -> FloatArray:
        """The seconds of all supersteps."""
        return np.asarray((self.memory + self.barrier + self.runtime + self.local).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Machine:
    """Times that a machine charges for n supersteps.

    Attributes
    ----------
    good, bad : Factored
        Models of the accesses alone, at both ends.
    barrier : float
        Seconds of one barrier; 0 if none was measured.
    added : tuple of 2 floats
        The least and the most seconds that the runtime adds to a superstep, two barriers included.
    hidden : ndarray (n,) bool
        True for supersteps with too few accesses to separate their time from the time that the runtime adds.
    """

    good: Factored
    bad: Factored
    barrier: float
    added: tuple[float, float]
    hidden: BoolArray

    def split(
        self, copies: FloatArray, compute: FloatArray, added: ArrayLike | None = None, place: ArrayLike = HIDDEN
    ) -> Parts:
        """Split the measured times of phases into their parts.

        Parameters
        ----------
        copies, compute : ndarray (..., n)
            Seconds of copy-in and copy-out together, and of the compute phase.
        added : array_like (..., 1), optional
            Seconds that the runtime adds to a superstep; by default half way from its least to its most.
        place : array_like (..., 1)
            Place of hidden accesses between the ends, from 0, the good end, to 1, the bad end.
        """
        good, bad = self._ends()
        left = copies - (sum(self.added) / 2 if added is None else np.asarray(added))
        hidden = good + np.asarray(place) * (bad - good)
        memory = np.clip(np.where(self.hidden, hidden, left), 0.0, np.where(bad > 0.0, copies, 0.0))
        waits = np.minimum(2 * self.barrier, copies - memory)
        third = np.minimum(self.barrier, compute)
        return Parts(memory, waits + third, copies - memory - waits, compute - third)

    def model(self, parts: Parts, work: float) -> Factored:
        """Return the factored model whose supersteps take the same seconds as these parts, split by price.

        Parameters
        ----------
        parts : Parts
            Seconds of n supersteps.
        work : float
            Units of local work in all supersteps together, above zero.
        """
        good, bad = self._weights(parts.memory)
        amounts = {"barrier": parts.barrier.sum() / self.barrier if self.barrier else 0.0}
        amounts |= {"runtime": float(len(parts.runtime)), "local": work}
        charges = []
        for name, amount in amounts.items():
            seconds = getattr(parts, name)
            price = seconds.sum() / amount if amount else 0.0
            charges.append(Charge.flat(name, price, seconds / price if price else np.zeros(len(seconds))))
        return self.good.scaled(good) + self.bad.scaled(bad) + Factored(charges)

    def by_price(self, memory: FloatArray, factors: Mapping[str, FloatArray] | None = None) -> dict[str, FloatArray]:
        """Return the seconds of the accesses that go to each price, over all supersteps.

        Parameters
        ----------
        memory : ndarray (..., n)
            Seconds of the accesses of each superstep.
        factors : mapping of str to ndarray (..., 1), optional
            Factors of prices, by name. The seconds of each superstep stay the same, so only their split changes.
        """
        weights = self._weights(memory)
        found = {
            term: weight * seconds * (factors or {}).get(term, 1.0)
            for end, weight in zip((self.good, self.bad), weights, strict=True)
            for term, seconds in _by_term(end).items()
        }
        whole = np.sum([*found.values()], axis=0)
        kept = np.divide(memory, whole, out=np.zeros_like(memory), where=whole > 0.0)
        return {term: np.asarray((seconds * kept).sum(axis=-1)) for term, seconds in found.items()}

    def _ends(self) -> tuple[FloatArray, FloatArray]:
        good, bad = self.good.seconds(), self.bad.seconds()
        return good, np.maximum(good, bad)

    def _weights(self, memory: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the multiples of the good and of the bad end whose sum is the seconds of each superstep's accesses."""
        good, bad = self._ends()
        width = np.where(bad > good, bad - good, 1.0)
        loc = np.where(bad > good, np.clip((bad - memory) / width, 0.0, 1.0), 1.0)
        mixed = loc * good + (1.0 - loc) * bad
        factor = np.divide(memory, mixed, out=np.zeros_like(memory), where=mixed > 0.0)
        return loc * factor, (1.0 - loc) * factor


def share(part: float, of: float, drawn: FloatArray) -> Share:
    """Return the share of a part in the whole ``of``, with its 95% interval from values drawn for the share."""
    low, high = np.percentile(drawn, PERCENTILES)
    value = part / of
    return Share(value, min(float(low), value), max(float(high), value))


def _by_term(model: Factored) -> dict[str, FloatArray]:
    """Return the seconds of each superstep that go to each price; 0 if the charge is cut at zero."""
    found: dict[str, FloatArray] = {}
    for charge in model.charges:
        each = charge.amounts * charge.prices
        each[each.sum(axis=1) < 0.0] = 0.0
        for term, seconds in zip(charge.terms, each.T, strict=True):
            found[term] = found.get(term, 0.0) + seconds
    return found
