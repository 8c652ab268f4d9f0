"""Points whose timings are all slow, which a fit should leave out.

    least of each point's timings  ->  fit of all terms  ->  log(measured / predicted)  ->  above 3 MAD: left out
                                        ^                                                     |
                                        +------------------ until nothing changes ------------+

Other programs, or the host of a virtual machine, slow a computer down for seconds at a time.  The least of several
timings is free of that unless all timings of a point lie within slow spells.  Such a point lies far above the fit of
the others, on the logarithmic scale, where a factor counts the same at 1 us and at 1 s.

Only points above the fit are left out, because a spell makes nothing faster: a point far below shows that a term is
missing.  The same can be true of points above.  So no more points are left out than slow spells explain: if one timing
in ten is slow, then three timings of a point are all slow at one point in a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._types import BoolArray, FloatArray
from .linear import fit

FAR = 3.0
"""Distance from the fit, in standard deviations by the MAD, above which a point is left out."""
NORMAL = 1.4826
"""Standard deviation of a normal distribution, divided by its MAD (median absolute deviation)."""
NEAR = 0.01
"""A point that is slower than the fit by less than this share is never left out."""
SPELL = 1.10
"""Ratio of a timing to the least one of its point above which it lies in a slow spell."""
MOST = 0.2
"""Largest share of the points that is left out; if more lie apart, then the terms are at fault."""
SURE = 3.0
"""Standard deviations above the expected number of points whose timings are all slow."""
_TRIES = 10


def explained(raw: Sequence[Sequence[float]]) -> int:
    """Return the largest number of points that may be left out because all their timings are slow.

    The share p of slow timings is counted where a point also has fast ones.  Then p ** k is the probability that all k
    timings of a point are slow.  Single timings show no share, so that only `MOST` bounds the number.

    Examples
    --------
    >>> explained([[1.0, 1.0, 1.0]] * 90), explained([[1.0, 1.5, 1.0]] * 90), explained([[1.0]] * 90)
    (0, 9, 18)
    """
    most = int(MOST * len(raw))
    if all(len(timings) == 1 for timings in raw):
        return most
    slow = sum(sum(seconds > SPELL * min(timings) for seconds in timings) for timings in raw)
    share = slow / sum(map(len, raw))
    expected = sum(share ** len(timings) for timings in raw)
    return min(most, int(expected + SURE * math.sqrt(expected) + 0.5))


def slow_points(
    columns: FloatArray, seconds: FloatArray, terms: Sequence[str], nonnegative: Sequence[bool], most: int
) -> tuple[BoolArray, FloatArray]:
    """Find the points that lie above the fit of the others by more than 3 MAD.

    Parameters
    ----------
    columns : ndarray (n, k)
        One column per term.
    seconds : ndarray (n,)
    terms : sequence of k str
    nonnegative : sequence of k bool
        Terms whose coefficients must not be negative.
    most : int
        Largest number of points that are left out: those that are farthest from the fit.

    Returns
    -------
    slow : ndarray (n,) bool
    ratios : ndarray (n,)
        Measured seconds, divided by those of the fit of the points that are not far off.

    Notes
    -----
    The MAD is scaled so that it is the standard deviation of normal noise: of normal residuals, 1 in 740 is above.
    """
    count = len(seconds)
    most = min(most, count - len(terms) - 1)
    far = np.zeros(count, dtype=bool)  # on both sides: a point far below would pull the fit down, and lift the others
    for _ in range(_TRIES):
        model = fit(columns[~far], seconds[~far], terms, nonnegative, logarithmic=True)
        off = np.log(seconds / np.maximum(model.predict(columns), seconds.min() / 2))
        off -= float(np.median(off[~far]))
        scale = NORMAL * float(np.median(np.abs(off[~far])))
        scale *= float(np.sqrt(model.count / max(1, model.freedom)))  # a fit comes near its own points
        found = np.abs(off) > max(FAR * scale, NEAR)
        if found.sum() > most:
            found = np.zeros_like(far)
            found[np.argsort(-np.abs(off), kind="stable")[: max(0, most)]] = True
        if (found == far).all():
            break
        far = found
    return far & (off > 0), np.exp(off)
