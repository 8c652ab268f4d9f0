"""Cost functions: the seconds that a superstep's global accesses take.

    H         L + gh h                                  h = max(h_r, h_w)
    HM        L + gh h + gM M
    HrHw      L + ghr h_r + ghw h_w
    HrHwM     L + ghr h_r + ghw h_w + gM M
    HrHwN     L + ghr h_r + ghw h_w + gnr n_r + gnw n_w         n: second-largest count of any processor
    HrHwO     L + ghr h_r + ghw h_w + gor o_r + gow o_w         o: words of all processors but the busiest
    ...-c     every h_r and h_w, n or o of the function split at knees

h_r and h_w are the most words that any processor reads and writes, and M is the reads plus the writes of all
processors. L is the constant, in seconds; each coefficient g is the price of a word.

The first four functions and HrHwM-c are the SMP cost study's (section 4.2). HrHwN and HrHwO price contention. A line
that two processors write is far dearer than a line that one processor writes. M, which adds the reads and writes of
all processors, does not show how many such lines there are. In the Bad family word k of every processor lies in line k,
so at least two processors write each of n_w lines. With two processors N and O are the same.

A knee is a number of words from which a further word has another price, because a processor's words no longer fit a
level of memory. With knees at c_1 and c_2, h_r is split into h_r1 = min(h_r, c_1), h_r2 = min(h_r, c_2) - h_r1, and
the rest h_r3; h_w, n and o are split in the same way. With one knee at the size of a cache, HrHwM-c has the study's
hrc and hwc, the words in the cache, and hrm and hwm, the words in memory.

A function with fewer pairs of split terms than there are levels takes its last pair as unbounded. So sizes that reach
no further are fitted without inventing a price for words that were not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp.errors import FitError

from .._types import FloatArray

_TERMS = {
    "H": ("L", "gh"),
    "HM": ("L", "gh", "gM"),
    "HrHw": ("L", "ghr", "ghw"),
    "HrHwM": ("L", "ghr", "ghw", "gM"),
    "HrHwN": ("L", "ghr", "ghw", "gnr", "gnw"),
    "HrHwO": ("L", "ghr", "ghw", "gor", "gow"),
}
_SPLIT = ("ghr", "ghw", "gnr", "gnw", "gor", "gow")
SPLIT_AT_KNEES = "-c"
Name = Literal["H", "HM", "HrHw", "HrHwM", "HrHwN", "HrHwO", "HrHwM-c", "HrHwN-c", "HrHwO-c"]
NAMES: tuple[Name, ...] = get_args(Name)
"""Names of all functions."""


class Others(NamedTuple):
    """Words of the processors other than the busiest, in n supersteps.

    Attributes
    ----------
    next_reads, next_writes : ndarray (n,) float64
        The second-largest number of words that any processor reads and writes: n_r and n_w.
    other_reads, other_writes : ndarray (n,) float64
        Words read (written) by all processors together, except for the one that reads (writes) most: o_r and o_w.
    """

    next_reads: FloatArray
    next_writes: FloatArray
    other_reads: FloatArray
    other_writes: FloatArray

    @classmethod
    def of(cls, reads: ArrayLike, writes: ArrayLike) -> Others:
        """Return these counts, given the words of every processor.

        Parameters
        ----------
        reads, writes : array_like (n, p)
            Words that each processor reads and writes in each superstep.
        """
        counts = [np.sort(np.atleast_2d(np.asarray(words, np.float64)), axis=1)[:, ::-1] for words in (reads, writes)]
        second = [words[:, 1] if words.shape[1] > 1 else np.zeros(len(words)) for words in counts]
        return cls(*second, *(words[:, 1:].sum(1) for words in counts))

    def times(self, factor: ArrayLike) -> Others:
        """Return the words times a factor, for example to count them in another unit."""
        return Others(*(words * np.asarray(factor, np.float64) for words in self))

    @classmethod
    def assumed(cls, hr: ArrayLike, hw: ArrayLike, m: ArrayLike) -> Others:
        """Return assumed counts if only h_r, h_w and M are known.

        The words of the other processors are split into reads and writes in proportion to h_r and h_w. The
        second-largest counts are the largest that this split allows. All counts are exact if all processors do the
        same, and for two processors of which one does a fraction of what the other does.
        """
        reads, writes, total = (np.asarray(words, np.float64) for words in (hr, hw, m))
        rest, both = np.maximum(total - reads - writes, 0.0), np.maximum(reads + writes, 1.0)
        others = [rest * words / both for words in (reads, writes)]
        return cls(np.minimum(reads, others[0]), np.minimum(writes, others[1]), *others)


def others_of(supersteps: NDArray[np.void]) -> Others | None:
    """Return the words of the processors other than the busiest, in elements; None if they are not recorded.

    Parameters
    ----------
    supersteps : structured array
        Supersteps as in `Run.summary`.
    """
    if not {*Others._fields} <= {*(supersteps.dtype.names or ())}:
        return None
    return Others(*(supersteps[name].astype(np.float64) for name in Others._fields))


def split(name: str) -> bool:
    """Return True if a function has knees."""
    return name.endswith(SPLIT_AT_KNEES)


def term_names(name: str, levels: int = 1) -> tuple[str, ...]:
    """Return the terms of a cost function.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    levels : int
        Number of levels of a function with knees: one more than its number of knees.

    Raises
    ------
    FitError
        An unknown function.
    """
    if name not in NAMES:
        raise FitError(f"there is no cost function {name!r}: choose one of {', '.join(NAMES)}")
    terms = _TERMS[name.removesuffix(SPLIT_AT_KNEES)]
    if not split(name):
        return terms
    pairs = zip(terms[1::2], terms[2::2], strict=False)  # all but L, and gM, which stands alone
    whole = [f"{term}{k}" for pair in pairs for k in range(1, levels + 1) for term in pair]
    return ("L", *whole, *(["gM"] if "gM" in terms else []))


def columns(
    name: str, hr: ArrayLike, hw: ArrayLike, m: ArrayLike, tiers: Sequence[float] = (), others: Others | None = None
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the columns of a cost function and the names of their coefficients.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    hr, hw, m : array_like (n,)
        h_r, h_w and M of each superstep, in words.
    tiers : sequence of float
        The knees in words, ascending, and infinity. Only functions with knees use them; an empty sequence is one level.
    others : Others, optional
        Words of the processors other than the busiest; by default those of `Others.assumed`.

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
    >>> matrix, terms = columns("HrHwN", [70], [30], [160], others=Others.of([[70, 40]], [[20, 30]]))
    >>> dict(zip(terms, matrix[0].tolist()))
    {'L': 1.0, 'ghr': 70.0, 'ghw': 30.0, 'gnr': 40.0, 'gnw': 20.0}
    """
    terms = term_names(name, max(len(tiers), 1))
    return matrix_of(terms, hr, hw, m, tiers, others), terms


def matrix_of(
    terms: Sequence[str],
    hr: ArrayLike,
    hw: ArrayLike,
    m: ArrayLike,
    tiers: Sequence[float] = (),
    others: Others | None = None,
) -> FloatArray:
    """Return the columns that the terms stand for, as `columns` does for all terms of a function."""
    capacities = np.asarray(tiers if len(tiers) else [np.inf], dtype=np.float64)
    if np.isfinite(capacities[-1]) or not (np.diff(capacities, prepend=0.0) > 0.0).all():
        raise FitError(f"tiers must be capacities that ascend from above zero to infinity, not {tuple(tiers)}")
    reads, writes = np.asarray(hr, dtype=np.float64), np.asarray(hw, dtype=np.float64)
    rest = Others.assumed(reads, writes, m) if others is None else others
    plain = {
        "L": np.ones_like(reads),
        "gh": np.maximum(reads, writes),
        "ghr": reads,
        "ghw": writes,
        "gM": np.asarray(m, dtype=np.float64),
        **dict(zip(("gnr", "gnw", "gor", "gow"), rest, strict=True)),
    }
    last = max((int(term[3:]) for term in terms if term not in plain), default=1)
    edges = np.concatenate([[0.0], capacities[: last - 1], [np.inf]])

    def column(term: str) -> FloatArray:
        if term in plain:
            return plain[term]
        words, level = plain[term[:3]], int(term[3:])
        return np.asarray(np.minimum(words, edges[level]) - np.minimum(words, edges[level - 1]))

    return np.column_stack([column(term) for term in terms])


def levels_of(function: Mapping[str, Any], tiers: Sequence[float] = ()) -> Sequence[float]:
    """Return the knees of a fitted function, followed by infinity; ``tiers`` if it has no knees of its own."""
    knees = function.get("knees")
    return tiers if knees is None else (*knees, np.inf)


def predict(
    function: Mapping[str, Any],
    hr: ArrayLike,
    hw: ArrayLike,
    m: ArrayLike,
    tiers: Sequence[float] = (),
    others: Others | None = None,
) -> FloatArray:
    """Return the seconds that a fitted cost function charges.

    Parameters
    ----------
    function : mapping
        With "terms" and "coefficients", and "knees" if it has some, as `smp.models.supersteps.access.fit_family`
        returns it.
    hr, hw, m : array_like (n,)
        h_r, h_w and M of each superstep, in words.
    tiers : sequence of float
        The tiers that the function was fitted with, if it has no knees of its own.
    others : Others, optional
        Words of the processors other than the busiest; by default those of `Others.assumed`.

    Returns
    -------
    ndarray (n,) float64
        Seconds, never below zero: a line fitted to large supersteps may cross zero before the smallest.
    """
    matrix = matrix_of(function["terms"], hr, hw, m, levels_of(function, tiers), others)
    return np.maximum(matrix @ np.asarray(function["coefficients"], dtype=np.float64), 0.0)
