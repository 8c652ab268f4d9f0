"""Sort an array with as little else as possible, if it is soon clear how.

    short             NumPy; on AMD's Zen 4 also vectors       a table of lengths decides
    narrow integers   counted on one stream                    if the first and the last one are near each other
    long              vectors, on one stream or on several     the fewer of 64 keys differ, the longer for several

All others take the way of `smp.kernels.sorting.functions`: keys that may be in order, or that models are asked about.
To sort 256 KiB takes 300 us, and each function of Python that was not called lately takes about 10 us.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np

from smp import Machine

from ..in_process import streams_for
from .by_vectors import vectors
from .by_vectors.in_place import CHUNK_BYTES, sort_alone, sort_by_vectors
from .choice import models_are_asked
from .counting import WIDEST, count_exactly, count_various
from .fast import (
    BYTES_A_COUNTER,
    DIFFERENT_ALONE,
    FEWER_ALONE,
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
from .sampling import (
    FEW_DIFFERENT,
    FEW_OF_FIRST,
    FIRST,
    IN_ORDER,
    KEYS_THAT_REPEAT,
    NARROW,
    different,
    different_unless_running,
    first_differ,
    first_way,
    glance,
)

DIFFERENT, SPLIT_FROM = [5, 32, 52, 61], {32: [11, 4, 3, 2, 1], 64: [40, 14, 8, 4, 1]}
"""Limits of the number of different keys among 64, and for each class between them the length from which several
streams share such keys, over the length if all differ, by the bytes of a vector; see decisions 0059, 0061 and 0065.
"""


class Limits(NamedTuple):
    """The limits for keys of a type, which are kept, because each function that finds one takes 2 us in cold caches.

    Attributes
    ----------
    most, most_apart, most_turning : float
        Bytes of keys below which NumPy sorts all arrays, below which it sorts integers of a wide range and floats, and
        below which it sorts these if the first few do not run one way.
    counter : float
        Bytes of keys for each integer in a range that is not wide; for floats, no range is narrow.
    beat_numpy, splits : bool
        Whether vectors beat NumPy, and otherwise whether several streams split keys with them; see `vectors`.
    long, looked_at : int
        Bytes of keys that several streams share, if these all differ, and of those that may be in order.
    alone, repeated_alone : float
        Bytes of keys from which vectors may sort them on one stream, though NumPy takes little longer; the same if some
        of 64 keys are equal.
    """

    most: float
    most_apart: float
    most_turning: float
    counter: float
    beat_numpy: bool
    splits: bool
    long: int
    looked_at: int
    alone: float
    repeated_alone: float


def is_left_to_numpy(keys: Keys) -> bool:
    """Return True if NumPy sorts keys of this length, but for integers that are near one another.

    If the first and the last one are equal, there are probably few values, which NumPy sorts sooner than they are
    counted.  Where vectors do not sort on one stream, NumPy sorts all keys that are too few for two, except keys that
    may be in order: these ascend or descend from the first one on.
    """
    octets, limits = keys.nbytes, _limits()[keys.dtype]
    if octets < limits.most:
        return True
    if octets >= limits.most_turning or 0 < abs(keys.item(0) - keys.item(-1)) < octets // limits.counter:
        return False
    if octets < limits.most_apart:
        return True
    a, b, c, d, e = keys[:5].tolist()
    return not (a <= b <= c <= d <= e or a >= b >= c >= d >= e)


@functools.cache
def _limits() -> dict[np.dtype[Any], Limits]:
    """Return the limits for each type."""
    limits, wide = {}, vectors.width()
    beat_numpy, splits = vectors.beat_numpy(), vectors.split_for_streams()
    for dtype in DTYPES:
        alone = WORTH_ALONE[dtype.itemsize] if vectors.sort_alone(dtype) else math.inf
        most: float = LEAST
        if beat_numpy:
            most = WORTH_VECTORS
        elif splits:
            most = min(alone, worth_a_glance(False))
        limits[dtype] = Limits(
            most=most if dtype.kind == "f" else min(most, worth_counting(False, dtype.itemsize)),
            most_apart=most,
            most_turning=worth_moving(True) if splits and alone == math.inf else most,
            counter=math.inf if dtype.kind == "f" else BYTES_A_COUNTER[wide],
            beat_numpy=beat_numpy,
            splits=splits,
            long=worth_moving(splits),
            looked_at=worth_a_glance(False),
            alone=alone,
            repeated_alone=alone * (FEWER_ALONE[wide] if DIFFERENT_ALONE[wide] == KEYS_THAT_REPEAT else 1),
        )
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
    octets, limits = keys.nbytes, _limits()[keys.dtype]
    if octets < limits.most_apart:
        return _count_short(keys, out, int(octets // limits.counter))
    if limits.beat_numpy:
        return _sort_short(keys, out) if octets <= CHUNK_BYTES else None
    streams = 0
    if limits.splits and octets >= limits.long and is_plain(keys):
        differ = seen = different_unless_running(keys)  # one call instead of several
        if not seen:
            return None
    else:
        differ, seen = first_differ(keys), KEYS_THAT_REPEAT
        if not limits.splits or octets >= limits.long:
            seen = different(keys)
        elif 0 < differ <= FIRST:
            seen = differ if differ < FEW_OF_FIRST else KEYS_THAT_REPEAT - 1
    few = seen < FEW_DIFFERENT
    near = abs(keys.item(0) - keys.item(-1)) < min(WIDEST, octets // limits.counter)
    if near and not few and is_plain(keys):
        if len(keys) >= 2 * KEYS_TO_COUNT:
            return None
        counted = np.empty(len(keys), keys.dtype) if out is None else out
        if count_various(keys, widest_of(keys), counted):
            return counted
    long = octets >= limits.long and (not limits.splits or octets >= limits.long * _longer(seen))
    if long:
        streams = threads or streams_for(machine)
        if models_are_asked(keys, out is keys, streams):
            return None
    if not differ and octets >= limits.looked_at and (not is_plain(keys) or first_way(keys)):
        return None
    if long:
        return _split_at_once(keys, out, streams, few)
    if not (limits.splits or few) and models_are_asked(keys, out is keys, threads or streams_for(machine)):
        return None
    made = copied(keys, out)
    if octets >= (limits.alone if seen == KEYS_THAT_REPEAT else limits.repeated_alone) and worth_alone(made):
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
