"""Sort a short part of the keys with vectors, by splits from one half of a buffer to the other.

    buffer     │ half                │ other half          │     a split reads one half and writes the same places of
                                                                 the other, from both ends
    keys       │ sorted │ equal │ sorted │ ...                   networks read a half and write here

A split in place needs free places, which it makes by keeping some keys elsewhere; for 256 keys of four bytes, that
takes three times as long as the rest.  Here all places are free.

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
    for i in range(high - low):
        buffer[i] = keys[low + i]
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
            by, under_first = key, key == buffer[at + _SAMPLE - 1]
            if under_first:
                by = before(key)
                under_first = by != key
            middle = split_over(buffer, here + a, b - a, buffer, other + a, by) - other
            first, second, of_first, of_second, of_equal = middle, middle, other, other, here
            if under_first:
                if b - middle > few:
                    second = split_over(buffer, other + middle, b - middle, buffer, here + middle, key) - here
                    of_second = here
            elif key == buffer[at] or middle == b:
                by = before(key)
                if by == key:
                    first, of_equal = a, other
                elif middle - a > few:
                    first = split_over(buffer, other + a, middle - a, buffer, here + a, by) - here
                    of_first = here
            for i in range(first, second):
                keys[low + i] = buffer[of_equal + i]
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
        for i in range(ranges[k, 0], ranges[k, 1]):
            keys[low + i] = buffer[ranges[k, 2] + i]
