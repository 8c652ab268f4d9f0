"""Patterns of communication: the target of each processor, as an array that is indexed by rank.

    targets = cyclic_shift(4, 1)      processor   0  1  2  3
                                      sends to    1  2  3  0

If each processor sends to one target, the targets should be a permutation: then no two senders have the same receiver
at the same time.  In an exchange of all with all, every processor sends to each other one, so it takes as many rounds
of permutations as there are processors (`rounds`).  The following functions only compute; they send nothing.

Source: E. A. Brewer, Portable High-Performance Supercomputing, chapter 7.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Targets = NDArray[np.int64]


def cyclic_shift(size: int, k: int) -> Targets:
    """Return the targets of a shift: processor i sends to (i + k) mod ``size``.

    Parameters
    ----------
    size : int
        Number of processors, at least 1.
    k : int
        Distance to the target; it may be negative.

    Returns
    -------
    int64 ndarray (size,)

    Raises
    ------
    TypeError, ValueError
        If ``size`` or ``k`` is not a whole number, or ``size`` is below 1.

    Examples
    --------
    >>> import smp
    >>> smp.patterns.cyclic_shift(5, 2)
    array([2, 3, 4, 0, 1])
    """
    n = _checked(size)
    return (np.arange(n) + operator.index(k) % n) % n


def exchange(size: int, bit: int) -> Targets:
    """Return the targets of an exchange in pairs: processor i sends to i XOR 2**``bit``.

    Parameters
    ----------
    size : int
        Number of processors.  It must be a multiple of 2**(``bit`` + 1), so that each processor has a partner.
    bit : int
        Number of the bit in which the ranks of partners differ, from 0.

    Returns
    -------
    int64 ndarray (size,)

    Raises
    ------
    TypeError, ValueError
        If ``size`` or ``bit`` is not a whole number, ``size`` is below 1, or a processor has no partner.

    Examples
    --------
    >>> import smp
    >>> smp.patterns.exchange(8, 1)
    array([2, 3, 0, 1, 6, 7, 4, 5])
    """
    n, number = _checked(size), operator.index(bit)
    if number < 0:
        raise ValueError(f"the number of a bit must be 0 or more, not {number}")
    if number >= n.bit_length() or n % (2 << number):
        raise ValueError(
            f"{n} processors cannot exchange in pairs whose ranks differ in bit {number}, because some would have no "
            f"partner: the number of processors must be a multiple of 2**{number + 1}"
        )
    return np.arange(n) ^ (1 << number)


def rounds(size: int) -> list[Targets]:
    """Return permutations that bring every ordered pair of processors together exactly once.

    In round k, processor i sends to i XOR k if ``size`` is a power of two, so partners exchange.  Otherwise it sends to
    (i + k) mod ``size``.  In round 0, every processor sends to itself; leave it out as ``rounds(size)[1:]``.

    Parameters
    ----------
    size : int
        Number of processors, at least 1.

    Returns
    -------
    list of int64 ndarray (size,)
        ``size`` permutations.

    Raises
    ------
    TypeError, ValueError
        If ``size`` is not a whole number, or is below 1.

    Examples
    --------
    >>> import smp
    >>> [targets.tolist() for targets in smp.patterns.rounds(3)]
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    n = _checked(size)
    ranks = np.arange(n)
    return [ranks ^ k if n.bit_count() == 1 else (ranks + k) % n for k in range(n)]


def is_permutation(targets: ArrayLike) -> bool:
    """Return True if every processor is the target of exactly one.

    Parameters
    ----------
    targets : array_like of int (size,)
        Target of each processor.

    Raises
    ------
    TypeError, ValueError
        If the targets are not whole numbers, or not in one dimension.

    Examples
    --------
    >>> import smp
    >>> smp.patterns.is_permutation([1, 2, 0]), smp.patterns.is_permutation([1, 1, 0])
    (True, False)
    """
    given = _targets(targets)
    if given.ndim != 1:
        raise ValueError(f"targets must have one dimension, a target for each processor, not the shape {given.shape}")
    return bool(np.array_equal(np.sort(given), np.arange(len(given))))


def worst_collisions(targets: ArrayLike) -> Any:
    """Return the largest number of senders that have the same target.

    Parameters
    ----------
    targets : array_like of int (..., size)
        Target of each processor, in one case or in many.

    Returns
    -------
    int, or int64 ndarray (...)
        1 if no two senders have the same target.

    Raises
    ------
    TypeError, ValueError
        If the targets are not whole numbers, or there are none.

    Notes
    -----
    For 64 senders with random targets, the mean is 3.958, and in 99.93% of the cases the number is at least 3.  Brewer
    reports a mean of 4.3 in 1,000 cases (figure 7-4); the standard error of such a mean is 0.025.

    Examples
    --------
    >>> import smp
    >>> smp.patterns.worst_collisions([3, 0, 3, 3])
    3
    >>> smp.patterns.worst_collisions([[1, 2, 0], [1, 1, 0]])
    array([1, 2])
    """
    given = _targets(targets)
    if given.ndim == 0 or given.shape[-1] == 0:
        raise ValueError(f"targets must have a target for each processor, not the shape {given.shape}")
    ordered = np.sort(given, axis=-1)
    place = np.arange(given.shape[-1])
    first = np.zeros(given.shape, np.int64)  # in each run of equal targets, the place of its first one
    first[..., 1:] = np.where(ordered[..., 1:] != ordered[..., :-1], place[1:], 0)
    longest = (place - np.maximum.accumulate(first, axis=-1)).max(axis=-1) + 1
    return int(longest) if given.ndim == 1 else longest


def _checked(size: int) -> int:
    """Return a number of processors, or raise an error if there cannot be that many."""
    n = operator.index(size)
    if n < 1:
        raise ValueError(f"the number of processors must be at least 1, not {n}")
    return n


def _targets(targets: ArrayLike) -> NDArray[Any]:
    """Return targets as an array, or raise an error if they are not whole numbers."""
    given = np.asarray(targets)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"targets must be whole numbers, the ranks of processors, not {given.dtype}")
    return given
