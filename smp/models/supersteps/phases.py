"""Correction of a phase's modelled time at one size by its measured times at other sizes.

measured over modelled, log
    |        o          at a measured size: the measured ratio, exact up to the noise of runs
    |   o  ,' `  o      between measured sizes: on the line. It may be off by as much as the
    | ,'                inner ratios lie off the line between their own neighbours
    +----------------   beyond them: the ratio at the nearest size. It may be off by more,
                 log n  because the ratios change with the size
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot, inf
from typing import NamedTuple

import numpy as np

from .._types import FloatArray


class Doubt(NamedTuple):
    """Uncertainty of predicted ratios.

    Attributes
    ----------
    error : float
        Standard error of the logarithm; infinite if there are too few measured sizes to estimate it.
    freedom : float
        Degrees of freedom of the estimate; infinite at a measured size, where nothing is estimated.
    """

    error: float
    freedom: float


@dataclass(frozen=True)
class Trend:
    """Ratios of measured to modelled seconds of one phase, by size.

    Attributes
    ----------
    sizes : ndarray (k,)
        Logarithms of the measured sizes, ascending.
    ratios : ndarray (k,)
        Logarithms of measured over modelled seconds.
    """

    sizes: FloatArray
    ratios: FloatArray

    def at(self, size: float) -> float:
        """Return the logarithm of the ratio at a size, given the logarithm of the size."""
        return float(np.interp(size, self.sizes, self.ratios))

    def misfits(self) -> list[float]:
        """Return the distance of each inner ratio from the line between its neighbours.

        If there are only two ratios, return half their difference.
        """
        if len(self.sizes) == 2:
            return [float(np.diff(self.ratios)[0]) / 2]
        found = []
        for k in range(1, len(self.sizes) - 1):
            left, right = self.sizes[k - 1], self.sizes[k + 1]
            between = float(np.interp(self.sizes[k], [left, right], self.ratios[[k - 1, k + 1]]))
            found.append(float(self.ratios[k]) - between)
        return found

    def slopes(self) -> list[float]:
        """Return the slope of the ratio over the logarithm of the size, from each size to the next."""
        points = zip(self.sizes.tolist(), self.ratios.tolist(), strict=True)
        return [(high - low) / (right - left) for (left, low), (right, high) in pairwise(points)]


def doubt(trends: Sequence[Trend], size: float) -> Doubt:
    """Return how far the ratios of some phases may be off at a size, beyond the noise of a run.

    Parameters
    ----------
    trends : sequence of Trend
        Trends of one or more phases that were measured at the same sizes.
    size : float
        Logarithm of the size.

    Returns
    -------
    Doubt
        An error of zero at a measured size. At other sizes one doubt for all phases together, because each phase has
        few sizes.
    """
    sizes = trends[0].sizes
    if np.isclose(sizes, size).any():
        return Doubt(0.0, inf)
    misfits = [each for trend in trends for each in trend.misfits()]
    if not misfits:
        return Doubt(inf, 1)
    error = float(np.sqrt(np.mean(np.square(misfits))))
    away = max(float(sizes[0]) - size, size - float(sizes[-1]), 0.0)
    slope = float(np.sqrt(np.mean(np.square([each for trend in trends for each in trend.slopes()]))))
    return Doubt(hypot(error, away * slope), len(misfits))
