"""Orthogonal arrays made by published constructions.

    linear          s^k trials for (s^k - 1) / (s - 1) factors of s levels, s a power of a prime
    expanded        r s trials for c factors of s levels and one of r, from a difference scheme
    replaced        the same, with the factor of r levels replaced by the columns of an array of r trials

A difference scheme is an r x c matrix over a group of s elements: in the difference of any two columns every element
occurs equally often.

Sources: linear arrays, R. C. Bose and K. A. Bush, Ann. Math. Stat. 23 (1952); difference schemes of 2s x 2s, D.
Jungnickel, Math. Z. 167 (1979); expansion and replacement, Hedayat, Sloane, and Stufken, Orthogonal Arrays (1999),
chapters 6 and 9.
"""

from __future__ import annotations

import itertools

import numpy as np

from smp.models._types import IntArray

from .galois import field


def linear(s: int, k: int) -> IntArray:
    """Return the linear array of s^k trials.

    Parameters
    ----------
    s : int
        Number of levels, as `field` takes it.
    k : int
        Number of factors that are independent: the trials are all combinations of their levels.

    Returns
    -------
    ndarray (s^k, (s^k - 1) / (s - 1)) int64
        The columns are the sums of multiples of the independent factors, with 1 as the last multiplier that is not 0:
        for k = 2, a, b, a + b, 2a + b, ...

    Examples
    --------
    >>> linear(3, 2)[4].tolist()
    [1, 1, 2, 0]
    """
    addition, multiplication = field(s)
    trials = np.array(list(itertools.product(range(s), repeat=k)))
    columns = []
    for multipliers in sorted(itertools.product(range(s), repeat=k), key=lambda row: row[::-1]):
        kept = [multiplier for multiplier in multipliers if multiplier]
        if not kept or kept[-1] != 1:
            continue
        column = np.zeros(len(trials), np.int64)
        for multiplier, factor in zip(multipliers, trials.T, strict=True):
            column = addition[column, multiplication[multiplier, factor]]
        columns.append(column)
    return np.stack(columns, axis=1)


def twice(s: int) -> IntArray:
    """Return a difference scheme of 2s x 2s over the integers modulo an odd prime s.

    With n not a square modulo s, t = (n - 1) / 4, and rows i and columns j from 0 to s - 1, its four blocks are::

        i j                      i j + i^2
        i j + (t / n) j^2        n i j + n i^2 + t j^2
    """
    n = next(x for x in range(2, s) if pow(x, (s - 1) // 2, s) == s - 1)
    t = (n - 1) * pow(4, -1, s)
    i, j = np.indices((s, s))
    upper = [i * j, i * j + i * i]
    lower = [i * j + t * pow(n, -1, s) * j * j, n * (i * j + i * i) + t * j * j]
    return np.block([upper, lower]) % s


def thrice(scheme: IntArray, s: int) -> IntArray:
    """Return a scheme s times as large: the Kronecker sum with the table of multiplication modulo a prime s."""
    r, c = scheme.shape
    table = np.multiply.outer(np.arange(s), np.arange(s))
    return (scheme[:, None, :, None] + table[None, :, None, :]).reshape(r * s, c * s) % s


def of_eight() -> IntArray:
    """Return a difference scheme of 8 x 8 over the additive group of the field of 4.

    Its elements are the products in the field of 8, without their terms in x^2.
    """
    return field(8)[1] % 4


def expanded(scheme: IntArray, addition: IntArray) -> IntArray:
    """Return the array that consists of the scheme's rows, each with every element of the group added.

    Parameters
    ----------
    scheme : ndarray (r, c) int64
    addition : ndarray (s, s) int64
        Table of the group's addition.

    Returns
    -------
    ndarray (r s, 1 + c) int64
        The first column is the number of the row.
    """
    r, s = len(scheme), len(addition)
    sums = addition[scheme[:, None, :], np.arange(s)[None, :, None]]
    return np.column_stack([np.repeat(np.arange(r), s), sums.reshape(r * s, -1)])


def replaced(array: IntArray, by: IntArray) -> IntArray:
    """Return an array whose first column is replaced: a level k by trial k of another array."""
    return np.column_stack([by[array[:, 0]], array[:, 1:]])
