"""The fast forms of sort, on streams of the calling process, and the rule for when they pay.

    look        see `smp.kernels.sorting.sampling`: narrow range?  few distinct keys?  a scale that spreads them?
    counting    see `smp.kernels.sorting.counting`
    partition   see `smp.kernels.sorting.parts`; then NumPy sorts the parts, as many at a time as there are streams
    halves      see `smp.kernels.sorting.halves`; the same with two parts: for arrays of middle length
    vectors     see `smp.kernels.sorting.by_vectors.in_place`; replaces the two above on CPUs where it is faster, all of
                it or only the moving

NumPy's sort does not hold the interpreter lock.  Its vector instructions sort a part that lies in a core's cache in
about half the time per key that a long array takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .by_vectors import vectors
from .by_vectors.in_place import CHUNK_BYTES, sort_by_vectors
from .counting import WIDEST, count_exactly, range_around, sort_by_counting
from .halves import halve, pivot_of
from .keys import Keys
from .parts import MOST_PARTS, Numbers, Scale, each_part, heaviest, is_plain, native, partition, scale_of
from .sampling import FEW_DIFFERENT, KEYS_THAT_REPEAT, Variety, entropy, look, repeats, seem_narrow, vary

WORTH_HALVING, WORTH_PARTS = 3 << 20, 1 << 24
"""Bytes of keys from which "auto" may take counting or halves instead of NumPy's sort, and parts instead of halves."""
WORTH_SPLITTING, MOST_SPLITTING = {32: 1 << 19, 64: 5 << 16}, 4
"""Bytes of keys from which "auto" lets several streams split them with vectors, by the bytes of a vector, and most
streams that do so; see decisions 0044 to 0046, 0063 and 0065."""
WORTH_ALONE = {4: 1 << 17, 8: 3 << 16}
"""Bytes of keys from which "auto" lets one stream sort with vectors where NumPy takes little longer, by the bytes of a
key; see decisions 0055 and 0061."""
FEWER_ALONE, DIFFERENT_ALONE = {32: 2.0, 64: math.inf}, {32: FEW_DIFFERENT, 64: KEYS_THAT_REPEAT}
"""The length from which it does so for keys of few values, over that for others, and how many of 64 others differ; by
the bytes of a vector."""
WORTH_COUNTING = {32: {4: 3 << 12, 8: 3 << 12}, 64: {4: 5 << 12, 8: 3 << 12}}
"""Bytes of keys from which "auto" may count them where NumPy sorts them, by the bytes of a vector and of a key."""
WORTH_VECTORS = 11 << 9
"""Bytes of keys from which "auto" takes vectors instead of NumPy's sort, on CPUs where these are faster."""
LEAST = 1 << 16
"""Bytes of keys below which one stream sorts them by the rule, because to ask for models takes too long."""
STREAM_BYTES = 1 << 20
"""Least bytes of keys for each stream: on 16 CPUs, 4 streams sorted 1e6 keys in less time than 16 (decision 0037)."""
WORTH_TWO = CHUNK_BYTES
"""Bytes of keys from which "auto" takes a second stream for vectors."""
FEWER_SPLITS, FEWER_FOR_STREAMS = 4, {32: 4, 64: 14}
"""Time that vectors take for keys that all differ, over that for keys of few values; and the length from which they
split keys of few values on several streams, over that for others, by the bytes of a vector."""
FEW_BITS = 5
"""Variety up to which keys are few values."""
KEYS_TO_COUNT = 1 << 18
"""Least number of keys that each stream counts."""
BYTES_A_COUNTER = {32: 8, 64: 16}
"""Bytes of keys for each integer in the range from which counting pays, by the bytes of a vector of NumPy's sort."""
PART_BYTES = 1 << 17
"""Bytes of keys and numbers in a part: a fraction of a core's second-level cache, because parts differ in size."""
MOST_KEYS = (1 << 32) - 1
"""Largest number of keys that the counters can hold."""
LEAST_BITS = 6.0
"""Entropy of a sample (10 bits at most) below which equal keys speed up NumPy's sort as much as parts would."""
MOST_IN_A_CELL = 0.25
"""Share of the keys in one cell above which moving them would leave too much to sort."""


def sort_fast(keys: Keys, out: Keys, streams: int, algorithm: str = "auto", sample: Keys | None = None) -> None:
    """Sort keys into ``out``.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`, in either byte order
    out : ndarray of shape (n,) and that dtype, in either byte order
        Receives the result; it may share memory with the keys.
    streams : int
        Number of streams.
    algorithm : {"auto", "numpy", "vectors", "halves", "partition", "counting"}
        "auto" is the rule that `smp.kernels.sort` follows without models.  If the range turns out to be wide, vectors
        or halves replace counting.  If too many keys are equal, NumPy's sort replaces halves and parts.
    sample : ndarray of shape (s,), optional
        Some of the keys, ascending, if they have already been looked at.
    """
    splits = may_split(streams)
    if _may_pay(keys, worth_moving(splits), streams, algorithm):
        sample = look(keys).sample if sample is None else sample
        if algorithm in ("auto", "counting") and _counted(keys, sample, out, streams, algorithm):
            return
        if vectors.beat_numpy() and algorithm in ("auto", "counting"):
            sort_by_vectors(keys, out, streams, sample)
            return
        if splits and algorithm == "auto" and pivot_of(sample) is not None:
            sort_by_vectors(keys, out, streams, sample)
            return
        move = _way(keys, sample, streams, "halves" if algorithm == "counting" else algorithm)
        if move:
            _sort_parts(keys, out, streams, move)
            return
    elif algorithm == "auto" and is_narrow(keys) and _counted_exactly(keys, out, streams):
        return
    if algorithm == "vectors" or (algorithm == "auto" and _pay_alone(keys)):
        sort_by_vectors(keys, out, streams, sample)
        return
    if out is not keys:  # NumPy does not see every overlap of strided arrays
        np.copyto(out, keys.copy() if np.may_share_memory(keys, out) else keys)
    out.sort()


def count_at_a_glance(keys: Keys, out: Keys, seen: Variety) -> bool:
    """Count integers of a narrow range on one stream, if there are few enough that a look would cost much of the time.

    Return True if the keys are sorted.
    """
    some = len(keys) < 2 * KEYS_TO_COUNT and keys.nbytes >= worth_counting(vectors.beat_numpy(), keys.itemsize)
    narrow = some and may_count(keys, seen) and seen.width < widest_of(keys)
    return narrow and _counted_exactly(keys, out, 1)


def may_count(keys: Keys, seen: Variety) -> bool:
    """Return True for integers of which a glance has shown a range for counting, and more than a few different ones."""
    return keys.dtype.kind != "f" and seen.width < min(len(keys), WIDEST) and seen.bits > FEW_BITS


def streams_by_rule(octets: float, streams: int, by_vectors: bool, few: bool) -> int:
    """Return how many of the streams sort some bytes of keys, if they are not counted; ``few``: of few values."""
    splits = may_split(min(streams, 2))
    if few and not (by_vectors or splits):
        return 1
    worth = octets / (FEWER_SPLITS if by_vectors else FEWER_FOR_STREAMS[vectors.width()]) if few else octets
    two = (by_vectors and worth >= WORTH_TWO) or (splits and worth >= worth_moving(True))
    return min(streams, max(1 + two, int(worth) // STREAM_BYTES))


def may_split(streams: int) -> bool:
    """Return True if "auto" lets this number of streams split long arrays with vectors."""
    return vectors.split_for_streams() and 1 < streams <= MOST_SPLITTING


def _pay_alone(keys: Keys) -> bool:
    return keys.nbytes >= WORTH_VECTORS if vectors.beat_numpy() else worth_alone(keys)


def worth_alone(keys: Keys) -> bool:
    """Return True for keys that one stream should sort with vectors, on CPUs where NumPy takes little longer."""
    if not vectors.sort_alone(keys.dtype) or not is_plain(keys):
        return False
    wide = vectors.width()
    worth = keys.nbytes / WORTH_ALONE[keys.itemsize]
    return worth >= FEWER_ALONE[wide] or (worth >= 1 and vary(keys, DIFFERENT_ALONE[wide]))


def worth_moving(splits: bool) -> int:
    """Return the bytes of keys from which "auto" moves them into parts, or lets vectors split them."""
    return WORTH_SPLITTING[vectors.width()] if splits else WORTH_HALVING


def worth_a_glance(by_vectors: bool) -> int:
    """Return the bytes of keys from which "auto" sees whether they are in order.

    Where vectors do not beat NumPy, NumPy's sort takes about as long as they do here, so that a glance costs more.
    """
    return 1 << 14 if by_vectors else 1 << 18


def worth_counting(by_vectors: bool, octets: int) -> int:
    """Return the bytes of keys, of some bytes each, from which "auto" may count them."""
    return worth_a_glance(True) if by_vectors else WORTH_COUNTING[vectors.width()][octets]


def widest_of(keys: Keys) -> int:
    """Return the width of the widest range with which it pays to count the keys."""
    return min(WIDEST, keys.nbytes // BYTES_A_COUNTER[vectors.width()])


def is_narrow(keys: Keys) -> bool:
    """Return True if counting may pay for a short array: for integers of which a few show a narrow range."""
    by_vectors = vectors.beat_numpy()
    if keys.dtype.kind == "f" or keys.nbytes < worth_counting(by_vectors, keys.itemsize) or len(keys) > MOST_KEYS:
        return False
    narrow = seem_narrow(keys, widest_of(keys))
    return narrow and ((by_vectors and keys.nbytes <= CHUNK_BYTES) or not repeats(keys))


def _way(keys: Keys, sample: Keys, streams: int, algorithm: str) -> Callable[[Keys], Numbers] | None:
    """Return the function that moves the keys into parts, or None if that does not pay; see `_sort_parts`."""
    if algorithm == "halves" or (algorithm == "auto" and keys.nbytes < WORTH_PARTS):
        pivot = pivot_of(sample)
        plain = keys if is_plain(keys) else native(keys)
        return None if pivot is None else partial(halve, plain, pivot, streams)
    scale = _scale(sample, algorithm)
    return None if scale is None else lambda into: partition(keys, scale, parts_for(keys.nbytes), streams, into)


def _sort_parts(keys: Keys, out: Keys, streams: int, move: Callable[[Keys], Numbers]) -> None:
    """Sort by parts in ``out``, or in a separate array, from which each part is copied while it is in the cache.

    ``move`` moves the keys into parts in the array that it is given, and returns the end of each part.
    """
    beside = not is_plain(out) or np.may_share_memory(keys, out)
    moved = np.empty(len(keys), keys.dtype.newbyteorder("=")) if beside else out

    def sort_part(part: slice) -> None:
        moved[part].sort()
        if beside:
            out[part] = moved[part]

    each_part(sort_part, move(moved), streams)


def _counted(keys: Keys, sample: Keys, out: Keys, streams: int, algorithm: str) -> bool:
    """Sort by counting if that is requested or pays; return True if it is done."""
    for lowest, width in _ranges(sample):
        if algorithm == "auto" and (width > widest_of(keys) or entropy(sample) < LEAST_BITS):
            return False
        if sort_by_counting(keys, lowest, width, out, streams if algorithm == "counting" else _counting(keys, streams)):
            return True
    return False


def _counted_exactly(keys: Keys, out: Keys, streams: int) -> bool:
    """Sort by counting if the range of all keys, which is found first, is narrow; return True if it is done."""
    return count_exactly(keys, widest_of(keys), out, _counting(keys, streams))


def _counting(keys: Keys, streams: int) -> int:
    """Return how many of the streams count."""
    return min(streams, max(1, len(keys) // KEYS_TO_COUNT))


def _ranges(sample: Keys) -> Iterator[tuple[int, int]]:
    """Yield a range that all keys may be in, then a wider one; if many are beyond the first, that is soon seen."""
    narrow = range_around(sample)
    if narrow is not None:
        yield narrow
        first, last, limits = int(sample[0]), int(sample[-1]), np.iinfo(sample.dtype)
        reach = (last - first) // 2
        ends = [max(limits.min, first - reach), min(limits.max, last + reach)]
        wide = range_around(np.array(ends, sample.dtype))
        if wide is not None:
            yield wide


def parts_for(octets: int) -> int:
    """Return the number of parts that keys, or keys with their numbers, are moved into."""
    return min(MOST_PARTS, octets // PART_BYTES + 2)


def _may_pay(keys: Keys, least: int, streams: int, algorithm: str) -> bool:
    if algorithm in ("halves", "partition", "counting"):
        return 0 < len(keys) <= MOST_KEYS
    return algorithm == "auto" and streams > 1 and keys.nbytes >= least and len(keys) <= MOST_KEYS


def _scale(sample: Keys, algorithm: str) -> Scale | None:
    """Return a scale for the parts, if parts are requested or pay."""
    scale = scale_of(sample)
    if scale and algorithm == "auto" and (entropy(sample) < LEAST_BITS or heaviest(sample, scale) > MOST_IN_A_CELL):
        return None
    return scale
