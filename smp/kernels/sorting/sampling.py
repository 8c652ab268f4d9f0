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
from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import inline, local

from .keys import Keys, Rule, image, rule_of, unsigned
from .parts import is_plain, native

LARGEST, SMALLEST = 1024, 256
"""Largest and smallest number of keys of a sample."""
KEYS_FOR_ONE = 1024
"""Number of keys to be sorted for each one looked at, between these bounds."""
FEW, OCTAVES = 384, 0.8
"""Number of equal keys at which NumPy's sort changes its method, and the number of doublings over which it changes."""
FIRST, SOME, AT_ONCE = 8, 512, 8192
"""Number of the first keys, most of which run neither way; of those of which nearly ordered ones turn somewhere; and of
those that are then compared at once."""
FEW_OF_FIRST = 7
"""Number of different ones among the first nine keys below which keys probably have few values."""
KEYS_OF_A_GLANCE, KEYS_THAT_VARY = 16, 32
"""Number of keys that show whether their range may be narrow, and of those that show how many differ."""
DIFFERENT = (1, 2, 5, 10, 17, 23, 27, 29, 31)
"""Most different keys of `KEYS_THAT_VARY` that are expected if 2 ** (k + 1/2) keys are equally frequent, k = 0 to 8."""
KEYS_THAT_REPEAT, FEW_DIFFERENT = 64, 32
"""Number of keys that show whether few differ, and the least number of different ones if not."""
ALL_DIFFER = len(DIFFERENT)
IN_ORDER, NARROW = 1, 2
"""Results of a glance."""


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


class Figures(NamedTuple):
    """Statistics of keys, estimated from a sample.

    Attributes
    ----------
    entropy : float
        Entropy of the sample in bits, which is log2 of its length if no two keys are equal.
    bits : float
        Entropy of all keys in bits: log2 of the number of different keys, if all are equally frequent. From 0 to
        2 log2(s) + 1, which is the result for a sample of s keys that all differ.
    rare : float
        Share of the keys that occur fewer than about `FEW` times each. NumPy's sort takes such keys through to its last
        step, and finishes with more frequent ones at once.
    uneven : float
        From 0, if all keys are equally often in the sample, to 1: 1 minus Pielou's evenness, which is the share by
        which the entropy falls short of that of as many different keys, all equally frequent.
    below : float
        Share of the sample that is below its median; 0 if the median is NaN.
    """

    entropy: float
    bits: float
    rare: float
    uneven: float
    below: float


def look(keys: Keys) -> Look:
    """Look at some of the keys and at the neighbour of each.

    Parameters
    ----------
    keys : ndarray of shape (n,), n >= 1
        Keys of any layout and byte order.

    Notes
    -----
    Takes about 3 us for a sample of 256 and 10 us for 1024, and several times as long if no cache has the keys.
    """
    n, count = len(keys), sample_of(len(keys))
    if is_plain(keys):
        sample = np.empty(count, keys.dtype)
        order = _look(keys, _anywhere(count), sample)
    else:
        places = (_anywhere(count) * (n - 1)).astype(np.int64)
        pairs = native(np.stack([keys.take(places), keys.take(np.minimum(places + 1, n - 1))], 1).ravel())
        sample, following = pairs[::2].copy(), pairs[1::2]
        up, down = np.count_nonzero(sample <= following), np.count_nonzero(sample >= following)
        order = _order(int(up), int(down), count)
    sample.sort()
    return Look(sample, order)


def sample_of(n: int) -> int:
    """Return the number of keys of the sample in a look at n keys."""
    return min(LARGEST, max(SMALLEST, n // KEYS_FOR_ONE))


@local
def _look(keys: Keys, places: NDArray[np.float64], sample: Keys) -> float:
    """Store a key for each place, a fraction of the array, and return how far they run one way."""
    last, up, down = len(keys) - 1, 0, 0
    for k in range(len(sample)):
        place = int(places[k] * last)
        key, following = keys[place], keys[min(place + 1, last)]
        sample[k] = key
        up += key <= following
        down += key >= following
    return _order(up, down, len(sample))


@inline
def _order(up: int, down: int, count: int) -> float:
    return max(0.0, 2.0 * max(up, down) / count - 1.0)


def direction(keys: Keys) -> int:
    """Return 1 if keys ascend already, -1 if they descend, 0 if they do neither or contain a NaN.

    Notes
    -----
    Keys in no order take 0.5 us. Of keys that run one way, each takes 0.1 to 0.3 ns, until some do not.
    """
    way = int(first_way(keys if is_plain(keys) else native(keys[: SOME + 1])))
    if not way:
        return 0
    agrees: np.ufunc = np.greater_equal if way < 0 else np.less_equal
    for start in range(SOME, len(keys) - 1, AT_ONCE):
        stop = min(start + AT_ONCE, len(keys) - 1)
        if not agrees(keys[start:stop], keys[start + 1 : stop + 1]).all():
            return 0
    return way


@local
def first_way(keys: Keys) -> int:
    """Return 1 if the first keys ascend, -1 if they descend, 0 if they do neither."""
    k, last, up, down = 0, min(len(keys) - 1, SOME), True, True
    while k < last and (up or down):
        for _ in range(min(FIRST, last - k)):
            up &= keys[k] <= keys[k + 1]
            down &= keys[k] >= keys[k + 1]
            k += 1
    return 1 if up else -1 if down else 0


def first_differ(keys: Keys) -> int:
    """Return how many of the first keys differ, or 0 if they run one way.

    It calls no compiled loop, because one that was not called lately takes 20 us.
    """
    first = keys[: FIRST + 1].tolist()
    return 0 if sorted(first, reverse=first[0] > first[-1]) == first else len(set(first))


def repeats(keys: Keys) -> bool:
    """Return True if few of about 64 keys differ; NumPy sorts them so fast that a look at a sample would add to it."""
    return different(keys) < FEW_DIFFERENT


def different(keys: Keys) -> int:
    """Return how many of about 64 keys differ."""
    return len(set(keys[:: max(1, len(keys) // KEYS_THAT_REPEAT)].tolist()))


@local
def vary(keys: Keys, least: int) -> bool:
    """Return True if of about 64 keys at least some number differ; with `FEW_DIFFERENT`, if they do not `repeats`."""
    return _different(keys, max(1, len(keys) // KEYS_THAT_REPEAT), least) == least


@local
def different_unless_running(keys: Keys) -> int:
    """Return how many of about 64 keys differ, as `different` does, or 0 if the first keys run one way."""
    return 0 if first_way(keys) else _different(keys, max(1, len(keys) // KEYS_THAT_REPEAT), 2 * KEYS_THAT_REPEAT)


@inline
def _different(keys: Keys, step: int, most: int) -> int:
    """Return how many keys differ, of those at every multiple of a step, but at most ``most``."""
    found, count = np.empty(most, keys.dtype), 0  # side by side, so that vector instructions compare them
    for k in range(0, len(keys), step):
        key, new = keys[k], True
        for j in range(count):
            new &= found[j] != key
        if new:
            found[count] = key
            count += 1
            if count == most:
                break
    return count


def seem_narrow(keys: Keys, most: int) -> bool:
    """Return True if a few of the integers are in a narrow range, but mostly different.

    Parameters
    ----------
    keys : ndarray of shape (n,), integers
    most : int
        Widest range that is narrow.
    """
    step = _step(keys)
    return bool(narrow_by(keys, step, most) if is_plain(keys) else narrow_by(native(keys[::step]), 1, most))


def glance(keys: Keys, most: int) -> int:
    """Return `IN_ORDER` if the first keys run one way, else `NARROW` if the keys seem to be in a narrow range, else 0.

    Parameters
    ----------
    keys : plain ndarray of shape (n,)
    most : int
        Widest range that is narrow, for integers.
    """
    if keys.dtype.kind == "f":
        return IN_ORDER if first_way(keys) else 0
    return int(_glance(keys, _step(keys), most))


class Variety(NamedTuple):
    """Results of a glance at `KEYS_THAT_VARY` keys, for keys that do not run one way.

    Attributes
    ----------
    bits : int
        About log2 of the number of different keys, up to 8; `ALL_DIFFER` if those seen all differ.
    width : int
        Width of the range of the integers that were seen, less 1; of floats, the range of their images.
    """

    bits: int
    width: int


def variety(keys: Keys) -> Variety | None:
    """Return the results of a glance at keys, or None if they may run one way.

    Parameters
    ----------
    keys : plain ndarray of shape (n,)

    Notes
    -----
    Takes 1 us.  Keys run one way if the first ones do, or of those seen nearly all have no smaller neighbour, or no
    larger one.
    """
    different, width = _variety(keys.view(unsigned(keys.dtype)), rule_of(keys.dtype), _anywhere(KEYS_THAT_VARY))
    return Variety(bisect_left(DIFFERENT, different), int(width)) if different else None


@local
def _variety(bits: NDArray[Any], rule: Rule, places: NDArray[np.float64]) -> tuple[int, np.uint64]:
    """Return how many keys differ, and the range of their images; (0, 0) if they may run one way."""
    last, count, up, down = len(bits) - 1, len(places), 0, 0
    first = min(FIRST, last)
    for k in range(first):
        up += int(image(bits[k], rule) <= image(bits[k + 1], rule))
        down += int(image(bits[k], rule) >= image(bits[k + 1], rule))
    if max(up, down) >= first:
        return 0, np.uint64(0)
    different, up, down = 0, 0, 0
    least, largest = image(bits[0], rule), image(bits[0], rule)
    for k in range(count):
        at = int(places[k] * last)
        key, new = image(bits[at], rule), True
        for j in range(k):
            new &= bits[int(places[j] * last)] != bits[at]
        different += new
        least, largest = min(least, key), max(largest, key)
        up += int(key <= image(bits[at + 1], rule))
        down += int(key >= image(bits[at + 1], rule))
    return (0, np.uint64(0)) if 8 * max(up, down) > 7 * count else (different, largest - least)


@local
def _glance(keys: Keys, step: int, most: int) -> int:
    if first_way(keys):
        return IN_ORDER
    return NARROW if narrow_by(keys, step, most) else 0


def _step(keys: Keys) -> int:
    return max(1, len(keys) // KEYS_OF_A_GLANCE)


@local
def narrow_by(keys: Keys, step: int, most: int) -> bool:
    least, largest = keys[0], keys[0]
    for k in range(step, len(keys), step):
        least, largest = min(least, keys[k]), max(largest, keys[k])
    if np.uint64(largest) - np.uint64(least) > np.uint64(most):
        return False
    count = (len(keys) - 1) // step + 1
    return _different(keys, step, count // 2 + 1) == count // 2 + 1


@functools.cache
def _anywhere(count: int) -> NDArray[np.float64]:
    """Return random numbers in [0, 1), ascending because memory is read best in order, and at no regular distance."""
    return np.sort(np.random.default_rng(count).random(count))


def figures(sample: Keys, n: int) -> Figures:
    """Return the statistics of n keys, estimated from a sample of them.

    Parameters
    ----------
    sample : ndarray of shape (s,)
        Some of the keys, ascending, in native byte order.
    n : int

    Notes
    -----
    If a sample contains f keys once and g keys twice, then each of those f keys is expected to occur 2 g / f times
    among as many keys as the sample has (Good, Turing).

    Examples
    --------
    >>> keys = np.random.default_rng(0).integers(0, 4096, 1024)
    >>> round(figures(np.sort(keys), 10**6).bits)
    12
    """
    found, median = np.empty(5), sample[len(sample) // 2]
    _estimate(sample.view(unsigned(sample.dtype)), float(n), found)  # of two sizes, so two loops are compiled
    if median != median:
        found[4] = 0
    return Figures(*found.tolist())


def entropy(sample: Keys) -> float:
    """Return the entropy of a sorted sample in bits; see `Figures`."""
    return figures(sample, len(sample)).entropy


@local
def _estimate(sample: NDArray[Any], n: float, found: NDArray[np.float64]) -> None:
    """Store entropy, bits, rare, uneven and below of a sample, of which equal keys have the same bits."""
    size = len(sample)
    different, once, twice, logs, few, below = 0, 0, 0, 0.0, 0.0, 0
    start = 0
    for i in range(1, size + 1):
        if i < size and sample[i] == sample[start]:
            continue
        if start <= size // 2 < i:
            below = start
        run = i - start
        start = i
        different += 1
        if run == 1:
            once += 1
        else:
            twice += run == 2
            logs += run * math.log2(run)
            few += run * _fewness(run * n / size)
    whole = math.log2(size)
    entropy = whole - logs / size
    if once:
        few += once * _fewness(2 * twice / once * n / size)
    single = once / size  # probability of a key that is not in the sample
    found[0] = entropy
    found[1] = entropy - single * math.log2(max(1 - single, 0.5 / size))
    found[2] = few / size
    found[3] = 1 - entropy / math.log2(different) if different > 1 else 0.0
    found[4] = below / size


@local
def _fewness(equals: float) -> float:
    """Return 1 for few equal keys, 0 for many, and a value in between around `FEW`."""
    return min(1.0, max(0.0, (math.log2(FEW) - math.log2(max(equals, 1.0))) / OCTAVES + 0.5))
