"""Loc and M/G: the place of a measured time between its good and its bad prediction (SMP paper, section 5.2).

good t_g             measured t_m                           bad t_b
  |----------------------o--------------------------------------|
 Loc 1                                                        Loc 0
 M/G 1                 M/G = t_m / t_g

Loc is the degree of locality, and M/G is measured over good. All three times are of communication alone, copy-in and
copy-out: the models predict nothing else.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import BoolArray, FloatArray

# Below this M a superstep is mostly barrier and noise: its Loc and M/G would say nothing.
SMALL = 10_000
# The largest average error of the paper's best functions: a time closer than this to an end counts as at that end.
TOLERANCE = 0.07
# Loc alone is near 1 for any sensible program, because the bad end is far away; so "as good" depends on M/G too.
AS_GOOD = 1.25
NEAR_GOOD, NEAR_BAD = 0.75, 0.25


class Place(NamedTuple):
    """Places of n measured times in their intervals.

    Attributes
    ----------
    loc, m_over_g : ndarray (n,) float64
        As the functions of these names return them, but NaN where M < 10^4.
    inside : ndarray (n,) bool
    verdict : ndarray (n,) str
    """

    loc: FloatArray
    m_over_g: FloatArray
    inside: BoolArray
    verdict: NDArray[np.str_]


def place(t_m: ArrayLike, t_g: ArrayLike, t_b: ArrayLike, m: ArrayLike) -> Place:
    """Return Loc, M/G, True if the interval holds the measured time, and a verdict; parameters as for `verdict`.

    Loc and M/G are NaN if M < 10^4: such a superstep takes little more than its barriers, so both would be noise.

    Examples
    --------
    >>> place([3e-3, 3e-6], [1e-3, 1e-6], [5e-3, 5e-6], [20_000, 20]).loc.tolist()
    [0.5, nan]
    """
    small = np.asarray(m) < SMALL
    return Place(
        np.where(small, np.nan, loc(t_m, t_g, t_b)),
        np.where(small, np.nan, m_over_g(t_m, t_g)),
        inside(t_m, t_g, t_b),
        verdict(t_m, t_g, t_b, m),
    )


def loc(t_m: ArrayLike, t_g: ArrayLike, t_b: ArrayLike) -> FloatArray:
    """Return the degree of locality, ``1 - (t_m - t_g) / (t_b - t_g)``.

    Parameters
    ----------
    t_m, t_g, t_b : array_like (n,)
        Measured, good and bad seconds.

    Returns
    -------
    ndarray (n,) float64
        1 at the good prediction, 0 at the bad; above 1 or below 0 outside the interval; NaN if good is not below bad.

    Examples
    --------
    >>> loc([1.0, 3.0, 5.0], 1.0, 5.0).tolist()
    [1.0, 0.5, 0.0]
    """
    measured, good, bad = (np.asarray(t, dtype=np.float64) for t in (t_m, t_g, t_b))
    width = np.where(bad > good, bad - good, np.nan)
    return np.asarray(1.0 - (measured - good) / width)


def m_over_g(t_m: ArrayLike, t_g: ArrayLike) -> FloatArray:
    """Return measured over good, t_m / t_g; infinite if good is zero, or NaN for 0 / 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.asarray(t_m, dtype=np.float64) / np.asarray(t_g, dtype=np.float64))


def inside(t_m: ArrayLike, t_g: ArrayLike, t_b: ArrayLike) -> BoolArray:
    """Return True if ``t_g <= t_m <= t_b``, with no tolerance."""
    measured = np.asarray(t_m, dtype=np.float64)
    return np.asarray((measured >= np.asarray(t_g)) & (measured <= np.asarray(t_b)))


def verdict(t_m: ArrayLike, t_g: ArrayLike, t_b: ArrayLike, m: ArrayLike) -> NDArray[np.str_]:
    """Describe in words where a measured time lies.

    Parameters
    ----------
    t_m, t_g, t_b : array_like (n,)
        Measured, good and bad seconds.
    m : array_like (n,)
        Reads plus writes of all processors, in elements.

    Returns
    -------
    ndarray (n,) str
        The first of these that holds

        =======================  =======================================
        not counted              t_g or t_b is NaN: no prediction, because the counts do not hold all accesses
        too small to tell        M < 10^4
        good and bad are alike   t_b <= t_g
        faster than good         t_m < t_g by more than 7%
        beyond bad               t_m > t_b by more than 7%
        as good as it gets       M/G <= 1.25 and Loc >= 0.75
        near the good end        Loc >= 0.75
        half way                 Loc >= 0.25
        near the bad end         any other
        =======================  =======================================
    """
    measured, good, bad, count = (np.asarray(a, dtype=np.float64) for a in (t_m, t_g, t_b, m))
    where = loc(measured, good, bad)
    return np.select(
        [
            np.isnan(good) | np.isnan(bad),
            count < SMALL,
            ~(bad > good),
            measured < good * (1.0 - TOLERANCE),
            measured > bad * (1.0 + TOLERANCE),
            (measured <= good * AS_GOOD) & (where >= NEAR_GOOD),
            where >= NEAR_GOOD,
            where >= NEAR_BAD,
        ],
        [
            "not counted",
            "too small to tell",
            "good and bad are alike",
            "faster than good",
            "beyond bad",
            "as good as it gets",
            "near the good end",
            "half way",
        ],
        "near the bad end",
    )
