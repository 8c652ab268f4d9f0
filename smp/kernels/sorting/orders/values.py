"""The order of keys of few values: each value gets a number, and the numbers are counted.

    keys      7.5 0.1 7.5 2.0 0.1
    numbers   0   1   0   2   1       of the values 7.5, 0.1, 2.0, as they come; a small table finds them
    places    0.1: 0 and 1   2.0: 2   7.5: 3 and 4
    order     1 4 3 0 2               each index goes to the next place of its value

Each key is looked up once and each index is written once, whatever the values are and however often each of them
occurs.  Keys of very few values get no numbers: ``passes`` finds the indices of one value after another.

Each stream numbers the values of a block of keys, and writes the indices of this block.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from smp import local
from smp._runtime.loops.atomics import prefetch_write
from smp._runtime.program.processor import share

from ...in_process import side_by_side
from ..keys import Images, Keys, Rule, image, rule_of, unsigned
from ..parts import Numbers, is_plain, native
from .passes import count_few, most_passes, write_passes

MOST_VALUES = 256
"""Most values that get a number, so that it fits into a byte."""
WAYS = 4
"""Counters of each value, used in turn, because one that was just written can be read again only some cycles later."""
_TABLE_BITS = 11
"""The table has 2 to this power entries, at least eight for each value."""
_AHEAD = 8  # places between a write and the line that is prefetched; a CPU does so for some thirty values, not for more
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2 ** 64 over the golden ratio: the upper bits of a product with it differ for keys that differ in any bits."""


def argsort_values(keys: Keys, streams: int = 1) -> Numbers | None:
    """Return the order of keys of at most `MOST_VALUES` values, or None if there are more.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`
    streams : int
        Number of streams.
    """
    plain = keys if is_plain(keys) else native(keys)
    bits, rule, order = plain.view(unsigned(plain.dtype)), rule_of(plain.dtype), np.empty(len(keys), np.int64)
    most = most_passes(bits)
    if streams == 1:
        return order if order_values(bits, rule, most, order) else None
    blocks = [share(len(bits), k, streams) for k in range(streams)]
    numbers, values = np.empty(len(bits), np.uint8), np.empty((streams, MOST_VALUES), bits.dtype)
    counts = np.zeros((streams, MOST_VALUES), np.int64)
    counted = (partial(count, bits[b], most, numbers[b], values[k], counts[k]) for k, b in enumerate(blocks))
    found = np.array(side_by_side(*counted))
    sizes = counts.copy()
    if found.min() < 0 or not to_places(values, found, rule, counts):
        return None
    ends = counts + sizes
    written = (
        partial(write, bits[b], most, numbers[b], b.start, values[k], found[k], counts[k], ends[k], order)
        for k, b in enumerate(blocks)
    )
    side_by_side(*written)
    return order


@local
def order_values(bits: Images, rule: Rule, most: int, order: Numbers) -> bool:
    """Write the order of keys with these bits, on one stream; return False if they have too many values."""
    numbers, values = np.empty(len(bits), np.uint8), np.empty((1, MOST_VALUES), bits.dtype)
    counts, found = np.zeros((1, MOST_VALUES), np.int64), np.empty(1, np.int64)
    found[0] = count(bits, most, numbers, values[0], counts[0])
    if found[0] < 0:
        return False
    sizes = counts[0].copy()
    to_places(values, found, rule, counts)
    write(bits, most, numbers, 0, values[0], found[0], counts[0], counts[0] + sizes, order)
    return True


@local
def count(bits: Images, most: int, numbers: Images, values: Images, counts: Numbers) -> int:
    """Find the values of some keys and count the keys of each; number them if there are more than ``most`` values.

    Return the number of values, or -1 if there are too many.
    """
    found = count_few(bits, most, values, counts)
    return found if found >= 0 else number(bits, numbers, values, counts)


@local
def write(
    bits: Images,
    most: int,
    numbers: Images,
    start: int,
    values: Images,
    found: int,
    places: Numbers,
    ends: Numbers,
    order: Numbers,
) -> None:
    """Write the indices of some keys, from ``start`` on, to the places of their values, after `count`."""
    if found <= most:
        write_passes(bits, start, values, found, places, ends, order)
    else:
        write_order(numbers, start, places, order)


@local
def number(bits: Images, numbers: Images, values: Images, counts: Numbers) -> int:
    """Number the values of some keys as they come.

    Parameters
    ----------
    bits : uint32 or uint64 array (n,)
        The bits of the keys.
    numbers : uint8 array (n,)
        Receives the number of each key's value.
    values : array (`MOST_VALUES`,) of the type of the bits
        Receives the values.
    counts : int64 array (`MOST_VALUES`,)
        Receives the number of keys of each value.

    Returns
    -------
    int
        Number of values; -1 if there are too many.
    """
    if len(bits) == 0:
        return 0
    given, held = np.zeros(1 << _TABLE_BITS, np.uint8), np.empty(1 << _TABLE_BITS, bits.dtype)
    first, count = bits[0], 1
    values[0], held[:] = first, first  # number 0, which an entry has as long as it is free
    for i in range(len(bits)):
        key = bits[i]
        at = (np.uint64(key) * _SPREAD) >> np.uint64(64 - _TABLE_BITS)
        if held[at] != key:
            while held[at] != key and held[at] != first:
                at = (at + np.uint64(1)) & np.uint64((1 << _TABLE_BITS) - 1)
            if held[at] != key:
                if count == MOST_VALUES:
                    return -1
                given[at], held[at], values[count] = count, key, key
                count += 1
        numbers[i] = given[at]
    _count(numbers, counts)  # not in this loop, where a counter's place is known late: a load may have to wait for it
    return count


@local
def _count(numbers: Images, counts: Numbers) -> None:
    """Count how often each number occurs."""
    counted = np.zeros((MOST_VALUES, WAYS), np.int64)
    whole = len(numbers) // WAYS * WAYS
    for i in range(0, whole, WAYS):
        for way in range(WAYS):
            counted[numbers[i + way], way] += 1
    for i in range(whole, len(numbers)):
        counted[numbers[i], 0] += 1
    for k in range(MOST_VALUES):
        counts[k] = counted[k].sum()


@local
def to_places(values: Images, found: Numbers, rule: Rule, counts: Numbers) -> bool:
    """Replace numbers of keys by the first places of these keys in the order; return False if values are too many.

    Parameters
    ----------
    values : uint32 or uint64 array (blocks, `MOST_VALUES`)
        Bits of the values of each block, in any order.
    found : int64 array (blocks,)
        Number of values of each block.
    rule : Rule
        See `smp.kernels.sorting.keys.rule_of`.
    counts : int64 array (blocks, `MOST_VALUES`)
        Numbers of keys of each value of each block.  Of equal keys, those of the first block come first.
    """
    merged, count = np.empty(MOST_VALUES, np.uint64), 0
    numbers = np.full((len(found), MOST_VALUES), -1, np.int64)  # of the merged values in each block
    for block in range(len(found)):
        for k in range(found[block]):
            x, m = image(values[block, k], rule), count if block == 0 else 0
            while m < count and merged[m] != x:
                m += 1
            if m == count:
                if count == MOST_VALUES:
                    return False
                merged[m] = x
                count += 1
            numbers[block, m] = k
    ranked = np.empty(count, np.int64)
    for k in range(count):
        rank = 0
        for j in range(count):  # vector instructions compare with several at once
            rank += merged[j] < merged[k]
        ranked[rank] = k
    place = np.int64(0)
    for each in ranked:
        for block in range(len(found)):
            here = numbers[block, each]
            if here >= 0:
                size = counts[block, here]
                counts[block, here] = place
                place += size
    return True


@local
def write_order(numbers: Images, start: int, places: Numbers, order: Numbers) -> None:
    """Write the indices of some keys, from ``start`` on, to the next places of their values.

    Parameters
    ----------
    numbers : uint8 array (n,)
        Number of each key's value.
    start : int
        Index of the first of the keys.
    places : int64 array (`MOST_VALUES`,)
        Next place of each value.
    order : int64 array
        Receives the indices.
    """
    for i in range(len(numbers)):
        place = places[numbers[i]]
        prefetch_write(order, place + _AHEAD)
        order[np.uint64(place)] = start + i
        places[numbers[i]] = place + 1
