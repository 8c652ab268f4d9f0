"""What a look at some of the keys tells of them: the inputs of the models of sorting.

    sample   up to 1024 keys from anywhere, in ascending order
    bits     log2 of how many keys differ, where all are as frequent: their entropy
    rare     the share of keys that have few equals
    uneven   how far keys are from being equally frequent
    order    0 where keys ascend as often as they descend, 1 where they run one way: then neighbours go the same way
    below    the share of the keys below the sample's median, by which they are halved

Of n keys n / 1024 are looked at, from 256 to 1024, so that it costs little of the time that it takes to sort them.

Sources: Good, The population frequencies of species, for what a sample tells of keys not seen; Chao and Shen,
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
"""Keys of a sample."""
KEYS_FOR_ONE = 1024
"""Keys to be sorted for each one looked at, between these bounds."""
FEW, OCTAVES = 384, 0.8
"""Equal keys at which NumPy's sort changes its way, and over how many doublings it does."""


class Look(NamedTuple):
    """What is known of keys after a look at some of them.

    Attributes
    ----------
    sample : ndarray of shape (s,)
        Ascending, NaN last, in native byte order.
    order : float
        From 0 to 1.
    """

    sample: Keys
    order: float


def look(keys: Keys) -> Look:
    """Look at some of the keys, and at the neighbours of these.

    Parameters
    ----------
    keys : ndarray of shape (n,), n >= 1
        Of any layout and byte order.

    Notes
    -----
    About 10 us for a sample of 256, 30 us for 1024, most of it for memory that is not in a cache.
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
    """Random numbers in [0, 1).  They are ascending, as memory is read best; no key is known to be near another."""
    return np.sort(np.random.default_rng(count).random(count))


def entropy(sample: Keys) -> float:
    """Return the entropy of a sorted sample, in bits: log2 of its length where no two keys are equal."""
    return _entropy(_runs(sample))


def distinct_bits(sample: Keys) -> float:
    """Return the estimated entropy of all keys, in bits: log2 of how many differ, where all are as frequent.

    Parameters
    ----------
    sample : ndarray of shape (s,)
        Ascending.

    Returns
    -------
    float
        From 0 to 2 log2(s) + 1, which is said where no two keys of the sample are equal.

    Examples
    --------
    >>> keys = np.random.default_rng(0).integers(0, 4096, 1024)
    >>> round(distinct_bits(np.sort(keys)))
    12
    """
    runs = _runs(sample)
    single = int(np.count_nonzero(runs == 1)) / len(sample)  # how probable a key is that is not in the sample
    return _entropy(runs) - single * math.log2(max(1 - single, 0.5 / len(sample)))


def unevenness(sample: Keys) -> float:
    """Return how far a sorted sample is from having all its keys equally often, from 0 to 1.

    The entropy falls short of that of as many different keys by this share of it: 1 less Pielou's evenness.
    """
    runs = _runs(sample)
    return 1 - _entropy(runs) / math.log2(len(runs)) if len(runs) > 1 else 0.0


def rare_share(sample: Keys, n: int) -> float:
    """Return the estimated share of n keys that have fewer than some `FEW` equals.

    Such keys NumPy's sort takes through to its last step; of more equal ones it makes an end at once.  Where a sample
    has f keys once and g twice, those that it has once are each expected 2 g / f times in as many keys (Good, Turing).
    """
    runs = _runs(sample)
    once, twice = int(np.count_nonzero(runs == 1)), int(np.count_nonzero(runs == 2))
    equals = runs * (n / len(sample))
    equals[runs == 1] *= 2 * twice / max(1, once)
    few = np.clip((math.log2(FEW) - np.log2(np.maximum(equals, 1))) / OCTAVES + 0.5, 0, 1)
    return float(runs @ few) / len(sample)


def share_below(sample: Keys) -> float:
    """Return the share of a sorted sample that is below its median; 0 where that is NaN."""
    return int(np.count_nonzero(sample < sample[len(sample) // 2])) / len(sample)


def _runs(sample: Keys) -> NDArray[np.int64]:
    """How often each key occurs in a sorted sample."""
    ends = np.flatnonzero(sample[1:] != sample[:-1])
    runs = np.empty(len(ends) + 1, np.int64)
    runs[:-1], runs[-1] = ends, len(sample) - 1
    runs[1:] -= ends
    runs[0] += 1
    return runs


def _entropy(runs: NDArray[np.int64]) -> float:
    count = int(runs.sum())
    return math.log2(count) - float(runs @ np.log2(runs)) / count
