"""Sort an array with as little else as possible, if it is soon clear how.

    short             NumPy; on AMD's Zen 4 also vectors       a table of lengths decides
    narrow integers   counted on one stream                    if the first and the last one are near each other
    long              vectors, on one stream or on several     the fewer of 64 keys differ, the longer for several

All others take the way of `smp.kernels.sorting.functions`: keys that may be in order, or that models are asked about.
To sort 256 KiB takes 300 us, and each function of Python that was not called lately takes about 10 us.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from typing import Any

import numpy as np

from smp import Machine

from ..in_process import streams_for
from .by_vectors import vectors
from .by_vectors.in_place import CHUNK_BYTES, sort_alone, sort_by_vectors
from .choice import models_are_asked
from .counting import count_exactly, count_various
from .fast import (
    BYTES_A_COUNTER,
    KEYS_TO_COUNT,
    LEAST,
    MOST_KEYS,
    WORTH_ALONE,
    WORTH_VECTORS,
    may_split,
    streams_by_rule,
    widest_of,
    worth_a_glance,
    worth_alone,
    worth_counting,
    worth_moving,
)
from .keys import DTYPES, Keys
from .parts import is_plain
from .sampling import FEW_DIFFERENT, IN_ORDER, KEYS_THAT_REPEAT, NARROW, different, first_way, glance, may_run

DIFFERENT, SPLIT_FROM = [5, 32, 52, 61], {32: [11, 4, 3, 2, 1], 64: [21, 8, 4, 2, 1]}
"""Limits of the number of different keys among 64, and for each class between them the length from which several
streams share such keys, over the length if all differ, by the bytes of a vector; see decisions 0059 and 0061."""


def is_left_to_numpy(keys: Keys) -> bool:
    """Return True if NumPy sorts keys of this length, but for integers that are near one another.

    If the first and the last one are equal, there are probably few values, which NumPy sorts sooner than they are
    counted.
    """
    octets, (most, most_apart, counter) = keys.nbytes, _limits()[keys.dtype]
    return octets < most or (octets < most_apart and not 0 < abs(keys.item(0) - keys.item(-1)) < octets // counter)


@functools.cache
def _limits() -> dict[np.dtype[Any], tuple[int, int, int]]:
    """Return three numbers for each type, so that little else is needed to leave a short array to NumPy.

    They are the bytes of keys below which NumPy sorts all arrays, and those below which it sorts integers of a wide
    range and floats, and the bytes of keys for each integer in a range that is not wide.
    """
    limits, counter = {}, BYTES_A_COUNTER[vectors.width()]
    for dtype in DTYPES:
        if vectors.beat_numpy():
            most = WORTH_VECTORS
        elif vectors.sort_parts(dtype):
            most = WORTH_ALONE[dtype.itemsize]
        else:
            most = worth_a_glance(False) if vectors.split_for_streams() else LEAST
        limits[dtype] = (most if dtype.kind == "f" else min(most, worth_counting(False)), most, counter)
    return limits


def may_receive(out: Keys, keys: Keys) -> bool:
    """Return True if the result can be made in an array: in the keys themselves, or in a plain one apart from them."""
    if out is keys:
        return keys.flags.writeable
    alike = type(out) is np.ndarray and out.dtype == keys.dtype and out.shape == keys.shape and out.flags.carray
    return alike and ((keys.base is None and out.base is None) or not np.may_share_memory(keys, out))


def copied(keys: Keys, out: Keys | None) -> Keys:
    """Return keys in ``out``: the keys themselves, or an array apart from them; by default a new one."""
    if out is None:
        return keys.copy()
    if out is not keys:
        np.copyto(out, keys)
    return out


def sort_at_once(keys: Keys, out: Keys | None, threads: int | None, machine: Machine | None) -> Keys | None:
    """Sort keys if it is soon clear how, or return None.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`
        More than `is_left_to_numpy` has left to NumPy.
    out : ndarray of shape (n,) and that dtype, optional
        Receives the result; see `may_receive`.  By default a new array.
    threads, machine
        As for `smp.kernels.sort`.
    """
    _, most_apart, counter = _limits()[keys.dtype]
    if keys.nbytes < most_apart:
        return _count_short(keys, out, keys.nbytes // counter)
    if vectors.beat_numpy():
        return _sort_short(keys, out) if keys.nbytes <= CHUNK_BYTES else None
    splits, streams = vectors.split_for_streams(), 0
    worth = worth_moving(splits)
    seen = different(keys) if not splits or keys.nbytes >= worth else KEYS_THAT_REPEAT
    few = seen < FEW_DIFFERENT
    if not few and _seem_near(keys) and is_plain(keys):
        if len(keys) >= 2 * KEYS_TO_COUNT:
            return None
        counted = np.empty(len(keys), keys.dtype) if out is None else out
        if count_various(keys, widest_of(keys), counted):
            return counted
    if long := keys.nbytes >= (worth * _longer(seen) if splits else worth):
        streams = threads or streams_for(machine)
        if models_are_asked(keys, out is keys, streams):
            return None
    if keys.nbytes >= worth_a_glance(False) and may_run(keys) and (not is_plain(keys) or first_way(keys)):
        return None
    if long:
        return _split_at_once(keys, out, streams, few)
    if not (splits or few) and models_are_asked(keys, out is keys, threads or streams_for(machine)):
        return None
    made = copied(keys, out)
    if worth_alone(made):
        sort_alone(made, 0, len(made))
    else:
        made.sort()
    return made


def _count_short(keys: Keys, out: Keys | None, widest: int) -> Keys:
    """Sort integers, of which two are near each other, by counting, unless that cannot or should not be done.

    They are too few for anything but counting and NumPy.
    """
    made = copied(keys, out)
    if not (is_plain(made) and count_various(made, widest, made)):
        made.sort()
    return made


def _sort_short(keys: Keys, out: Keys | None) -> Keys | None:
    """Sort at most `CHUNK_BYTES` of keys with vectors or by counting, unless they are not plain or may be in order."""
    if not is_plain(keys):
        return None
    seen = glance(keys, keys.nbytes // BYTES_A_COUNTER[vectors.width()] if keys.nbytes >= worth_a_glance(True) else 0)
    if seen == IN_ORDER:
        return None
    if seen == NARROW:
        counted = np.empty(len(keys), keys.dtype) if out is None else out
        if count_exactly(keys, widest_of(keys), counted, 1):
            return counted
    made = copied(keys, out)
    sort_alone(made, 0, len(made))
    return made


def _longer(seen: int) -> int:
    """Return the length from which streams split keys of which ``seen`` of 64 differ, over that if all do.

    One stream sorts keys of few values in a fraction of the time, and a second stream always costs the same.
    """
    return SPLIT_FROM[vectors.width()][bisect_right(DIFFERENT, seen)]


def _seem_near(keys: Keys) -> bool:
    """Return True for integers of which two are no farther apart than those that are counted."""
    return keys.dtype.kind != "f" and abs(keys.item(0) - keys.item(-1)) < widest_of(keys)


def _split_at_once(keys: Keys, out: Keys | None, streams: int, few: bool) -> Keys | None:
    """Sort a long array by vectors, on several streams, if they can and should; ``few``: of few values."""
    if not may_split(streams) or not is_plain(keys) or len(keys) > MOST_KEYS:
        return None
    several = streams_by_rule(keys.nbytes, streams, False, few)
    if several == 1:
        return None
    made = np.empty(len(keys), keys.dtype) if out is None else out
    sort_by_vectors(keys, made, several)
    return made
