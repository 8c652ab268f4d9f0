"""The fast forms of sort and argsort, on streams of the calling process, and when they are worth it.

    look        see `smp.kernels.sorting.sampling`: narrow range?  few distinct keys?  a scale that spreads them?
    counting    see `smp.kernels.sorting.counting`
    partition   see `smp.kernels.sorting.parts`; then NumPy sorts the parts, as many at a time as there are streams
    halves      see `smp.kernels.sorting.halves`; the same with two parts: for arrays of middle length

NumPy's sort holds no lock of the interpreter, and its vector instructions sort a part in a core's cache at about half
the time that a key of a long array takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .counting import range_around, sort_by_counting
from .halves import halve, pivot_of
from .keys import Keys
from .parts import MOST_PARTS, Numbers, Scale, each_part, heaviest, is_plain, partition, scale_of
from .sampling import entropy, look

WORTH_HALVING, WORTH_PARTS = 3 << 20, 1 << 24
"""Bytes of keys from which "auto" may leave NumPy's sort: for counting or halves, and for parts instead of halves."""
WORTH_RANKING = 1 << 20
"""The same for argsort."""
KEYS_A_COUNTER = 4
"""Counting is worth it from so many keys for each integer in the range."""
PART_BYTES = 1 << 17
"""Keys and numbers in a part: a fraction of a core's second cache, as parts are not all the same."""
MOST_KEYS = (1 << 32) - 1
"""What the counters hold."""
LEAST_BITS = 6.0
"""Entropy of a sample, of at most 10 bits, below which NumPy's sort gains as much from equal keys."""
MOST_IN_A_CELL = 0.25
"""Share of the keys in one cell above which moving them would leave too much to sort."""


def sort_fast(keys: Keys, out: Keys, streams: int, algorithm: str = "auto", sample: Keys | None = None) -> None:
    """Sort keys into ``out``.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`, or such in the other byte order
    out : ndarray of shape (n,) of that type, in either byte order
        It may share memory with the keys.
    streams : int
    algorithm : {"auto", "numpy", "halves", "partition", "counting"}
        "auto" is the rule by which `smp.kernels.sort` goes without models.  Counting gives way to halves where the
        range turns out to be wide, and these and parts to NumPy's sort where too many keys are equal.
    sample : ndarray of shape (s,), optional
        Some of the keys, ascending, if they have been looked at.
    """
    if _may_pay(keys, WORTH_HALVING, streams, algorithm):
        sample = look(keys).sample if sample is None else sample
        if algorithm in ("auto", "counting") and _counted(keys, sample, out, streams, algorithm):
            return
        move = _way(keys, sample, streams, "halves" if algorithm == "counting" else algorithm)
        if move:
            _sort_parts(keys, out, streams, move)
            return
    if out is not keys:  # NumPy does not see every overlap of strided arrays
        np.copyto(out, keys.copy() if np.may_share_memory(keys, out) else keys)
    out.sort()


def argsort_fast(keys: Keys, streams: int, algorithm: str = "auto", sample: Keys | None = None) -> Numbers:
    """Return the order that sorts keys; see `sort_fast`."""
    scale = None
    if _may_pay(keys, WORTH_RANKING, streams, algorithm):
        scale = _scale(look(keys).sample if sample is None else sample, algorithm)
    if not scale:
        return np.argsort(keys).astype(np.int64, copy=False)
    moved, order = np.empty(len(keys), keys.dtype.newbyteorder("=")), np.empty(len(keys), np.int64)

    def sort_part(part: slice) -> None:
        order[part] = order[part][np.argsort(moved[part])]

    ends = partition(keys, scale, _parts(moved.nbytes + order.nbytes), streams, moved, order)
    each_part(sort_part, ends, streams)
    return order


def repeats(keys: Keys) -> bool:
    """Whether few of 64 keys differ: then NumPy's sort is so fast that the look at a sample would show."""
    return len(set(keys[:: max(1, len(keys) // 64)].tolist())) < 32


def _way(keys: Keys, sample: Keys, streams: int, algorithm: str) -> Callable[[Keys], Numbers] | None:
    """Return what brings the keys into parts, if that is asked for or pays; see `_sort_parts`."""
    if algorithm == "halves" or (algorithm == "auto" and keys.nbytes < WORTH_PARTS):
        pivot = pivot_of(sample)
        plain = keys if is_plain(keys) else np.array(keys, keys.dtype.newbyteorder("="))
        return None if pivot is None else partial(halve, plain, pivot, streams)
    scale = _scale(sample, algorithm)
    return None if scale is None else lambda into: partition(keys, scale, _parts(keys.nbytes), streams, into)


def _sort_parts(keys: Keys, out: Keys, streams: int, move: Callable[[Keys], Numbers]) -> None:
    """Sort by parts: in ``out``, or beside it and then copied, each part while it is in the cache.

    ``move`` brings the keys into parts, in the array that it is given, and returns where each ends.
    """
    beside = not is_plain(out) or np.may_share_memory(keys, out)
    moved = np.empty(len(keys), keys.dtype.newbyteorder("=")) if beside else out

    def sort_part(part: slice) -> None:
        moved[part].sort()
        if beside:
            out[part] = moved[part]

    each_part(sort_part, move(moved), streams)


def _counted(keys: Keys, sample: Keys, out: Keys, streams: int, algorithm: str) -> bool:
    """Sort by counting if that is asked for or pays; return whether it is done."""
    for lowest, width in _ranges(sample):
        if algorithm == "auto" and (width * KEYS_A_COUNTER > len(keys) or entropy(sample) < LEAST_BITS):
            return False
        if sort_by_counting(keys, lowest, width, out, streams):
            return True
    return False


def _ranges(sample: Keys) -> Iterator[tuple[int, int]]:
    """Ranges that all keys may be in, one wider than the other: where many are beyond the first, that is soon seen."""
    narrow = range_around(sample)
    if narrow is not None:
        yield narrow
        first, last, limits = int(sample[0]), int(sample[-1]), np.iinfo(sample.dtype)
        reach = (last - first) // 2
        ends = [max(limits.min, first - reach), min(limits.max, last + reach)]
        wide = range_around(np.array(ends, sample.dtype))
        if wide is not None:
            yield wide


def _parts(octets: int) -> int:
    return min(MOST_PARTS, octets // PART_BYTES + 2)


def _may_pay(keys: Keys, least: int, streams: int, algorithm: str) -> bool:
    if algorithm in ("halves", "partition", "counting"):
        return 0 < len(keys) <= MOST_KEYS
    return algorithm == "auto" and streams > 1 and keys.nbytes >= least and len(keys) <= MOST_KEYS


def _scale(sample: Keys, algorithm: str) -> Scale | None:
    """Return a scale for the parts, if that is asked for or pays."""
    scale = scale_of(sample)
    if scale and algorithm == "auto" and (entropy(sample) < LEAST_BITS or heaviest(sample, scale) > MOST_IN_A_CELL):
        return None
    return scale
