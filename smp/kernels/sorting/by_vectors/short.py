"""Sort a short part of the keys with vectors, by splits from one half of a buffer to the other.

    buffer     │ half                │ other half          │     a split reads one half and writes the same places of
                                                                 the other, from both ends
    keys       │ sorted │ equal │ sorted │ ...                   networks read a half and write here

A split in place needs free places, for which it keeps some keys elsewhere, and chooses the side to read from next.
Here all places are free, so that 256 keys of four bytes take two thirds of that time.

The pivot is the median of eight neighbours at a place that looks random, which one network sorts where they are.  What
`blocks` says of equal keys and of bad pivots holds here, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import inline

from ..keys import Keys
from .vectors import MOST_SPLIT, MOST_VECTORS, before, lanes_of, sort_few, split_lanes_of, split_some, split_vector

SHORT_BYTES = 1 << 14
"""Bytes of the longest part that is short, and of a half of the buffer."""
_AT_ONCE = 256
"""Keys that are looked through before it is seen whether all of them were alike."""
_SAMPLE, _MEDIAN = 8, 3
"""Keys of which one is the pivot, and its place among them."""
Numbers = NDArray[np.int64]


@inline
def split_over(source: Keys, at: int, count: int, keys: Keys, low: int, pivot: Any) -> int:
    """Copy keys from a place of an array to one of another, those up to the pivot first; return where they end.

    There are keys for a vector at least, and room for one behind the places that are written.
    """
    lanes = split_lanes_of(keys)
    some = (count - 1) % lanes + 1
    found = split_some(source, at, some, keys, low, low + count, pivot)
    left, right = low + found, low + count - (some - found)
    for first in range(at + some, at + count, lanes):
        found = split_vector(source, first, keys, left, right, pivot)
        left += found
        right -= lanes - found
    return left


@inline
def alike(keys: Keys, low: int, high: int, key: Any) -> bool:
    """Return True if all keys between two places equal a given one; it takes about half as long as a split."""
    some = keys[low:high]  # the compiler makes vectors of loops that count from 0
    for first in range(0, len(some), _AT_ONCE):
        other = False
        for i in range(first, min(first + _AT_ONCE, len(some))):
            other |= some[i] != key
        if other:
            return False
    return True


@inline
def copy_keys(source: Keys, at: int, keys: Keys, low: int, count: int) -> None:
    """Copy keys from a place of an array to one of another."""
    given, copied = source[at : at + count], keys[low : low + count]
    for i in range(count):
        copied[i] = given[i]


@inline
def sort_short(keys: Keys, low: int, high: int, tries: int, buffer: Keys, ranges: Numbers) -> bool:
    """Sort the keys between two places; return False, and leave them in any order, if pivots are bad again and again.

    Parameters
    ----------
    keys : plain ndarray of one of `smp.kernels.sorting.keys.DTYPES`
    low, high : int
        Ends of the part, which half of the buffer can hold.
    tries : int
        How often a part may be split, and a part of it, and so on.
    buffer : ndarray of the keys' dtype
        Two halves, and `MOST_SPLIT` places behind them.
    ranges : int64 array (tries + 1, 4)
        Room for parts that wait: their ends, where their half begins, and their tries.
    """
    half, few = (len(buffer) - MOST_SPLIT) // 2, MOST_VECTORS * lanes_of(keys)
    if high - low <= few:
        sort_few(keys, low, keys, low, high - low)
        return True
    copy_keys(keys, low, buffer, 0, high - low)
    waiting, a, b, here = 0, 0, high - low, 0
    while True:
        while b - a > few:
            other = half - here
            at = here + a + ((b - a - _SAMPLE) * ((a * 0x9E37 + b * 0x79B1) & 0xFFFF) >> 16)
            sort_few(buffer, at, buffer, at, _SAMPLE)
            key = buffer[at + _MEDIAN]
            if tries == 0 or key != key:
                ranges[waiting, 0], ranges[waiting, 1], ranges[waiting, 2] = a, b, here
                _put_back(keys, low, buffer, ranges, waiting + 1)
                return False
            tries -= 1
            smallest, largest = key == buffer[at], key == buffer[at + _SAMPLE - 1]
            if smallest and largest and alike(buffer, here + a, here + b, key):
                copy_keys(buffer, here + a, keys, low + a, b - a)
                b = a
                break
            under = before(key)
            under_first = largest and under != key
            middle = split_over(buffer, here + a, b - a, buffer, other + a, under if under_first else key) - other
            first, second, of_first, of_second, of_equal = middle, middle, other, other, other
            if under_first:
                if alike(buffer, other + middle, other + b, key):
                    second = b
                elif b - middle > few:
                    second = split_over(buffer, other + middle, b - middle, buffer, here + middle, key) - here
                    of_second = of_equal = here
            elif smallest or middle == b:
                if alike(buffer, other + a, other + middle, key):
                    first = a
                elif middle - a > few:
                    first = split_over(buffer, other + a, middle - a, buffer, here + a, under) - here
                    of_first = of_equal = here
            if first < second:
                copy_keys(buffer, of_equal + first, keys, low + first, second - first)
            ranges[waiting, 0], ranges[waiting, 1], ranges[waiting, 2], ranges[waiting, 3] = second, b, of_second, tries
            waiting += 1
            b, here = first, of_first
        sort_few(buffer, here + a, keys, low + a, b - a)
        if waiting == 0:
            return True
        waiting -= 1
        a, b, here, tries = ranges[waiting, 0], ranges[waiting, 1], ranges[waiting, 2], ranges[waiting, 3]


@inline
def _put_back(keys: Keys, low: int, buffer: Keys, ranges: Numbers, count: int) -> None:
    """Copy the parts that wait to their places among the keys."""
    for k in range(count):
        a, b, here = ranges[k, 0], ranges[k, 1], ranges[k, 2]
        copy_keys(buffer, here + a, keys, low + a, b - a)
