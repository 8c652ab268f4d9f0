"""Noise of effects without replications: Lenth's pseudo standard error.

Most effects are zero, so their estimates are noise, normally distributed about zero. The median size of the estimates
gives their standard deviation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit  # the t quantile; scipy.stats would take half a second to import


class Lenth(NamedTuple):
    """Noise of m effects, estimated from these effects alone."""

    error: float
    """Pseudo standard error of an effect."""
    freedom: float
    """Degrees of freedom, m / 3 by Lenth's approximation."""
    margin: float
    """Margin of error of 95% for one effect."""
    simultaneous: float
    """Simultaneous margin of error of 95% for all m effects together."""


def lenth(effects: ArrayLike) -> Lenth:
    """Estimate the noise of effects that were not replicated.

    Parameters
    ----------
    effects : array_like (m,)
        All contrasts of the design, at least three.

    Raises
    ------
    ValueError
        If there are fewer than three.

    Notes
    -----
    Source: R. V. Lenth, Quick and easy analysis of unreplicated factorials, Technometrics 31 (1989). Of 15 effects
    that are all noise, 3% exceed the margin, not 5%. The error is too large if more than a third of the effects are
    real.

    Examples
    --------
    >>> round(lenth([0.1, -0.2, 0.3, 10.0, -0.1, 0.2, 0.1]).error, 3)
    0.225
    """
    sizes = np.abs(np.asarray(effects, np.float64))
    m = sizes.size
    if m < 3:
        raise ValueError(
            f"{m} effects are too few to estimate their noise: replicate the trials, or take a larger design"
        )
    first = 1.5 * np.median(sizes)
    small = sizes[sizes < 2.5 * first]
    error = 1.5 * float(np.median(small)) if small.size else 0.0  # empty if more than half are exactly zero
    both = (1 + 0.95 ** (1 / m)) / 2
    return Lenth(error, m / 3, float(stdtrit(m / 3, 0.975)) * error, float(stdtrit(m / 3, both)) * error)
