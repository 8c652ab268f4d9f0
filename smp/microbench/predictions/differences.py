"""Decide which figures differ between two machines, given the uncertainty of each figure.

    log ratio of each figure  ─┐
    errors within each run     ├─>  t statistics  ─>  probabilities  ─>  different, at most 5% of them wrongly
    errors from run to run    ─┘

Errors within a run come from few visits, so each is averaged with the usual error of its kind.  They do not include
changes from run to run, such as memory in another place, or neighbours on the host.  Two profiles of one computer show
these changes: their figures scatter by more than the errors within the runs.  The median is subtracted first, so that
a computer that has become slower as a whole is seen as such.  All rows together decide which of them are different.
However many rows there are, at most 5% of those called different are expected to be the same in truth.

Sources: Smyth, Linear models and empirical Bayes methods (averaged errors); Benjamini and Hochberg, Controlling the
false discovery rate; Benjamini and Yekutieli, False discovery rate-adjusted multiple confidence intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

WRONG = 0.05
"""Largest expected share of rows that are called different and are the same in truth."""
USUAL = 4.0
"""Degrees of freedom that the usual error of a kind counts for."""
RUN_TO_RUN = 0.01
"""Least error of a ratio between two runs, however steady each of them was."""
ENOUGH = 5
"""Least number of figures of a kind from which the scatter between runs is estimated."""
ALIKE, NORMAL = 0.75, 1.15
"""Share of a kind's figures that are assumed to have changed alike, if at all, and the number of standard deviations
within which that share of normal values lies."""
MOST = 6.0
"""Most degrees of freedom, because the differences between runs have outliers."""

Floats = NDArray[np.float64]


class Apart(NamedTuple):
    """Intervals of n ratios, and which of the ratios differ from 1.

    Attributes
    ----------
    low, high : ndarray (n,)
        Interval of each logarithm.  It excludes 0 exactly if the ratio differs from 1.
    told : ndarray (n,) bool
        True for each ratio that differs from 1.
    """

    low: Floats
    high: Floats
    told: NDArray[np.bool_]


def apart(ratios: Floats, errors: Floats, freedoms: Floats, kinds: NDArray[np.str_], *, same: bool) -> Apart:
    """Decide which ratios differ significantly from 1.

    Parameters
    ----------
    ratios : ndarray (n,)
        Natural logarithms of the ratios.
    errors, freedoms : ndarray (n, 2)
        Standard errors of the logarithms of both figures, and their degrees of freedom.
    kinds : ndarray (n,) of str
        Kind of each figure; figures of a kind have similar errors.
    same : bool
        True if both were measured on one computer, so that their differences are mostly chance.
    """
    if not len(ratios):
        return Apart(ratios, ratios, np.zeros(0, np.bool_))
    squares, freedom = _within(errors, freedoms)
    for kind in np.unique(kinds):
        mine = kinds == kind
        usual = float(np.median(squares[mine]))
        squares[mine] = (USUAL * usual + freedom[mine] * squares[mine]) / (USUAL + freedom[mine])
        between = _between(ratios[mine], squares[mine]) if same else 0.0
        squares[mine] += max(between, RUN_TO_RUN**2)
    freedom = np.minimum(freedom + USUAL, MOST)
    size = np.sqrt(squares)
    level = _level(2.0 * stdtr(freedom, -np.abs(ratios) / size))
    reach = stdtrit(freedom, 1.0 - level / 2.0) * size
    low, high = ratios - reach, ratios + reach
    return Apart(low, high, (low > 0.0) | (high < 0.0))


def _within(errors: Floats, freedoms: Floats) -> tuple[Floats, Floats]:
    """Return the squared errors of differences, and their degrees of freedom by Welch and Satterthwaite."""
    each = errors**2
    squares = each.sum(axis=1)
    with np.errstate(invalid="ignore"):
        freedom = squares**2 / (each**2 / freedoms).sum(axis=1)
    return squares, np.where(squares > 0.0, freedom, freedoms.sum(axis=1))


def _between(ratios: Floats, squares: Floats) -> float:
    """Return the squared scatter of ratios beyond their own errors."""
    if len(ratios) < ENOUGH:
        return 0.0
    scatter = float(np.quantile(np.abs(ratios - np.median(ratios)), ALIKE)) / NORMAL
    return max(scatter**2 - float(np.median(squares)), 0.0)


def _level(chances: Floats) -> float:
    """Return the probability below which a ratio counts as different: the largest at which few enough do by chance."""
    ascending, n = np.sort(chances), len(chances)
    lines = WRONG * np.arange(1, n + 1) / n
    below = np.flatnonzero(ascending < lines)
    return float(lines[below[-1]] if len(below) else lines[0])
