"""Counting sort: integers of a narrow range are counted, then written anew, run by run.

    keys      7 5 7 9 5 5        lowest 5
    counts    3 0 2 0 1          every stream counts its block; then all are added up
    out       5 5 5 7 7 9        every stream writes its block, wherever in a run that begins

The keys are read once and not moved.  The range is guessed from a sample: a key outside is found while counting,
before anything is written.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from smp import local
from smp._runtime.program.processor import share

from ..in_process import side_by_side
from .keys import Keys
from .parts import is_plain, pieces

WIDEST = 1 << 17
"""Integers in a range; so many counters fit a core's second cache."""
_AT_ONCE = 1024  # keys that are looked at by vector instructions before they are counted


@local
def count(keys: Keys, lowest: int, few: NDArray[np.uint8], counts: NDArray[np.uint32]) -> bool:
    """Count each key; stop where one is out of range, and return whether all were within.

    A count is ``counts[k] + few[k]``: the small counters fit nearly into the nearest cache, and each that has come
    round is noted in the other.
    """
    low, last = np.uint64(lowest), np.uint64(len(counts) - 1)
    places = np.empty(_AT_ONCE, np.uint32)
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : min(start + _AT_ONCE, len(keys))]
        farthest = np.uint64(0)
        for i in range(len(some)):
            place = np.uint64(some[i]) - low  # of a key below the range, huge
            farthest = max(farthest, place)
            places[i] = np.uint32(place)
        if farthest > last:
            return False
        for i in range(len(some)):
            counted = np.uint8(few[places[i]] + np.uint8(1))
            few[places[i]] = counted
            if counted == 0:
                counts[places[i]] += np.uint32(256)
    return True


@local
def write_runs(ends: NDArray[np.int64], lowest: int, start: int, stop: int, out: Keys) -> None:
    """Write ``out[start:stop]``; the keys ``lowest + k`` end at ``ends[k]``."""
    k = np.searchsorted(ends, start, side="right")
    while start < stop:
        upto, key = min(ends[k], stop), out.dtype.type(np.uint64(lowest) + np.uint64(k))
        for i in range(start, upto):
            out[i] = key
        start, k = upto, k + 1


def range_around(sample: Keys) -> tuple[int, int] | None:
    """Return (lowest, width) of a range that all keys may be in; None where it is wide, or these are no integers.

    Parameters
    ----------
    sample : ndarray of shape (s,)
        Ascending.  The range reaches beyond it by a sixteenth of what it spans, on each side.
    """
    if sample.dtype.kind == "f":
        return None
    first, last, limits = int(sample[0]), int(sample[-1]), np.iinfo(sample.dtype)
    margin = (last - first) // 16 + 16
    lowest = max(limits.min, first - margin)
    width = min(limits.max, last + margin) - lowest + 1
    return (lowest, width) if width <= WIDEST else None


def sort_by_counting(keys: Keys, lowest: int, width: int, out: Keys, streams: int) -> bool:
    """Sort integers into ``out`` if they are all in a range; return whether they were.

    Parameters
    ----------
    keys : integer array of shape (n,)
        Any layout and byte order; fewer than 2**32.
    lowest, width : int
        The range is ``lowest`` to ``lowest + width - 1``, within the limits of the dtype.
    out : ndarray of shape (n,) and the keys' dtype
        It may be ``keys``, and is untouched if a key is out of range.
    streams : int
    """
    counts, few = np.zeros((streams, width), np.uint32), np.zeros((streams, width), np.uint8)
    blocks = [share(len(keys), k, streams) for k in range(streams)]
    low = lowest if lowest <= np.iinfo(np.int64).max else lowest - (1 << 64)  # the same word

    def count_block(k: int) -> bool:
        return all(count(some, low, few[k], counts[k]) for _, some in pieces(keys, blocks[k]))

    if not all(side_by_side(*(partial(count_block, k) for k in range(streams)))):
        return False
    ends = np.cumsum(counts.sum(axis=0, dtype=np.int64) + few.sum(axis=0, dtype=np.int64))
    made = out if is_plain(out) else np.empty(len(out), out.dtype.newbyteorder("="))
    side_by_side(*(partial(write_runs, ends, low, block.start, block.stop, made) for block in blocks))
    if made is not out:
        out[...] = made
    return True
