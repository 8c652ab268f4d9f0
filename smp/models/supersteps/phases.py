"""What a phase of a superstep takes at one size, by what it took at others.

measured over modelled, log
    |        o          at sizes that were measured: that ratio, as well as a run repeats
    |   o  ,' `  o      between them: on the line; how far the inner ones lie from the line
    | ,'                between their own neighbours says how far that may be off
    +----------------   beyond them: that of the nearest, and how much ratios change with the size
                 log n
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
    """How far ratios may be off.

    Attributes
    ----------
    error : float
        Standard error of the logarithm; infinite where the measured sizes do not say.
    freedom : float
        Degrees of freedom that it rests on; infinite where none is needed.
    """

    error: float
    freedom: float


@dataclass(frozen=True)
class Trend:
    """The ratios of one phase by size.

    Attributes
    ----------
    sizes : ndarray (k,)
        Logarithms, ascending.
    ratios : ndarray (k,)
        Logarithms of measured over modelled seconds.
    """

    sizes: FloatArray
    ratios: FloatArray

    def at(self, size: float) -> float:
        """Return the logarithm of the ratio at the logarithm of a size."""
        return float(np.interp(size, self.sizes, self.ratios))

    def misfits(self) -> list[float]:
        """Return how far each inner ratio lies from the line between its neighbours; of two, half their difference."""
        if len(self.sizes) == 2:
            return [float(np.diff(self.ratios)[0]) / 2]
        found = []
        for k in range(1, len(self.sizes) - 1):
            left, right = self.sizes[k - 1], self.sizes[k + 1]
            between = float(np.interp(self.sizes[k], [left, right], self.ratios[[k - 1, k + 1]]))
            found.append(float(self.ratios[k]) - between)
        return found

    def slopes(self) -> list[float]:
        """Return how much the ratio changes with the logarithm of the size, from each size to the next."""
        points = zip(self.sizes.tolist(), self.ratios.tolist(), strict=True)
        return [(high - low) / (right - left) for (left, low), (right, high) in pairwise(points)]


def doubt(trends: Sequence[Trend], size: float) -> Doubt:
    """Return how far the ratios of some phases may be off at a size, beyond the noise of a run.

    Parameters
    ----------
    trends : sequence of Trend
        Of phases that were measured at the same sizes, one or more.
    size : float
        Its logarithm.

    Returns
    -------
    Doubt
        None at a size that was measured; elsewhere one for all phases, which have few sizes each.
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
