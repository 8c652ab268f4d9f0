"""Cost functions of machines of several nodes, on which an access to another node has a price of its own.

    L + ghr h_r + ghw h_w + gM M            all accesses, as in the function HrHwM of `cost`
      + gfr f_r + gfw f_w + gMf M_f         in addition, the far ones: those to processors of other nodes
      + gms s                               messages for far accesses

f_r and f_w are the most far words that any processor reads and writes, M_f is the far reads plus the far writes of all
processors, and s is the most messages that any processor sends.  A far word thus costs ghr + gfr.  On a machine of one
node the far terms are zero, and the fit leaves them out.

A function is fitted for each of two families.  The supersteps of Good copy consecutive words of one processor at a
time, and are charged by the bytes.  Those of Bad copy single words, which all processors take from the same cache lines
in the same random order, and are charged by the accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import FitError

from .._types import FloatArray
from ..fit.linear import Fit, fit

NAME = "HrHwM-far"
WORD_BYTES = 8
FAR = ("gfr", "gfw", "gMf", "gms")
TERMS = ("L", "ghr", "ghw", "gM", *FAR)


def amounts(family: str, supersteps: NDArray[np.void]) -> dict[str, FloatArray]:
    """Return the amount of each term in n supersteps.

    Parameters
    ----------
    family : {"good", "bad"}
    supersteps : structured array
        Supersteps as in `Run.summary`.

    Returns
    -------
    dict of str to ndarray (n,) float64
        Amounts by the names of `TERMS`: words of 8 bytes for Good, and accesses for Bad.

    Raises
    ------
    FitError
        An unknown family.
    """
    if family not in ("good", "bad"):
        raise FitError(f"there is no access family {family!r} on several nodes: choose good or bad")
    rows = supersteps
    if family == "good":
        near = [rows[name] / WORD_BYTES for name in ("hr_bytes", "hw_bytes", "m_bytes")]
        each = rows["m_bytes"] / np.maximum(rows["m"], 1) / WORD_BYTES  # words of an element
    else:
        near, each = [rows[name] for name in ("hr", "hw", "m")], np.ones(len(rows))
    far = [rows[name] * each for name in ("far_reads", "far_writes", "m_far")]
    columns = [np.ones(len(rows)), *near, *far, rows["messages"]]
    return dict(zip(TERMS, (np.asarray(column, np.float64) for column in columns), strict=True))


def fit_far(family: str, supersteps: NDArray[np.void], seconds: FloatArray) -> Fit:
    """Fit the function to measured supersteps; terms that none of them has are left out.

    Parameters
    ----------
    family : {"good", "bad"}
    supersteps : structured array of n supersteps
    seconds : ndarray (n,) float64
        Seconds of copy-in and copy-out together.

    Raises
    ------
    FitError
        If there are fewer supersteps than terms, or a time that is not above zero.
    """
    columns = {term: amount for term, amount in amounts(family, supersteps).items() if amount.any()}
    return fit(np.column_stack([*columns.values()]), seconds, [*columns], [True] * len(columns), reweighted=True)


def predict_far(function: Mapping[str, Any], supersteps: NDArray[np.void]) -> FloatArray:
    """Return the seconds that a fitted function charges for n supersteps.

    Parameters
    ----------
    function : mapping
        Its ``family``, ``terms`` and ``coefficients``.
    supersteps : structured array
    """
    return np.asarray(sum(charges(function, supersteps).values()), np.float64)


def charges(function: Mapping[str, Any], supersteps: NDArray[np.void]) -> dict[str, FloatArray]:
    """Return the seconds of each term in n supersteps; parameters as for `predict_far`."""
    found = amounts(function["family"], supersteps)
    prices = zip(function["terms"], function["coefficients"], strict=True)
    return {term: found[term] * price for term, price in prices}
