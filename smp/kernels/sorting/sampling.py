"""Inputs of the models of sorting, estimated by a look at some of the keys.

    sample   up to 1024 keys from anywhere, in ascending order
    bits     the entropy of the keys: log2 of the number of different keys, if all are equally frequent
    rare     the share of keys to which few others are equal
    uneven   how far keys are from being equally frequent
    order    0 if keys ascend as often as they descend, 1 if they run one way: then neighbours go to the same part
    below    the share of the keys below the sample's median, at which they are halved

A look at n keys takes n / 1024 of them, at least 256 and at most 1024, so that it costs little of the time that sorting
takes.

Sources: Good, The population frequencies of species, for what a sample shows about keys not seen; Chao and Shen,
Nonparametric estimation of Shannon's index of diversity, for the entropy.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .keys import Keys

LARGEST, SMALLEST = 1024, 256
"""Largest and smallest number of keys of a sample."""
KEYS_FOR_ONE = 1024
"""Number of keys to be sorted for each one looked at, between these bounds."""
FEW, OCTAVES = 384, 0.8
"""Number of equal keys at which NumPy's sort changes its method, and the number of doublings over which it changes."""


class Look(NamedTuple):
    """Results of a look at some of the keys.

    Attributes
    ----------
    sample : ndarray of shape (s,)
        Some of the keys, ascending, NaN last, in native byte order.
    order : float
        How far the keys run one way, from 0 to 1.
    """

    sample: Keys
    order: float


def look(keys: Keys) -> Look:
    """Look at some of the keys and at the neighbour of each.

    Parameters
    ----------
    keys : ndarray of shape (n,), n >= 1
        Keys of any layout and byte order.

    Notes
    -----
    Takes about 10 us for a sample of 256 and 30 us for 1024, mostly for memory that is not in a cache.
    """
    n = len(keys)
    count = min(LARGEST, max(SMALLEST, n // KEYS_FOR_ONE))
    places = (_anywhere(count) * n).astype(np.int64)
    some = keys[places]
    following = keys[np.minimum(places + 1, n - 1)]
    up, down = np.count_nonzero(some <= following), np.count_nonzero(some >= following)
    sample = some if some.dtype.isnative else some.astype(some.dtype.newbyteorder("="))
    sample.sort()
    return Look(sample, max(0.0, 2.0 * max(up, down) / count - 1.0))


@functools.cache
def _anywhere(count: int) -> NDArray[np.float64]:
    """Return random numbers in [0, 1), ascending because memory is read best in order, and at no regular distance."""
    return np.sort(np.random.default_rng(count).random(count))


def entropy(sample: Keys) -> float:
    """Return the entropy of a sorted sample in bits, which is log2 of its length if no two keys are equal."""
    return _entropy(_runs(sample))


def distinct_bits(sample: Keys) -> float:
    """Return the estimated entropy of all keys in bits: log2 of the number of different keys, if equally frequent.

    Parameters
    ----------
    sample : ndarray of shape (s,)
        Some of the keys, ascending.

    Returns
    -------
    float
        From 0 to 2 log2(s) + 1, which is the result for a sample in which no two keys are equal.

    Examples
    --------
    >>> keys = np.random.default_rng(0).integers(0, 4096, 1024)
    >>> round(distinct_bits(np.sort(keys)))
    12
    """
    runs = _runs(sample)
    single = int(np.count_nonzero(runs == 1)) / len(sample)  # probability of a key that is not in the sample
    return _entropy(runs) - single * math.log2(max(1 - single, 0.5 / len(sample)))


def unevenness(sample: Keys) -> float:
    """Return how far a sorted sample is from having all its keys equally often, from 0 to 1.

    This is 1 minus Pielou's evenness: the share by which the entropy falls short of that of as many different keys, all
    equally frequent.
    """
    runs = _runs(sample)
    return 1 - _entropy(runs) / math.log2(len(runs)) if len(runs) > 1 else 0.0


def rare_share(sample: Keys, n: int) -> float:
    """Return the estimated share of n keys that occur fewer than about `FEW` times each.

    NumPy's sort takes such keys through to its last step, and finishes with more frequent ones at once.  If a sample
    contains f keys once and g keys twice, then each of those f keys is expected to occur 2 g / f times among as many
    keys as the sample has (Good, Turing).
    """
    runs = _runs(sample)
    once, twice = int(np.count_nonzero(runs == 1)), int(np.count_nonzero(runs == 2))
    equals = runs * (n / len(sample))
    equals[runs == 1] *= 2 * twice / max(1, once)
    few = np.clip((math.log2(FEW) - np.log2(np.maximum(equals, 1))) / OCTAVES + 0.5, 0, 1)
    return float(runs @ few) / len(sample)


def share_below(sample: Keys) -> float:
    """Return the share of a sorted sample that is below its median; 0 if the median is NaN."""
    return int(np.count_nonzero(sample < sample[len(sample) // 2])) / len(sample)


def _runs(sample: Keys) -> NDArray[np.int64]:
    """Return how often each key occurs in a sorted sample."""
    ends = np.flatnonzero(sample[1:] != sample[:-1])
    runs = np.empty(len(ends) + 1, np.int64)
    runs[:-1], runs[-1] = ends, len(sample) - 1
    runs[1:] -= ends
    runs[0] += 1
    return runs


def _entropy(runs: NDArray[np.int64]) -> float:
    count = int(runs.sum())
    return math.log2(count) - float(runs @ np.log2(runs)) / count
