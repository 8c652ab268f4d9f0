"""The order of keys of very few values: for each value, a pass over the keys stores the indices of those that have it.

    keys      7.5 0.1 7.5 0.1 0.1
    counts    7.5: 2   0.1: 3           of the values as they come; vectors compare the keys with each
    places    0.1: 0 to 2   7.5: 3, 4
    order     1 3 4 . .                 the pass for 0.1
              1 3 4 0 2                 the pass for 7.5

A pass compares a vector of keys with its value and stores their indices at once, so that several passes take less time
than to look up each key in a table (``values``).
"""

from __future__ import annotations

import numpy as np

from smp import inline, local

from ..by_vectors.vectors import GROUP_BYTES, count_equal, lanes_of, store_equal, width
from ..keys import Images, Keys
from ..parts import Numbers

_MOST = {32: {4: 6, 8: 5}, 64: {4: 8, 8: 6}}
"""Most values of keys that are ordered by passes, by the bytes of a vector and of a key; see decision 0066."""
_SHORT, _LONG = 128, 1024
"""Keys that are counted together: where values come for the first time, and elsewhere."""


def most_passes(keys: Keys) -> int:
    """Return the most values of keys that are ordered by passes."""
    return _MOST[width()][keys.itemsize]


@local(name="sorting.count_few", terms={"key": "len(bits)"}, cost="(load + 8 * int) * len(bits)")
def count_few(bits: Images, most: int, values: Images, counts: Numbers) -> int:
    """Find the values of some keys as they come, and count the keys of each.

    Parameters
    ----------
    bits : uint32 or uint64 array (n,)
        The bits of the keys.
    most : int
        Most values.
    values : array of at least ``most``, of the type of the bits
        Receives the values.
    counts : int64 array of at least ``most``
        Receives the number of keys of each value.

    Returns
    -------
    int
        Number of values; -1 if there are too many.
    """
    here, count, low, size = np.empty(most, np.int64), 0, 0, _SHORT
    while low < len(bits):
        high = min(low + size, len(bits))
        known = _count_block(bits, low, high, values, count, here)
        if known < high - low:
            if size > _SHORT:
                size = _SHORT
                continue
            for i in range(low, high):
                new = True
                for k in range(count):
                    new &= bits[i] != values[k]
                if new:
                    if count == most:
                        return -1
                    values[count], counts[count] = bits[i], 0
                    count += 1
            _count_block(bits, low, high, values, count, here)
        for k in range(count):
            counts[k] += here[k]
        low, size = high, _LONG
    return count


@inline
def _count_block(bits: Images, low: int, high: int, values: Images, count: int, here: Numbers) -> int:
    """Count how many keys of a block have each of the values; return how many have any."""
    group, known = GROUP_BYTES // bits.itemsize, 0
    whole = low + (high - low) // group * group
    for k in range(count):
        found, value = 0, values[k]
        for at in range(low, whole, group):
            found += count_equal(bits, at, value)
        for i in range(whole, high):
            found += bits[i] == value
        here[k] = found
        known += found
    return known


@local(
    name="sorting.passes",
    terms={"pass": "count * len(bits)"},
    cost="(load + 2 * int) * count * len(bits) + store * len(bits)",
)
def write_passes(
    bits: Images, start: int, values: Images, count: int, places: Numbers, ends: Numbers, order: Numbers
) -> None:
    """Write the indices of some keys, from ``start`` on, to the places of their values.

    Parameters
    ----------
    bits : uint32 or uint64 array (n,)
        The bits of the keys.
    start : int
        Index of the first of the keys.
    values : array of at least ``count``, of the type of the bits
        The values of the keys.
    count : int
        Number of values.
    places, ends : int64 arrays of at least ``count``
        First place of each value in the order, and the place behind its last one.
    order : int64 array
        Receives the indices.
    """
    lanes = lanes_of(order)
    whole, some = len(bits) // lanes * lanes, np.empty(lanes, np.int64)
    for k in range(count):
        value, place, at = values[k], places[k], 0
        last = ends[k] - lanes
        while at < whole and place <= last:
            place += store_equal(bits, at, value, order, place, start + at)
            at += lanes
        while at < whole and place < ends[k]:  # a whole vector would write over the next value's places
            found = store_equal(bits, at, value, some, 0, start + at)
            for i in range(found):
                order[place + i] = some[i]
            place += found
            at += lanes
        for i in range(at, len(bits)):
            if place == ends[k]:
                break
            order[place] = start + i
            place += bits[i] == value
