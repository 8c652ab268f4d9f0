"""The order of keys of few values: each value gets a number, and the numbers are counted.

    keys      7.5 0.1 7.5 2.0 0.1
    numbers   0   1   0   2   1       of the values 7.5, 0.1, 2.0, as they come; a small table finds them
    places    0.1: 0 and 1   2.0: 2   7.5: 3 and 4
    order     1 4 3 0 2               each index goes to the next place of its value

Each key is looked up once and each index is written once, whatever the values are and however often each of them
occurs.  NumPy's method is faster for two to four values that are equally frequent, and for others it is slower, for some
of them many times.

The keys are gone through in four parts side by side, each with counters of its own, because a counter that was just
written can be read again only some cycles later.
"""

from __future__ import annotations

import numpy as np

from smp import local

from ..keys import Images, Keys, Rule, image, rule_of, unsigned
from ..parts import Numbers, is_plain, native

MOST_VALUES = 256
"""Most values that get a number, so that it fits into a byte."""
WAYS = 4
"""Parts of the keys that are gone through side by side."""
_TABLE_BITS = 10
"""The table has 2 to this power entries, at least four for each value."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2 ** 64 over the golden ratio: the upper bits of a product with it differ for keys that differ in any bits."""


def argsort_values(keys: Keys) -> Numbers | None:
    """Return the order of keys of at most `MOST_VALUES` values, or None if there are more.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`
    """
    plain = keys if is_plain(keys) else native(keys)
    order = np.empty(len(keys), np.int64)
    found = order_values(plain.view(unsigned(plain.dtype)), rule_of(plain.dtype), order)
    return order if found else None


@local
def order_values(bits: Images, rule: Rule, order: Numbers) -> bool:
    """Write the order of keys with these bits; return False if they have too many values."""
    if len(bits) == 0:
        return True
    part, rest = np.uint64(len(bits) // WAYS), np.uint64(len(bits) % WAYS)  # the last part has the rest
    numbers, counts = np.empty(len(bits), np.uint8), np.zeros((WAYS, MOST_VALUES), np.int64)
    values, count = np.empty(MOST_VALUES, bits.dtype), 1
    number, held = np.zeros(1 << _TABLE_BITS, np.uint8), np.empty(1 << _TABLE_BITS, bits.dtype)
    first = values[0] = bits[0]
    held[:] = first  # number 0, which an entry has as long as it is free
    for k in range(part + rest):
        for way in range(WAYS):
            if k < part or way == WAYS - 1:
                i = np.uint64(way) * part + np.uint64(k)
                key = bits[i]
                at = (np.uint64(key) * _SPREAD) >> np.uint64(64 - _TABLE_BITS)
                if held[at] != key:
                    while held[at] != key and held[at] != first:
                        at = (at + np.uint64(1)) & np.uint64((1 << _TABLE_BITS) - 1)
                    if held[at] != key:
                        if count == MOST_VALUES:
                            return False
                        held[at] = values[count] = key
                        number[at] = count
                        count += 1
                numbers[i] = number[at]
                counts[way, number[at]] += 1
    _to_places(values[:count], rule, counts)
    for k in range(part + rest):
        for way in range(WAYS):
            if k < part or way == WAYS - 1:
                i = np.uint64(way) * part + np.uint64(k)
                place = counts[way, numbers[i]]
                order[np.uint64(place)] = i
                counts[way, numbers[i]] = place + 1
    return True


@local
def _to_places(values: Images, rule: Rule, counts: Numbers) -> None:
    """Replace the numbers of keys of each value in each part by the first place of these keys in the order."""
    count = len(values)
    ranked, images = np.empty(count, np.int64), np.empty(count, np.uint64)
    for k in range(count):
        images[k] = image(values[k], rule)
    for k in range(count):
        rank = 0
        for j in range(count):  # vector instructions compare with several at once
            rank += images[j] < images[k]
        ranked[rank] = k
    place = np.int64(0)
    for k in ranked:
        for way in range(WAYS):
            size = counts[way, k]
            counts[way, k] = place
            place += size
