"""Split keys by a pivot, and sort a few of them, with vectors of 64 bytes (AVX-512) or 32 (AVX2).

    keys      5 9 2 7 1 8 6 3      a vector of eight lanes, the most that are split at once, and the pivot 5
    packed    5 2 1 3 9 7 8 6      those up to the pivot first, then the others, both in order
    stored    at the left end and at the right end of the free places: the others are stored over on the left, and
              those up to the pivot on the right

A vector is packed in a register, and the whole vector is stored twice.  Storing only the chosen lanes does the same,
but takes many times as long on some CPUs.

The functions here define the results.  In compiled loops, the vector code of ``splitting``, ``network`` and ``equal``
replaces them.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from smp._runtime.loops.compiler import imported_with_numba

from ..keys import Images, Keys
from ..parts import Numbers

MOST_SPLIT = 8
"""Lanes of a vector that is packed by a table, at most."""
MOST_VECTORS = 16
"""Vectors that `sort_few` sorts at most."""
GROUP_BYTES = 256
"""Bytes of the vectors that are read at once: what they are compared with does not wait for the places of earlier ones.
"""


def lanes_of(keys: Keys) -> int:
    """Return the number of keys in a vector that `sort_few` sorts."""
    return width() // keys.itemsize


def split_lanes_of(keys: Keys) -> int:
    """Return the number of keys in a vector that is split."""
    return min(lanes_of(keys), most_split(keys.itemsize))


def split_vector(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> int:
    """Read a vector of keys and store it twice: from ``left`` on, and up to ``right``; return how many keys come first.

    The keys up to the pivot come first, then the others and NaN.  Of the vector on the left, only the first keys count,
    and of that on the right only the others; with `store_chosen`, nothing else is stored.

    Parameters
    ----------
    source, keys : plain arrays of one of `smp.kernels.sorting.keys.DTYPES`
        Array that is read, and array that is written; they may be the same.
    at, left, right : int
        Place of the vector, first of the free places on the left, and end of those on the right.
    pivot : of the keys' dtype
    """
    lanes = split_lanes_of(keys)
    some = source[at : at + lanes].copy()
    first = some <= pivot
    low, high = some[first], some[~first]
    for start in (left, right - lanes):
        keys[start : start + len(low)], keys[start + len(low) : start + lanes] = low, high
    return len(low)


def split_some(source: Keys, at: int, count: int, keys: Keys, left: int, right: int, pivot: Any) -> int:
    """Read a vector of keys and split the first ``count`` of them as `split_vector` does; return how many come first.

    There is room for a vector behind ``right``, where nothing changes.  With `store_chosen` there need be none, and
    neither is there more to read than ``count`` keys.
    """
    some = source[at : at + count].copy()
    first = some <= pivot
    low, high = some[first], some[~first]
    keys[left : left + len(low)], keys[right - len(high) : right] = low, high
    return len(low)


def split_group(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> int:
    """Read a group of vectors, and then do with each what `split_vector` does; return how many keys come first."""
    lanes, group = split_lanes_of(keys), GROUP_BYTES // keys.itemsize
    some = source[at : at + group].copy()
    total = 0
    for k in range(0, group, lanes):
        count = split_vector(some, k, keys, left + total, right - k + total, pivot)
        total += count
    return total


def sort_few(source: Keys, at: int, keys: Keys, first: int, count: int) -> None:
    """Read ``count`` keys, at most `MOST_VECTORS` vectors of them, and store them in order, NaN last.

    Parameters
    ----------
    source, keys : plain arrays of one of `smp.kernels.sorting.keys.DTYPES`
        Array that is read, and array that is written; they may be the same.  If some keys are NaN, those that are read
        may change places.
    at, first : int
        Place of the first key that is read, and of the first one that is written.
    count : int
        Number of keys.
    """
    keys[first : first + count] = np.sort(source[at : at + count])


def count_equal(bits: Images, at: int, value: Any) -> int:
    """Return how many keys of a group, `GROUP_BYTES` of them, have the bits of a value.

    Parameters
    ----------
    bits : uint32 or uint64 array
        The bits of keys.
    at : int
        Place of the group.
    value : of the dtype of the bits
    """
    return int(np.count_nonzero(bits[at : at + GROUP_BYTES // bits.itemsize] == value))


def store_equal(bits: Images, at: int, value: Any, order: Numbers, place: int, index: int) -> int:
    """Read as many keys as indices fill a vector, and store the indices of those with the bits of a value.

    Return how many these are.  A whole vector is stored, of which the others do not count.

    Parameters
    ----------
    bits, at, value
        As for `count_equal`.
    order : int64 array
        Receives the indices.
    place : int
        Place of the first one.
    index : int
        Index of the first key.
    """
    found = np.flatnonzero(bits[at : at + lanes_of(order)] == value)
    order[place : place + len(found)] = index + found
    return len(found)


def before(key: Any) -> Any:
    """Return the number that comes before a key in its type, or the key itself if it is the least one or NaN."""
    kind = type(key)
    if isinstance(key, np.floating):
        return np.nextafter(key, kind(-np.inf))
    return kind(key - kind(1)) if key > np.iinfo(kind).min else key


@functools.cache
def width() -> int:
    """Return the bytes of a vector."""
    return 64 if has_avx512() else 32


@functools.cache
def has_avx512() -> bool:
    """Return True if the CPU has vectors of 64 bytes."""
    return bool(_features().get("avx512f"))


@functools.cache
def has_vectors() -> bool:
    """Return True if the CPU has the instructions, and if loops are compiled for this CPU."""
    if os.getenv("NUMBA_CPU_NAME") or os.getenv("NUMBA_CPU_FEATURES"):
        return False
    return any(_features().get(name) for name in ("avx512f", "avx2"))


def _features() -> Any:
    from llvmlite.binding import get_host_cpu_features

    return get_host_cpu_features()


def most_split(octets: int) -> int:
    """Return the most keys of some bytes in a vector that is split: eight if a table packs them, else any number."""
    return width() if store_chosen(octets) else MOST_SPLIT


def store_chosen(octets: int) -> bool:
    """Return True if keys of some bytes are split by storing chosen lanes: of four bytes on Intel, with AVX-512.

    A vector of 16 keys takes two such stores; with a table, eight keys take two.  AMD's Zen 4 stores chosen lanes by
    microcode, and its other CPUs with AVX-512 were not tried.
    """
    return octets == 4 and width() == 64 and has_vectors() and not _of_amd()


@functools.cache
def _of_amd() -> bool:
    from llvmlite.binding import get_host_cpu_name

    return str(get_host_cpu_name()).startswith("znver")


def split_for_streams() -> bool:
    """Return True on CPUs where "auto" leaves short arrays to NumPy, and long ones to vectors on several streams."""
    return has_vectors() and not beat_numpy()


def numpy_sorts_alone(dtype: np.dtype[Any]) -> bool:
    """Return True if NumPy sorts such keys on one stream: with AVX-512, but for AMD's Zen 4.

    Integers of 64 bits are the exception: NumPy takes up to a quarter longer for them than vectors do.
    """
    return split_for_streams() and width() == 64 and not (dtype.kind in "iu" and dtype.itemsize == 8)


def sort_alone(dtype: np.dtype[Any]) -> bool:
    """Return True if vectors may sort such keys on one stream, though NumPy takes little longer."""
    return split_for_streams() and not numpy_sorts_alone(dtype)


@functools.cache
def beat_numpy() -> bool:
    """Return True on CPUs of AMD's Zen 4.

    NumPy's sort stores the chosen lanes of a vector, which these CPUs do by microcode.  On CPUs of Intel with AVX-512,
    vectors take 0.8 to 0.9 of its time for integers of 64 bits, and 0.93 to 1.14 for other keys.
    With AVX2, vectors take 0.65 to 0.9 of its time for 128 KiB of keys and more, and as much or more for fewer keys.
    """
    if not has_vectors() or width() == 32:  # a virtual Zen 4 may have no AVX-512
        return False
    from llvmlite.binding import get_host_cpu_name

    return bool(get_host_cpu_name() == "znver4")


imported_with_numba(f"{__package__}.instructions")
