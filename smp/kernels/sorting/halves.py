"""Split keys in two by a pivot: the first step of the fast form of sort for arrays that are too short for many parts.

    count    every stream counts the keys of its block that are below the pivot
    move     every stream moves those keys behind those of the streams before it, and its other keys, in the same way,
             behind all keys that are below the pivot

             block 0    block 1          pivot 5
             7 2 9 4    1 8 3 6          2 4 │ 1 3 │ 7 9 │ 8 6

Two streams then sort a half each.  NaN is not below any pivot.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from smp import local
from smp._runtime.program.processor import share

from ..in_process import side_by_side
from .keys import Keys
from .parts import Numbers

LEAST_SHARE = 0.3
"""Least share of a sample that must be below its median; it may be less than half, because equal keys stay together."""
_AT_ONCE = 1 << 14  # keys that are counted in 32 bits, as many at a time as a vector has lanes


@local
def count_below(keys: Keys, pivot: float) -> int:
    """Return how many keys are below the pivot."""
    total = 0
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : min(start + _AT_ONCE, len(keys))]
        below = np.uint32(0)
        for i in range(len(some)):
            below += np.uint32(some[i] < pivot)
        total += int(below)
    return total


@local
def move_to_halves(keys: Keys, pivot: float, into: Keys, low: int, high: int) -> None:
    """Move the keys below the pivot to the places from ``low`` on, the others to those from ``high`` on, in order."""
    a, b = np.uint64(low), np.uint64(high)
    for i in range(len(keys)):
        below = np.uint64(keys[i] < pivot)
        into[b + below * (a - b)] = keys[i]  # without a branch, which would be mispredicted half of the time
        a += below
        b += np.uint64(1) - below


def pivot_of(sample: Keys) -> Keys | None:
    """Return the median of an ascending sample, as an array of one key; None if it would split the keys unevenly."""
    middle = len(sample) // 2
    pivot = sample[middle : middle + 1]
    below = np.count_nonzero(sample < pivot) / len(sample)
    return pivot if below >= LEAST_SHARE else None


def halve(keys: Keys, pivot: Keys, streams: int, into: Keys) -> Numbers:
    """Move all keys into two parts; return the end of each.

    Parameters
    ----------
    keys : plain ndarray of shape (n,)
    pivot : ndarray of one key
    streams : int
    into : plain ndarray of shape (n,)
        It shares no memory with the keys.
    """
    blocks = [share(len(keys), k, streams) for k in range(streams)]
    below = side_by_side(*(partial(count_below, keys[block], pivot[0]) for block in blocks))
    low, high = 0, sum(below)
    ends, moves = np.array([high, len(keys)]), []
    for block, own in zip(blocks, below, strict=True):
        moves.append(partial(move_to_halves, keys[block], pivot[0], into, low, high))
        low, high = low + own, high + (block.stop - block.start) - own
    side_by_side(*moves)
    return ends
