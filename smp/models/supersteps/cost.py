"""The cost functions of the SMP paper (section 4.2): seconds of a superstep's global accesses.

    H         L + gh h                                  h = max(h_r, h_w)
    HM        L + gh h + gM M
    HrHw      L + ghr h_r + ghw h_w
    HrHwM     L + ghr h_r + ghw h_w + gM M
    HrHwM-c   L + sum over tiers k = 1, 2, ... of (ghrk h_rk + ghwk h_wk) + gM M

A tier is a level of memory that a processor's data can sit in, given by its capacity c_k in words; the
last is infinite. h_rk = min(h_r, c_k) - min(h_r, c_(k-1)) is the part of h_r that overflows the smaller
tiers and still fits this one; so with h_w. With one cache and the memory behind it these are the
paper's hrc, hrm, hwc and hwm.

A function with fewer pairs of tier terms than there are tiers takes its last as unbounded: so sizes
that reach no further are fitted without inventing a price for what was not measured.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smp.errors import FitError

from .._types import FloatArray

_TERMS = {
    "H": ("L", "gh"),
    "HM": ("L", "gh", "gM"),
    "HrHw": ("L", "ghr", "ghw"),
    "HrHwM": ("L", "ghr", "ghw", "gM"),
}


def term_names(name: str, tiers: int = 1) -> tuple[str, ...]:
    """Return the terms of a cost function.

    Parameters
    ----------
    name : {"H", "HM", "HrHw", "HrHwM", "HrHwM-c"}
    tiers : int
        Pairs of tier terms of HrHwM-c.

    Raises
    ------
    FitError
        An unknown function.
    """
    if name == "HrHwM-c":
        return ("L", *(f"{term}{k}" for k in range(1, tiers + 1) for term in ("ghr", "ghw")), "gM")
    if name not in _TERMS:
        raise FitError(f"no cost function {name!r}: choose one of {', '.join((*_TERMS, 'HrHwM-c'))}")
    return _TERMS[name]


def columns(
    name: str, hr: ArrayLike, hw: ArrayLike, m: ArrayLike, tiers: Sequence[float] = ()
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the columns of a cost function and the names of their coefficients.

    Parameters
    ----------
    name : {"H", "HM", "HrHw", "HrHwM", "HrHwM-c"}
    hr, hw, m : array_like (n,)
        Words.
    tiers : sequence of float
        Capacities in words, ascending, the last infinite. Only HrHwM-c reads them; none is one tier.

    Returns
    -------
    matrix : ndarray (n, k) float64
    terms : tuple of k str

    Raises
    ------
    FitError
        An unknown function, or tiers that do not ascend to infinity.

    Examples
    --------
    >>> matrix, terms = columns("HrHwM-c", [70], [30], [160], tiers=(50, np.inf))
    >>> dict(zip(terms, matrix[0].tolist()))
    {'L': 1.0, 'ghr1': 50.0, 'ghw1': 30.0, 'ghr2': 20.0, 'ghw2': 0.0, 'gM': 160.0}
    """
    terms = term_names(name, max(len(tiers), 1))
    return matrix_of(terms, hr, hw, m, tiers), terms


def matrix_of(
    terms: Sequence[str], hr: ArrayLike, hw: ArrayLike, m: ArrayLike, tiers: Sequence[float] = ()
) -> FloatArray:
    """Return the columns that the terms stand for, as `columns` does for all terms of a function."""
    capacities = np.asarray(tiers if len(tiers) else [np.inf], dtype=np.float64)
    if np.isfinite(capacities[-1]) or not (np.diff(capacities, prepend=0.0) > 0.0).all():
        raise FitError(f"tiers {tuple(tiers)} are not capacities that ascend from above zero to infinity")
    reads, writes = np.asarray(hr, dtype=np.float64), np.asarray(hw, dtype=np.float64)
    plain = {
        "L": np.ones_like(reads),
        "gh": np.maximum(reads, writes),
        "ghr": reads,
        "ghw": writes,
        "gM": np.asarray(m, dtype=np.float64),
    }
    last = max((int(term[3:]) for term in terms if term not in plain), default=1)
    edges = np.concatenate([[0.0], capacities[: last - 1], [np.inf]])

    def column(term: str) -> FloatArray:
        if term in plain:
            return plain[term]
        words, tier = plain[term[:3]], int(term[3:])
        return np.asarray(np.minimum(words, edges[tier]) - np.minimum(words, edges[tier - 1]))

    return np.column_stack([column(term) for term in terms])


def predict(
    function: Mapping[str, Any], hr: ArrayLike, hw: ArrayLike, m: ArrayLike, tiers: Sequence[float] = ()
) -> FloatArray:
    """Return the seconds that a fitted cost function charges.

    Parameters
    ----------
    function : mapping
        With "terms" and "coefficients", as `smp.models.supersteps.access.fit_family` returns it.
    hr, hw, m : array_like (n,)
        Words.
    tiers : sequence of float
        The tiers that it was fitted with.

    Returns
    -------
    ndarray (n,) float64
        Seconds, never below zero: a line fitted to large supersteps may cross zero before the smallest.
    """
    matrix = matrix_of(function["terms"], hr, hw, m, tiers)
    return np.maximum(matrix @ np.asarray(function["coefficients"], dtype=np.float64), 0.0)
