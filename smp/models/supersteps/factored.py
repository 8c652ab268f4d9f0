"""Factored models: a program's time as a sum of amounts from the program times prices of the machine that runs it.

    amounts (from the program)      words of tier 1    words of tier 2    barriers
    prices (from the machine)     x           ghr1               ghr2      barrier
                                  ────────────────────────────────────────────────
                                  =  seconds of each superstep, and in total

A `Charge` is one submodel: a cost function (see `cost`), the time that the runtime adds, or local computation. A
`Factored` is the sum of such charges. This module fits nothing: once the machine has been measured, every program whose
accesses are known has a model. Because the prices enter linearly, the derivatives of the time are the amounts
themselves, exactly, wherever no charge is cut at zero.

Source: Brewer, Portable High-Performance Supercomputing, sections 5.2.1 and 8.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from smp.errors import FitError

from .._types import FloatArray
from .cost import Others, levels_of, matrix_of

Change = Mapping[str, float]
"""Factors of prices, by name; a name with ``*``, ``?`` or ``[...]`` stands for all names that it matches."""


class Derivative(NamedTuple):
    """Derivative of a program's time with respect to one price.

    Attributes
    ----------
    term : str
        Name of the price.
    price : float
        Seconds for one unit of the term. If submodels that share the name have different prices (say, cost functions
        for two numbers of processors), this is their average.
    amount : float
        Number of units that the program is charged: d time / d price.
    share : float
        Share of the time, ``price * amount / time``: d log time / d log price, the elasticity.
    """

    term: str
    price: float
    amount: float
    share: float


@dataclass(frozen=True, eq=False)
class Charge:
    """One submodel: prices times the amounts of each superstep, never below zero.

    Attributes
    ----------
    terms : tuple of k str
    prices : ndarray (k,) float64
        Seconds for one unit of each term.
    amounts : ndarray (n, k) float64
        Number of units of each term in each superstep.
    """

    terms: tuple[str, ...]
    prices: FloatArray
    amounts: FloatArray

    @classmethod
    def flat(cls, term: str, price: float, amounts: ArrayLike) -> Charge:
        """Return a charge of a single term: its price, and its amount in each of n supersteps."""
        return cls((term,), np.array([price], np.float64), np.asarray(amounts, np.float64).reshape(-1, 1))

    @classmethod
    def accesses(
        cls,
        function: Mapping[str, Any],
        hr: ArrayLike,
        hw: ArrayLike,
        m: ArrayLike,
        tiers: Sequence[float] = (),
        others: Others | None = None,
        *,
        weights: ArrayLike = 1.0,
        prefix: str = "",
    ) -> Charge:
        """Return the charge of a fitted cost function for the accesses of n supersteps.

        Parameters
        ----------
        function, hr, hw, m, tiers, others
            As for `smp.models.supersteps.cost.predict`.
        weights : array_like, scalar or (n,)
            Share of this function in each superstep's charge, zero or more.
        prefix : str
            Text to put before the names of its terms.
        """
        matrix = matrix_of(function["terms"], hr, hw, m, levels_of(function, tiers), others)
        share = np.broadcast_to(np.asarray(weights, np.float64), len(matrix))
        names = tuple(prefix + term for term in function["terms"])
        return cls(names, np.asarray(function["coefficients"], np.float64), matrix * share[:, None])

    def seconds(self, factors: FloatArray | float = 1.0) -> FloatArray:
        """Return the seconds of each superstep, with the prices multiplied by the factors."""
        return np.maximum(self.amounts @ (self.prices * factors), 0.0)

    def scaled(self, factor: ArrayLike) -> Charge:
        """Return the charge for the amounts times a factor; one factor for all supersteps, or one for each."""
        return Charge(self.terms, self.prices, self.amounts * np.reshape(np.asarray(factor, np.float64), (-1, 1)))


class Factored:
    """A program's time as a sum of charges.

    Parameters
    ----------
    charges : iterable of Charge
        Charges for the same n supersteps.

    Raises
    ------
    FitError
        No charges, or charges for different numbers of supersteps.

    Examples
    --------
    >>> words = {"terms": ["L", "gh"], "coefficients": [2e-6, 1e-9]}
    >>> accesses = Charge.accesses(words, [1000, 4000], [0, 0], [2000, 8000])
    >>> model = Factored([accesses, Charge.flat("barrier", 1e-6, [3, 3])])
    >>> print(f"{model.total():.3g}")
    1.5e-05
    >>> print(f"{model.impact({'barrier': 0.5}):.3g}")
    0.8
    >>> [(each.term, round(each.share, 3)) for each in model.derivatives()]
    [('barrier', 0.4), ('gh', 0.333), ('L', 0.267)]
    """

    def __init__(self, charges: Iterable[Charge]) -> None:
        self.charges = tuple(charges)
        lengths = sorted({len(charge.amounts) for charge in self.charges})
        if len(lengths) != 1:
            raise FitError(
                f"a factored model needs charges for the same number of supersteps; these are for {lengths or 'none'}"
            )

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the prices, each once."""
        return tuple(dict.fromkeys(term for charge in self.charges for term in charge.terms))

    def seconds(self, change: Change | None = None) -> FloatArray:
        """Return the seconds of each superstep.

        Parameters
        ----------
        change : mapping of str to float, optional
            Factors of prices: ``{"barrier": 0.5, "gh*": 2}`` is a barrier that takes half as long, and
            accesses that take twice as long. If several names match a term, its price is multiplied by all factors.

        Returns
        -------
        ndarray (n,) float64

        Raises
        ------
        FitError
            A name that matches no term; a factor that is negative or not finite.
        """
        factors = self._factors(change or {})
        return np.asarray(sum(charge.seconds(np.array([factors[t] for t in charge.terms])) for charge in self.charges))

    def total(self, change: Change | None = None) -> float:
        """Return the seconds of all supersteps; see `seconds`."""
        return float(self.seconds(change).sum())

    def impact(self, change: Change) -> float:
        """Return the time after a change divided by the time before: 0.96 is 4% less; see `seconds`.

        Raises
        ------
        FitError
            As `seconds` raises it; also if the time before the change is zero.
        """
        before = self.total()
        if not before > 0.0:
            raise FitError(
                "by this model the program takes no time, so the effect of a change cannot be expressed as a factor"
            )
        return self.total(change) / before

    def derivatives(self) -> list[Derivative]:
        """Return the derivative of the time with respect to each price, the largest share first.

        Returns
        -------
        list of Derivative
            Exact derivatives. The shares sum to 1 if the model takes any time. A charge that is cut at zero in a
            superstep is not counted there, because a small change of its prices changes nothing.
        """
        found: dict[str, list[tuple[float, float]]] = {term: [] for term in self.terms}
        for charge in self.charges:
            active = charge.amounts[charge.amounts @ charge.prices >= 0.0].sum(axis=0)
            for term, price, amount in zip(charge.terms, charge.prices, active, strict=True):
                found[term].append((float(price), float(amount)))
        total = self.total()
        rows = []
        for term, each in found.items():
            prices, amounts = np.array(each).T
            amount, seconds = float(amounts.sum()), float(prices @ amounts)
            price = seconds / amount if amount else float(prices.mean())
            rows.append(Derivative(term, price, amount, seconds / total if total else 0.0))
        return sorted(rows, key=lambda row: -abs(row.share))

    def scaled(self, factor: ArrayLike) -> Factored:
        """Return the model of the time multiplied by a factor; one factor for all supersteps, or one for each."""
        return Factored(charge.scaled(factor) for charge in self.charges)

    def __add__(self, other: Factored) -> Factored:
        """Return the model of both together, superstep by superstep."""
        return Factored((*self.charges, *other.charges))

    def _factors(self, change: Change) -> dict[str, float]:
        factors = dict.fromkeys(self.terms, 1.0)
        for name, factor in change.items():
            matched = [term for term in factors if fnmatchcase(term, name)]
            if not matched:
                raise FitError(f"there is no price {name!r}; the prices are {', '.join(factors)}")
            if not 0.0 <= factor < inf:
                raise FitError(
                    f"the factor of {name!r} must be zero or more, such as 0.5 for half the price, not {factor}"
                )
            for term in matched:
                factors[term] *= factor
        return factors


def between(good: Factored, bad: Factored, loc: ArrayLike) -> Factored:
    """Return the model between good and bad at a degree of locality: ``loc`` times good plus ``1 - loc`` times bad.

    Parameters
    ----------
    good, bad : Factored
        Models of the same supersteps.
    loc : array_like, scalar or (n,)
        Degree of locality, from 0 to 1 (`smp.models.supersteps.locality.loc`), of all supersteps or of each.

    Raises
    ------
    FitError
        A ``loc`` outside 0 to 1: beyond its ends the interval says nothing.
    """
    share = np.asarray(loc, np.float64)
    if not ((share >= 0.0) & (share <= 1.0)).all():
        raise FitError(f"loc must be from 0 (bad) to 1 (good), not {share}")
    return good.scaled(share) + bad.scaled(1.0 - share)
