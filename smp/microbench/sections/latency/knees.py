"""Levels of a memory hierarchy, found in a curve of latency by array size.

    log ns                   ________  memory
                      ______/
              _______/   :             a level is a run of sizes with about one latency;
       ______/ :         :             its knee is where the curve is half-way up to the next, on a log scale
            knee        knee
       ------------------------- log bytes

The curve is cut into runs so that the sum of the absolute deviations of log ns from the median of each run is
smallest.  Each size is weighted by the octaves that it stands for.  A further level is accepted only if it reduces
this sum by more than `GAIN`, which is what one octave of sizes adds if they are off by a factor of two, and if its
latency is at least `RISE` times that of the level before.  Medians and absolute values keep the influence of single bad
points small.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RISE = 1.4
"""Smallest ratio of one level's latency to that of the level before."""
FEWEST = 2
"""Smallest number of sizes in a level."""
GAIN = math.log(2)
"""Reduction of the deviations that one more level must exceed, in octaves times ln ns."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """One level of the memory hierarchy.

    Parameters
    ----------
    ns : float
        Median latency of its sizes.
    knee_bytes : float or None
        Array size at which the curve leaves the level, between two measured sizes; None for the last level.
    smallest_bytes, largest_bytes : float
        Smallest and largest array size that belong to the level.
    """

    ns: float
    knee_bytes: float | None
    smallest_bytes: float
    largest_bytes: float


def find_levels(sizes: ArrayLike, ns: ArrayLike, most: int) -> list[Level]:
    """Find the levels of a latency curve.

    Parameters
    ----------
    sizes : array_like, shape (n,)
        Array sizes in bytes, ascending.
    ns : array_like, shape (n,)
        Latency at each size.
    most : int
        Largest number of levels, one more than there are caches.

    Returns
    -------
    list of Level
        Levels from the fastest to the slowest; at least one unless there are no sizes.

    Notes
    -----
    Dynamic programming over n^2 / 2 runs, which takes about 10 ms for 50 sizes.

    Examples
    --------
    >>> levels = find_levels([1, 2, 4, 8, 16, 32], [1, 1, 1, 9, 9, 9], most=3)
    >>> [round(level.ns, 2) for level in levels], round(levels[0].knee_bytes, 2)
    ([1.0, 9.0], 5.66)
    """
    x, y = np.log2(np.asarray(sizes, np.float64)), np.log(np.asarray(ns, np.float64))
    if x.size == 0:
        return []
    cost = _costs(y, _octaves(x))
    chosen, least = [0, x.size], float(cost[0, x.size])
    for count, ends in enumerate(_best_cuts(cost, most), 1):
        deviation = sum(cost[i, j] for i, j in itertools.pairwise(ends)) + GAIN * (count - 1)
        medians = [np.median(y[i:j]) for i, j in itertools.pairwise(ends)]
        if deviation < least and all(b - a >= math.log(RISE) for a, b in itertools.pairwise(medians)):
            chosen, least = ends, deviation
    medians = [float(np.median(y[i:j])) for i, j in itertools.pairwise(chosen)]
    knees = [
        _crossing(x[cut - 1 : cut + 1], y[cut - 1 : cut + 1], (low + high) / 2)
        for cut, low, high in zip(chosen[1:-1], medians, medians[1:], strict=False)
    ]
    return [
        Level(math.exp(median), knee, float(2.0 ** x[i]), float(2.0 ** x[j - 1]))
        for median, knee, (i, j) in zip(medians, [*knees, None], itertools.pairwise(chosen), strict=True)
    ]


def match(knees: Sequence[float], caches: Sequence[float]) -> list[int]:
    """Assign each knee to a cache, in order, with the smallest total distance on a log scale.

    Parameters
    ----------
    knees, caches : sequence of float
        Bytes, ascending; no more knees than caches.

    Returns
    -------
    list of int
        Index of the cache of each knee.

    Examples
    --------
    >>> match([40e3, 6e6], [32e3, 1e6, 8e6])
    [0, 2]
    """

    choices = list(itertools.combinations(range(len(caches)), len(knees)))
    logs = np.log(np.asarray(caches, np.float64))[np.array(choices, np.intp)]
    distances = np.abs(np.log(np.asarray(knees, np.float64)) - logs).sum(axis=1)
    return list(choices[int(np.argmin(distances))])


def _octaves(x: Floats) -> Floats:
    """Return the octaves that each size stands for: half the distance between its neighbours.

    The first and the last size stand for the distance to their only neighbour.
    """
    if x.size < 2:
        return np.ones(x.size)
    return np.asarray(np.gradient(x), np.float64)


def _costs(y: Floats, weights: Floats) -> Floats:
    """Return ``cost[i, j]``, the weighted absolute deviation of y[i:j] from its median; infinite for too few sizes."""
    cost = np.full((y.size + 1, y.size + 1), np.inf)
    for i in range(y.size):
        for j in range(i + FEWEST, y.size + 1):
            cost[i, j] = (weights[i:j] * np.abs(y[i:j] - np.median(y[i:j]))).sum()
    if y.size < FEWEST:
        cost[0, y.size] = 0.0
    return cost


def _best_cuts(cost: Floats, most: int) -> list[list[int]]:
    """Return the ends [0, ..., n] of the cheapest cut into 1, 2, ... runs, up to ``most``.

    Numbers of runs for which a run would be too short are left out.
    """
    n = cost.shape[0] - 1
    least, cuts = cost[0].copy(), [[[0, j] for j in range(n + 1)]]
    found = [cuts[0][n]]
    for _ in range(1, most):
        total = least[:, None] + cost
        before = np.argmin(total, axis=0)
        least = total[before, np.arange(n + 1)]
        cuts.append([[*cuts[-1][before[j]], j] for j in range(n + 1)])
        if np.isfinite(least[n]):
            found.append(cuts[-1][n])
    return found


def _crossing(x: Floats, y: Floats, half: float) -> float:
    """Return the bytes at which the line between two sizes crosses a latency, or the nearer size if it does not.

    If the line does not rise, this is the middle of the two sizes on a log scale.
    """
    rise = y[1] - y[0]
    share = 0.5 if rise <= 0 else float(np.clip((half - y[0]) / rise, 0, 1))
    return float(2.0 ** (x[0] + share * (x[1] - x[0])))
