"""Hybrid models: a factored model as a term of a statistical one.

    time = alpha + beta * factored + gamma * work

A factored model leaves out effects that arise where its parts meet: loops, caches that one superstep leaves warm for
the next, local computation. The coefficients are fitted to measured runs. Alpha and beta are those of the thesis.
Gamma is the seconds of local computation for each unit of work, which the kernel counts. Without gamma, beta would have
to cover accesses and computation together, and their ratio changes with n and p. For another machine the same
coefficients are used.

Source: Brewer, Portable High-Performance Supercomputing, section 8.1.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smp.errors import FitError

from .._types import FloatArray
from ..fit.linear import fit
from .factored import Charge, Factored

TERMS = ("alpha", "beta", "gamma")


@dataclass(frozen=True)
class Hybrid:
    """A calibrated hybrid model.

    Attributes
    ----------
    alpha : float
        Seconds that any run takes beyond its charges.
    beta : float
        Seconds for each second of the factored model.
    gamma : float
        Seconds for each unit of local work; 0 if no work was given.
    low, high : tuple of 3 floats
        95% intervals of alpha, beta and gamma; None stands for an infinite bound.
    unidentified : tuple of str
        Coefficients that the runs cannot separate.
    count : int
        Number of runs that it was calibrated with.
    mre : float
        Mean relative error of these runs: geometric mean of 1 + absolute relative error, less 1.
    """

    alpha: float
    beta: float
    gamma: float
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    unidentified: tuple[str, ...]
    count: int
    mre: float

    def predict(self, factored: ArrayLike, work: ArrayLike = 0.0) -> FloatArray:
        """Return the predicted seconds of n runs.

        Parameters
        ----------
        factored : array_like (n,)
            Seconds of each run by the factored model.
        work : array_like (n,)
            Units of local work of each run; without effect if gamma is 0.

        Returns
        -------
        ndarray (n,) float64
        """
        return np.asarray(
            self.alpha + self.beta * np.asarray(factored, np.float64) + self.gamma * np.asarray(work, np.float64)
        )

    def of(self, factored: Factored, work: float = 0.0) -> Factored:
        """Return the hybrid as a factored model: charges times beta, and the prices "alpha" and "local work".

        Its total is the time that `predict` returns; alpha and the work are shared evenly among the supersteps.
        """
        n = len(factored.seconds())
        rest = [("alpha", self.alpha, 1.0), ("local work", self.gamma, work)]
        charges = [Charge.flat(name, price, np.full(n, amount / n)) for name, price, amount in rest]
        return factored.scaled(self.beta) + Factored(charges)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; `from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hybrid:
        """Read the JSON that `to_json` returned, also after it has been stored in a file.

        Raises
        ------
        FitError
            An attribute is missing, or not known.
        """
        lists = {name: tuple(data[name]) for name in ("low", "high", "unidentified") if name in data}
        try:
            return cls(**{**data, **lists})
        except TypeError as error:
            expected = ", ".join(cls.__dataclass_fields__)
            raise FitError(f"this is not a hybrid model, which has {expected}: {error}") from None


def calibrate(factored: ArrayLike, seconds: ArrayLike, work: ArrayLike | None = None) -> Hybrid:
    """Fit a hybrid model to measured runs, on the relative error; no coefficient falls below zero.

    Parameters
    ----------
    factored : array_like (n,)
        Seconds of each run by the factored model.
    seconds : array_like (n,)
        Measured seconds of each run, above zero.
    work : array_like (n,), optional
        Units of local work of each run; by default there is no gamma.

    Raises
    ------
    FitError
        Fewer runs than coefficients, or values that cannot be fitted.

    Examples
    --------
    >>> model = calibrate([1.0, 2.0, 4.0], [2.5, 4.0, 7.0])
    >>> print(f"{model.alpha:.3g} + {model.beta:.3g} * factored")
    1 + 1.5 * factored
    """
    charged = np.asarray(factored, np.float64)
    columns = [np.ones_like(charged), charged, *([] if work is None else [np.asarray(work, np.float64)])]
    terms = TERMS[: len(columns)]
    made = fit(np.column_stack(columns), seconds, terms, [True] * len(terms))

    def padded(values: FloatArray) -> list[float]:
        return [*values.tolist(), *[0.0] * (len(TERMS) - len(terms))]

    def bounds(values: FloatArray) -> tuple[float | None, ...]:
        return tuple(value if np.isfinite(value) else None for value in padded(values))

    alpha, beta, gamma = padded(made.coefficients)
    low, high = bounds(made.low), bounds(made.high)
    return Hybrid(alpha, beta, gamma, low, high, made.unidentified, made.count, made.mre)
