"""Whether two machines are told apart by their figures, given how well each figure is known.

    log ratio of each figure  ─┐
    errors within each run     ├─>  t statistics  ─>  probabilities  ─>  told apart, at most 5% of them wrongly
    errors from run to run    ─┘

Errors within a run come from few visits, so each is averaged with the usual one of its kind.  What changes from run
to run (memory that lies elsewhere, neighbours on the host) is not in them.  Two profiles of one computer show it: their
figures scatter by more than the errors within the runs say.  Their median is taken away first, so that a computer that
has become slower as a whole is seen as such.  Which rows are told apart follows from all of them together: of the rows
that are told apart at most 5% are expected to be the same in truth, however many rows there are.

Sources: Smyth, Linear models and empirical Bayes methods (averaged errors); Benjamini and Hochberg, Controlling the
false discovery rate; Benjamini and Yekutieli, False discovery rate-adjusted multiple confidence intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

WRONG = 0.05
"""Share of the rows told apart that may be the same in truth."""
USUAL = 4.0
"""Degrees of freedom that the usual error of a kind counts for."""
RUN_TO_RUN = 0.01
"""Least error of a ratio that two runs on one machine have, however steady each of them was."""
ENOUGH = 5
"""Figures of a kind from which on they show how runs differ."""
ALIKE, NORMAL = 0.75, 1.15
"""Share of a kind's figures that are taken to have changed alike, if at all; the standard deviations within which that
share of normal values lies."""
MOST = 6.0
"""Degrees of freedom at most: how runs differ has outliers."""

Floats = NDArray[np.float64]


class Apart(NamedTuple):
    """What n ratios say.

    Attributes
    ----------
    low, high : ndarray (n,)
        Interval of each logarithm.  It leaves out 0 exactly where the two are told apart.
    told : ndarray (n,) bool
    """

    low: Floats
    high: Floats
    told: NDArray[np.bool_]


def apart(ratios: Floats, errors: Floats, freedoms: Floats, kinds: NDArray[np.str_], *, same: bool) -> Apart:
    """Tell ratios from 1.

    Parameters
    ----------
    ratios : ndarray (n,)
        Natural logarithms.
    errors, freedoms : ndarray (n, 2)
        Standard errors of the logarithms of both figures, and their degrees of freedom.
    kinds : ndarray (n,) of str
        Figures of a kind have similar errors.
    same : bool
        Whether both were measured on one computer, so that what differs is mostly chance.
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
    """The squared errors of differences, and their degrees of freedom by Welch and Satterthwaite."""
    each = errors**2
    squares = each.sum(axis=1)
    with np.errstate(invalid="ignore"):
        freedom = squares**2 / (each**2 / freedoms).sum(axis=1)
    return squares, np.where(squares > 0.0, freedom, freedoms.sum(axis=1))


def _between(ratios: Floats, squares: Floats) -> float:
    """What ratios scatter by beyond their own errors, squared."""
    if len(ratios) < ENOUGH:
        return 0.0
    scatter = float(np.quantile(np.abs(ratios - np.median(ratios)), ALIKE)) / NORMAL
    return max(scatter**2 - float(np.median(squares)), 0.0)


def _level(chances: Floats) -> float:
    """The chance below which a ratio is told from 1: the largest at which few enough come there by themselves."""
    ascending, n = np.sort(chances), len(chances)
    lines = WRONG * np.arange(1, n + 1) / n
    below = np.flatnonzero(ascending < lines)
    return float(lines[below[-1]] if len(below) else lines[0])
