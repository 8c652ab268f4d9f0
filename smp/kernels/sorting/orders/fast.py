"""The fast forms of argsort, on streams of the calling process, and the rule for when they pay.

    packed      see `smp.kernels.sorting.orders.packed`
    partition   see `smp.kernels.sorting.parts`; then NumPy orders the parts, as many at a time as there are streams
    values      see `smp.kernels.sorting.orders.values`; for keys of few values

Where few keys differ, counting them is the fastest.  If they are too many values for that, parts are faster than packed
words, because each part is full of equal keys, with which NumPy has little to do.
"""

from __future__ import annotations

import numpy as np

from ..by_vectors import vectors
from ..fast import LEAST_BITS, MOST_KEYS, STREAM_BYTES, parts_for
from ..keys import Keys
from ..parts import CELLS, Numbers, Scale, count_cells, each_part, is_plain, partition, scale_of
from ..sampling import entropy, look, variety
from .packed import argsort_packed
from .passes import most_passes
from .values import argsort_values

WORTH_PACKING = {4: 1280, 8: 1792}
"""Number of keys from which "auto" packs them, by the bytes of a key, on CPUs where vectors beat NumPy."""
WORTH_PACKING_FOR_NUMPY = {32: {4: 3072, 8: 7168}, 64: {4: 2560, 8: 6144}}
"""The same on other CPUs, by the bytes of a vector and of a key."""
WORTH_TWO, WORD = {32: 1 << 16, 64: 5 << 13}, 8
"""Number of keys from which "auto" asks models or takes a second stream, by the bytes of a vector, and bytes of a word,
of which three or more streams have at least `STREAM_BYTES` each; see decision 0065."""
WORTH_PARTING, WORTH_ALL = 1 << 18, 3 << 16
"""Number of keys from which "auto" looks whether they are so few different ones that parts are faster, and number from
which all streams take part in the light steps, in which one takes half a nanosecond for a key."""
FEW_TO_COUNT, SHORTEST_FEW = 57, 1 << 10
"""Number of different keys among 64 below which short arrays have few values, and number of keys from which "auto"
counts them; see decision 0060."""
KEYS_TO_NUMBER, KEYS_TO_PASS = 1 << 16, 1 << 17
"""Least number of keys of each stream that numbers their values, and of each stream that passes over the keys of one
value after another; see decision 0066."""
MANY_BITS = 9
"""Variety of keys that are too many different ones for parts to be faster."""
MOST_TOGETHER = 0.25
"""Bits of entropy that a sample may lose in cells, which hold several different keys then, for parts to be faster."""


def worth_packing(octets: int) -> int:
    """Return the number of keys of some bytes each from which "auto" packs them."""
    return (WORTH_PACKING if vectors.beat_numpy() else WORTH_PACKING_FOR_NUMPY[vectors.width()])[octets]


def counts_few() -> bool:
    """Return True if "auto" counts keys of few values: not on AMD's Zen 4, where it was not tried."""
    return not vectors.beat_numpy()


def argsort_few(keys: Keys, streams: int, seen: int = FEW_TO_COUNT) -> Numbers | None:
    """Return the order of keys, counted by as many of the streams as pays, or None if there are too many values.

    Of 64 keys, ``seen`` differ.
    """
    each = KEYS_TO_PASS if seen <= most_passes(keys) else KEYS_TO_NUMBER
    return argsort_values(keys, min(streams, max(1, len(keys) // each)))


def argsort_fast(
    keys: Keys, streams: int, algorithm: str = "auto", sample: Keys | None = None, light: int | None = None
) -> Numbers:
    """Return the order that sorts keys.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`, in either byte order
    streams : int
        Number of streams.
    algorithm : {"auto", "numpy", "packed", "partition"}
        "auto" is the rule that `smp.kernels.argsort` follows without models, except for keys of few values.  NumPy
        orders more than `MOST_KEYS` keys.
    sample : ndarray of shape (s,), optional
        Some of the keys, ascending, if they have already been looked at.
    light : int, optional
        Number of streams in the light steps of "packed"; see `argsort_packed`.  By default all, if it pays.
    """
    if algorithm == "auto":
        algorithm = "packed" if len(keys) >= worth_packing(keys.itemsize) else "numpy"
        looks = WORTH_PARTING <= len(keys) <= MOST_KEYS and _repeat(keys)
        streams = streams_by_rule(len(keys), streams)
    else:
        looks = algorithm == "partition"
    if algorithm == "numpy" or not 0 < len(keys) <= MOST_KEYS:
        return _by_numpy(keys)
    if looks:
        sample = look(keys).sample if sample is None else sample
        scale = scale_of(sample) if algorithm == "partition" or entropy(sample) < LEAST_BITS else None
        if scale and (algorithm == "partition" or takes_apart(scale, sample)):
            return _by_parts(keys, scale, streams)
    if algorithm == "partition":
        return _by_numpy(keys)
    return argsort_packed(keys, streams, light or light_streams(len(keys), streams))


def streams_by_rule(n: int, streams: int) -> int:
    """Return how many of the streams "auto" takes to pack n keys without models."""
    return min(streams, max(1 + (n >= worth_two()), WORD * n // STREAM_BYTES))


def worth_two() -> int:
    """Return the number of keys from which "auto" asks models or takes a second stream."""
    return WORTH_TWO[vectors.width()]


def light_streams(n: int, streams: int) -> int:
    """Return how many of the streams take part in the light steps of packing n keys, unless a caller names the form."""
    return streams if n >= WORTH_ALL else 1


def takes_apart(scale: Scale, sample: Keys) -> bool:
    """Return True if hardly any different keys of a sample share a cell."""
    counts = np.zeros((2, CELLS), np.uint32)
    count_cells(sample, scale, counts)
    shares = counts.sum(axis=0)
    shares = shares[shares > 0] / len(sample)
    return entropy(sample) + float((shares * np.log2(shares)).sum()) < MOST_TOGETHER


def _repeat(keys: Keys) -> bool:
    """Return True if a glance does not exclude that few keys differ."""
    seen = variety(keys) if is_plain(keys) else None
    return seen is None or seen.bits < MANY_BITS


def _by_numpy(keys: Keys) -> Numbers:
    return np.argsort(keys).astype(np.int64, copy=False)


def _by_parts(keys: Keys, scale: Scale, streams: int) -> Numbers:
    moved, order = np.empty(len(keys), keys.dtype.newbyteorder("=")), np.empty(len(keys), np.int64)

    def sort_part(part: slice) -> None:
        order[part] = order[part][np.argsort(moved[part])]

    ends = partition(keys, scale, parts_for(moved.nbytes + order.nbytes), streams, moved, order)
    each_part(sort_part, ends, streams)
    return order
