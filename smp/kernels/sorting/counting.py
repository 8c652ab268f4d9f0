"""Counting sort: integers of a narrow range are counted, then written out run by run.

    keys      7 5 7 9 5 5        lowest 5
    counts    3 0 2 0 1          every stream counts its block; then all counts are added up
    out       5 5 5 7 7 9        every stream writes its block, which may begin anywhere in a run

The keys are read once and not moved.  The range is guessed from a sample.  A key outside of it is found during the
count, before anything is written.
"""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import inline, local
from smp._runtime.program.processor import share

from ..in_process import side_by_side
from .keys import Keys
from .parts import is_plain, pieces
from .sampling import KEYS_THAT_REPEAT, narrow_by

WIDEST = 1 << 17
"""Largest number of integers in a range; that many counters fit a core's second-level cache."""
_AT_ONCE = 1024  # keys that are looked at by vector instructions before they are counted
_GROUP, _SHORT = 8, 32  # keys that are written at once, and of the longest run that is written in this way


@local
def count(keys: Keys, lowest: int, few: NDArray[np.uint8], counts: NDArray[np.uint32]) -> bool:
    """Count each key; stop if one is out of range, and return True if all are in range.

    A count is ``counts[k] + few[k]``.  The small counters ``few`` nearly fit into the nearest cache; each time that one
    of them wraps round to 0, 256 is added to the large one.
    """
    low, last = np.uint64(lowest), np.uint32(len(counts) - 1)
    places = np.empty(_AT_ONCE, np.uint32)
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : min(start + _AT_ONCE, len(keys))]
        farthest, high = np.uint32(0), np.uint64(0)
        for i in range(len(some)):
            place = np.uint64(some[i]) - low  # huge for a key below the range, also in the low 32 bits of a narrow key
            if keys.itemsize > 4:
                high |= place
            places[i] = np.uint32(place)
            farthest = max(farthest, places[i])  # AVX2 has no maximum of 64 bits
        if farthest > last or high >> np.uint64(32):
            return False
        for i in range(len(some)):
            counted = np.uint8(few[places[i]] + np.uint8(1))
            few[places[i]] = counted
            if counted == 0:
                counts[places[i]] += np.uint32(256)
    return True


@local
def write_runs(ends: NDArray[np.int64], lowest: int, start: int, stop: int, out: Keys) -> None:
    """Write ``out[start:stop]``; the run of keys ``lowest + k`` ends at ``ends[k]``."""
    k = np.searchsorted(ends, start, side="right")
    while start < stop:
        upto, key = min(ends[k], stop), out.dtype.type(np.uint64(lowest) + np.uint64(k))
        _write_run(out, np.uint64(start), np.uint64(upto), key, np.uint64(stop))
        start, k = upto, k + 1


@inline
def _write_run(out: Keys, start: np.uint64, stop: np.uint64, key: Any, end: np.uint64) -> None:
    """Write ``out[start:stop]``, and perhaps a few keys after it but before ``end``, where later runs are written.

    A short run is written by whole groups.  A long one is left to vector instructions, which take a step for each key
    that does not fill a vector.  Places have no sign: otherwise each would be tested for counting from the end.
    """
    if stop - start <= np.uint64(_SHORT) and start + np.uint64(_SHORT) <= end:
        while start < stop:
            for j in range(_GROUP):
                out[start + np.uint64(j)] = key
            start += np.uint64(_GROUP)
    else:
        for i in range(start, stop):
            out[i] = key


@local
def count_alone(keys: Keys, widest: int, out: Keys) -> bool:
    """Sort integers by counting on one stream, in one call of compiled code; return True if their range is narrow.

    If it is wider than ``widest`` integers, ``out`` is unchanged.
    """
    least, largest = keys[0], keys[0]
    for i in range(len(keys)):  # without vector instructions if it were "for key in keys"
        least = min(least, keys[i])
        largest = max(largest, keys[i])
    reach = np.uint64(largest) - np.uint64(least)
    if reach >= np.uint64(widest):
        return False
    width = np.int64(reach) + 1
    counts, few = np.zeros(width, np.uint32), np.zeros(width, np.uint8)
    count(keys, int(np.int64(least)), few, counts)
    start, end = np.uint64(0), np.uint64(len(out))
    for k in range(width):
        stop = start + np.uint64(counts[k]) + np.uint64(few[k])
        _write_run(out, start, stop, out.dtype.type(np.uint64(least) + np.uint64(k)), end)
        start = stop
    return True


@local
def count_various(keys: Keys, widest: int, out: Keys) -> bool:
    """Do what `count_alone` does, unless some keys show a wide range, or few values, which NumPy sorts sooner."""
    return narrow_by(keys, max(1, len(keys) // KEYS_THAT_REPEAT), widest - 1) and count_alone(keys, widest, out)


def range_around(sample: Keys) -> tuple[int, int] | None:
    """Return (lowest, width) of a range that may hold all keys; None if it is wider than `WIDEST`, or for floats.

    Parameters
    ----------
    sample : ndarray of shape (s,)
        Some of the keys, ascending.  On each side, the range reaches beyond the sample by a sixteenth of its span and
        16 more.
    """
    if sample.dtype.kind == "f":
        return None
    first, last, (least, largest) = int(sample[0]), int(sample[-1]), _limits(sample.dtype)
    margin = (last - first) // 16 + 16
    lowest = max(least, first - margin)
    width = min(largest, last + margin) - lowest + 1
    return (lowest, width) if width <= WIDEST else None


@functools.cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the largest integer of a type; NumPy takes a microsecond for that."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def count_exactly(keys: Keys, widest: int, out: Keys, streams: int) -> bool:
    """Sort integers into ``out`` as `sort_by_counting` does, but find the range of all keys first.

    Return True if it is not wider than ``widest`` integers, and the keys are sorted.
    """
    if streams == 1 and is_plain(keys) and is_plain(out):
        return bool(count_alone(keys, widest, out))
    lowest = int(keys.min())
    width = int(keys.max()) - lowest + 1
    return width <= widest and sort_by_counting(keys, lowest, width, out, streams)


def sort_by_counting(keys: Keys, lowest: int, width: int, out: Keys, streams: int) -> bool:
    """Sort integers into ``out`` if they are all in a range; return True if they are.

    Parameters
    ----------
    keys : integer array of shape (n,)
        Fewer than 2**32 keys, of any layout and byte order.
    lowest, width : int
        The range is ``lowest`` to ``lowest + width - 1``, within the limits of the dtype.
    out : ndarray of shape (n,) and the keys' dtype
        Receives the result.  It may be ``keys``, and is unchanged if a key is out of range.
    streams : int
    """
    counts, few = np.zeros((streams, width), np.uint32), np.zeros((streams, width), np.uint8)
    blocks = [share(len(keys), k, streams) for k in range(streams)]
    low = lowest if lowest <= np.iinfo(np.int64).max else lowest - (1 << 64)  # the same 64 bits

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
