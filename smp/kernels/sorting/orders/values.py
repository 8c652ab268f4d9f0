"""The order of keys of few values: each value gets a number, and the numbers are counted.

    keys      7.5 0.1 7.5 2.0 0.1
    numbers   0   1   0   2   1       of the values 7.5, 0.1, 2.0, as they come; a small table finds them
    places    0.1: 0 and 1   2.0: 2   7.5: 3 and 4
    order     1 4 3 0 2               each index goes to the next place of its value

Each key is looked up once and each index is written once, whatever the values are and however often each of them
occurs.  NumPy's method is faster for a few values that are equally frequent, and several times slower if some are rare.
"""

from __future__ import annotations

import numpy as np

from smp import local

from ..keys import Images, Keys, Rule, image, rule_of, unsigned
from ..parts import Numbers, is_plain, native

MOST_VALUES = 256
"""Most values that get a number, so that it fits into a byte."""
_TABLE_BITS = 10
"""The table has 2 to this power entries, at least four for each value."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2 ** 64 over the golden ratio: the upper bits of a product with it differ for images that differ in any bits."""


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
    table, values = np.full(1 << _TABLE_BITS, -1, np.int16), np.empty(MOST_VALUES, np.uint64)
    numbers, counts, count = np.empty(len(bits), np.uint8), np.zeros(MOST_VALUES, np.int64), 0
    for i in range(len(bits)):
        key = image(bits[i], rule)
        at = (key * _SPREAD) >> np.uint64(64 - _TABLE_BITS)
        while table[at] >= 0 and values[table[at]] != key:
            at = (at + np.uint64(1)) & np.uint64((1 << _TABLE_BITS) - 1)
        if table[at] < 0:
            if count == MOST_VALUES:
                return False
            table[at], values[count] = count, key
            count += 1
        numbers[i] = np.uint8(table[at])
        counts[table[at]] += 1
    _to_places(values[:count], counts)
    for i in range(len(bits)):
        order[np.uint64(counts[numbers[i]])] = i
        counts[numbers[i]] += 1
    return True


@local
def _to_places(values: Images, counts: Numbers) -> None:
    """Replace the number of keys of each value by the first place of these keys in the order."""
    ranked = np.empty(len(values), np.int64)
    for k in range(len(values)):
        j = k
        while j > 0 and values[ranked[j - 1]] > values[k]:
            ranked[j] = ranked[j - 1]
            j -= 1
        ranked[j] = k
    place = np.int64(0)
    for j in range(len(ranked)):
        size = counts[ranked[j]]
        counts[ranked[j]] = place
        place += size
