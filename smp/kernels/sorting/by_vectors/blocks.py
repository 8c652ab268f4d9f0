"""Loops that split blocks of keys by pivots, and sort parts of them, with vectors.

    [free │ unread ............. unread │ free]     a block while it is split: as many places are free as three groups
     left                              right        of vectors have; the next group is taken from the side with fewer
                                                    free places

A group is chosen before the keys of the one before it are stored, so that the CPU can read it early.  That the free
places suffice on both sides is an invariant.  With g places in a group, at least g are free on each side before a group
is stored, and 4g on both, without those of the group that is chosen next.  This is taken from the side with fewer.
There the group before it fills at most g places, and g new ones are free.  On the other side there were at least 2g, of
which g are left.

A pivot is the median of some keys.  Where many keys are equal, a part is split twice, and the middle is done.  A split
by the number before the pivot leaves those below the pivot in front.

    the pivot is the largest of some keys                          below the pivot first, then the others up to it
    it is the smallest of some keys, or no key at all is above it  those up to the pivot first, then those below it

Before the second split, its keys are looked through: often all equal the pivot, and are done.  So are all keys of a
part, if some keys are equal.

A part whose pivots were bad again and again is left to NumPy, so that the time is never quadratic.

Source: Bramas, A novel hybrid quicksort algorithm vectorized using AVX-512, for the splitting in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import inline, local
from smp._runtime.loops.atomics import prefetch
from smp._runtime.loops.compiler import merged

from ..keys import Keys
from .short import SHORT_BYTES, alike, copy_keys, sort_short
from .vectors import (
    GROUP_BYTES,
    MOST_SPLIT,
    MOST_VECTORS,
    before,
    lanes_of,
    sort_few,
    split_group,
    split_lanes_of,
    split_some,
    split_vector,
)

AHEAD_BYTES = 2048
"""Bytes between a group that is chosen and the one that is prefetched, if the keys are not in a core's cache."""
_LINE_BYTES = 64
KEPT = GROUP_BYTES  # keys that `split` keeps elsewhere: four groups of the shortest ones
Pivot = tuple[Any, bool, bool]
Numbers = NDArray[np.int64]


@inline
def pivot_of(keys: Keys, low: int, high: int, some: Keys, count: int) -> Pivot:
    """Return the median of ``count`` keys between two places, and whether it is the smallest and the largest of them.

    It is NaN if half of them are.  ``some`` receives these keys, in order.
    """
    step = (high - low) // count
    for i in range(count):
        some[i] = keys[low + step // 2 + i * step]
    sort_few(some, 0, some, 0, count)
    pivot = some[count // 2]
    return pivot, some[0] == pivot, some[count - 1] == pivot


@inline
def split_few(source: Keys, first: int, count: int, keys: Keys, left: int, right: int, pivot: Any) -> tuple[int, int]:
    """Split some keys of an array, those that fill no vector first; return the ends of the places that are left.

    Both stores of a key or vector lie in the free places, because they are as many as the keys that come, or more.
    """
    lanes = split_lanes_of(keys)
    whole, end = first + count // lanes * lanes, first + count
    if lanes > MOST_SPLIT:  # chosen lanes are stored, so that fewer keys than a vector has take one, too
        found = split_some(source, whole, end - whole, keys, left, right, pivot)
        left += found
        right -= end - whole - found
        end = whole
    for i in range(whole, end):
        keys[left] = keys[right - 1] = source[i]  # a jump would be mispredicted half of the time
        low = source[i] <= pivot
        left += low
        right -= 1 - low
    for at in range(first, whole, lanes):
        found = split_vector(source, at, keys, left, right, pivot)
        left += found
        right -= lanes - found
    return left, right


@merged
def split(keys: Keys, low: int, high: int, pivot: Any, kept: Keys, ahead: int) -> int:
    """Move the keys up to the pivot to the front; return the place of the first of the others.

    There are keys for at least one group of vectors; ``kept`` has room for four.  Keys that come ``ahead`` places after
    those that are read are prefetched, unless it is 0.
    """
    group = GROUP_BYTES // keys.itemsize
    line, groups = _LINE_BYTES // keys.itemsize, max((high - low) // group - 3, 0)
    stop = low + (1 + groups) * group
    free = group + high - stop
    copy_keys(keys, low, kept, 0, group)
    copy_keys(keys, stop, kept, group, free - group)
    left, right = low, high
    at, unread = low + group, low + 2 * group
    for _ in range(groups):
        if unread - left <= right - stop:  # chosen before the last counts are known, for which it need not wait
            then, soon = unread, unread + ahead
            unread += group
        else:
            stop -= group
            then, soon = stop, stop - ahead
        if ahead:
            for k in range(GROUP_BYTES // _LINE_BYTES):
                prefetch(keys, soon + k * line)
        count = split_group(keys, at, keys, left, right, pivot)
        left += count
        right -= group - count
        at = then
    return split_few(kept, 0, free, keys, left, right, pivot)[0]


@local(
    name="sorting.split_into",
    terms={"key": "max(high - low, 0)"},
    cost="(2 * load + 2 * store + 4 * int) * max(high - low, 0)",
)
def split_into(source: Keys, keys: Keys, low: int, high: int, pivot: Any) -> int:
    """Copy the keys between two places to the same places of another array, where they are split as `split` does it."""
    group = GROUP_BYTES // keys.itemsize
    few = (high - low) % group
    left, right = split_few(source, low, few, keys, low, high, pivot)
    for at in range(low + few, high, group):
        count = split_group(source, at, keys, left, right, pivot)
        left += count
        right -= group - count
    return left


@merged
def split_off(keys: Keys, low: int, high: int, pivot: Pivot, kept: Keys, few: int, ahead: int) -> tuple[int, int]:
    """Split a part; return the end of its first half and the place of the second.  What is between them is sorted."""
    key, smallest, largest = pivot
    if smallest and largest and alike(keys, low, high, key):
        return low, high
    under = before(key)
    under_first = largest and under != key
    start, stop, by, middle = low, high, under if under_first else key, low
    for again in range(2):
        place = split(keys, start, stop, by, kept, ahead)
        if again:
            return (middle, place) if under_first else (place, middle)
        middle = place
        if under_first:
            start, by = middle, key
        elif smallest or middle == high:
            stop, by = middle, under
        else:
            break
        if alike(keys, start, stop, key):
            return (start, high) if under_first else (low, stop)
        if stop - start <= few:
            break
    return middle, middle


@local(
    name="sorting.split",
    terms={"key": "max(high - low, 0)"},
    cost="(2 * load + 2 * store + 4 * int) * max(high - low, 0)",
)
def split_block(keys: Keys, low: int, high: int, pivot: Any) -> int:
    """Split a block by a pivot; see `split`."""
    return split(keys, low, high, pivot, np.empty(KEPT, keys.dtype), AHEAD_BYTES // keys.itemsize)


@local(name="sorting.exchange", terms={"key": "count"}, cost="(2 * load + 2 * store + int) * count")
def exchange(keys: Keys, first: int, other: int, count: int) -> None:
    """Exchange the keys of two ranges."""
    one, two = keys[first : first + count], keys[other : other + count]
    for i in range(count):  # the compiler makes vectors of loops that count from 0
        one[i], two[i] = two[i], one[i]


_HALVINGS = "max(high - low, 0) * log2(max(high - low, 0) + 2)"


@local(name="sorting.part", terms={"halving": _HALVINGS}, cost=f"(load + store + 2 * int) * {_HALVINGS}")
def sort_part(keys: Keys, low: int, high: int, left: Numbers) -> int:
    """Sort the keys between two places, but for some ranges.

    Parameters
    ----------
    keys : plain ndarray of one of `smp.kernels.sorting.keys.DTYPES`
    low, high : int
    left : int64 array (ranges, 2)
        Receives the ranges that are not sorted yet, because their pivots were bad.

    Returns
    -------
    int
        Number of these ranges.
    """
    few, half = MOST_VECTORS * lanes_of(keys), SHORT_BYTES // keys.itemsize
    buffer = np.empty(2 * half + MOST_SPLIT, keys.dtype)
    kept, some = np.empty(KEPT, keys.dtype), np.empty(31, keys.dtype)
    ranges = np.empty((96, 3), np.int64)  # the longer half waits, so there are fewer of them than bits in a length
    tries, length = 10, high - low
    while length > 0:
        tries, length = tries + 2, length >> 1
    within = np.empty((tries + 1, 4), np.int64)
    ranges[0, 0], ranges[0, 1], ranges[0, 2] = low, high, tries
    waiting, count = 1, 0
    while waiting > 0:
        waiting -= 1
        a, b, tries = ranges[waiting, 0], ranges[waiting, 1], ranges[waiting, 2]
        short = b - a <= half
        if short and sort_short(keys, a, b, tries, buffer, within):
            continue
        pivot = pivot_of(keys, a, b, some, 9 if b - a < 1024 else len(some))
        if short or tries == 0 or pivot[0] != pivot[0]:
            if count == len(left):  # all of it, then
                left[0, 0], left[0, 1] = low, high
                return 1
            left[count, 0], left[count, 1] = a, b
            count += 1
            continue
        end, start = split_off(keys, a, b, pivot, kept, few, 0)
        longer = np.int64(end - a < b - start)  # 1 if that is the second one
        for k in range(2):
            second = longer == k  # the longer one first
            ranges[waiting, 0] = start if second else a
            ranges[waiting, 1] = b if second else end
            ranges[waiting, 2] = tries - 1
            waiting += 1
    return count
