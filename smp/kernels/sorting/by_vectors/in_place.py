"""Sort keys in place: split them by pivots, with vectors, until parts are left that a network or NumPy sorts.

    0                                    n
    │ stream 0        │ stream 1         │    each stream splits a block by the same pivot
    │ low    │ high   │ low     │ high   │
    │ low             │ high             │    keys on the wrong side change places
    │ 0               │ 1                │    the same with half of the streams, until each part has one stream
      then every stream takes a part, splits it, puts one half back, and so on; a part that fits a core's cache it
      sorts alone

No memory is needed beyond a dozen vectors.  A key is read and written once for each halving, until the part fits the
cache.

    [free │ unread ............. unread │ free]     a block while it is split: as many places are free as two groups of
     left                              right        vectors have; the next group is taken from the side with fewer free
                                                    places, so that there is always room for a group on both sides

A pivot is the median of some keys.  Where many keys are equal, a part is split twice, and the middle is done.  A split
by the number before the pivot leaves those below the pivot in front.

    the pivot is the largest of some keys                          below the pivot first, then the others up to it
    it is the smallest of some keys, or no key at all is above it  those up to the pivot first, then those below it

A part whose pivots were bad again and again is left to NumPy, so that the time is never quadratic.

Sources: Bramas, A novel hybrid quicksort algorithm vectorized using AVX-512, for the splitting in place; Tsigas and
Zhang, A simple, fast parallel implementation of quicksort, for the order of the phases.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import inline, local
from smp._runtime.program.processor import share

from ...in_process import side_by_side
from ..keys import Keys
from ..parts import is_plain
from . import vectors
from .vectors import GROUP_BYTES, MOST_VECTORS, before, lanes_of, sort_few, split_group, split_vector

CHUNK_BYTES = 1 << 18
"""Bytes of a part that one stream sorts alone, in its core's cache."""
NUMPYS_BYTES = {32: 1 << 19, 64: 1 << 21}
"""Bytes of a part that NumPy sorts on one stream, by the bytes of a vector."""
TOGETHER_BYTES = 1 << 19
"""Bytes from which a part is split for several streams, if NumPy sorts the parts."""
WORTH_BYTES = 1 << 22
"""Bytes from which several streams copy or split a part together: each phase takes 10 to 100 us in addition."""
_MOST_LEFT = 64  # parts with bad pivots that are left to NumPy
_GROUP = GROUP_BYTES // 4  # of the shortest keys
Range = tuple[int, int]
Pivot = tuple[Any, bool, bool]
Call = Callable[[], object]
Numbers = NDArray[np.int64]


@inline
def pivot_of(keys: Keys, low: int, high: int, some: Keys) -> Pivot:
    """Return the median of some keys between two places, and whether it is the smallest and the largest of them.

    It is NaN if half of them are.
    """
    count = 9 if high - low < 1024 else len(some)
    step = (high - low) // count
    for i in range(count):
        some[i] = keys[low + step // 2 + i * step]
    sort_few(some, 0, count)
    pivot = some[count // 2]
    return pivot, some[0] == pivot, some[count - 1] == pivot


@inline
def split(keys: Keys, low: int, high: int, pivot: Any, kept: Keys) -> int:
    """Move the keys up to the pivot to the front; return the place of the first of the others.

    There are keys for at least two groups of vectors; ``kept`` has room for three.
    """
    lanes, group = lanes_of(keys), GROUP_BYTES // keys.itemsize
    unread, stop = low + group, low + (high - low) // group * group - group
    free = group + high - stop
    for i in range(group):  # quicker than slices, whose overlap is checked
        kept[i] = keys[low + i]
    for i in range(free - group):
        kept[group + i] = keys[stop + i]
    left, right = low, high
    while unread < stop:
        if unread - left <= right - stop:
            at = unread
            unread += group
        else:
            stop -= group
            at = stop
        count = split_group(keys, at, left, right, pivot)
        left += count
        right -= group - count
    whole = free // lanes * lanes
    for i in range(whole, free):
        keys[left] = keys[right - 1] = kept[i]  # a jump would be mispredicted half of the time
        first = kept[i] <= pivot
        left += first
        right -= 1 - first
    for at in range(0, whole, lanes):  # the free places are whole vectors now: the two stores of the last one agree
        count = split_vector(kept, at, keys, left, right, pivot)
        left += count
        right -= lanes - count
    return left


@inline
def split_off(keys: Keys, low: int, high: int, pivot: Pivot, kept: Keys, few: int) -> tuple[int, int]:
    """Split a part; return the end of its first half and the place of the second.  What is between them is sorted."""
    key, smallest, largest = pivot
    under = before(key)
    least = under == key
    under_first = largest and not least
    start, stop, by, middle = low, high, under if under_first else key, low
    for again in range(2):
        place = split(keys, start, stop, by, kept)
        if again:
            return (middle, place) if under_first else (place, middle)
        middle = place
        if under_first:
            start, by = middle, key
        elif smallest or middle == high:
            if least:
                return low, middle
            stop, by = middle, under
        else:
            break
        if stop - start <= few:
            break
    return middle, middle


@local(
    name="sorting.split",
    terms={"key": "max(high - low, 0)"},
    cost="(2 * load + 2 * store + 4 * int) * max(high - low, 0)",
)
def split_block(keys: Keys, low: int, high: int, pivot: Any) -> int:
    """Split a block by a pivot; see `split`."""
    return split(keys, low, high, pivot, np.empty(3 * _GROUP, keys.dtype))


@local(name="sorting.exchange", terms={"key": "count"}, cost="(2 * load + 2 * store + int) * count")
def exchange(keys: Keys, first: int, other: int, count: int) -> None:
    """Exchange the keys of two ranges."""
    for i in range(count):
        keys[first + i], keys[other + i] = keys[other + i], keys[first + i]


_HALVINGS = "max(high - low, 0) * log2(max(high - low, 0) + 2)"


@local(name="sorting.part", terms={"halving": _HALVINGS}, cost=f"(load + store + 2 * int) * {_HALVINGS}")
def sort_part(keys: Keys, low: int, high: int, left: Numbers) -> int:
    """Sort the keys between two places, but for some ranges.

    Parameters
    ----------
    keys : plain ndarray of one of `smp.kernels.sorting.keys.DTYPES`
    low, high : int
    left : int64 array (ranges, 2)
        Receives the ranges that are not sorted yet, because their pivots were bad.

    Returns
    -------
    int
        Number of these ranges.
    """
    few = MOST_VECTORS * lanes_of(keys)
    kept, some = np.empty(3 * _GROUP, keys.dtype), np.empty(31, keys.dtype)
    ranges = np.empty((96, 3), np.int64)  # the longer half waits, so there are fewer of them than bits in a length
    tries, length = 10, high - low
    while length > 0:
        tries, length = tries + 2, length >> 1
    ranges[0, 0], ranges[0, 1], ranges[0, 2] = low, high, tries
    waiting, count = 1, 0
    while waiting > 0:
        waiting -= 1
        a, b, tries = ranges[waiting, 0], ranges[waiting, 1], ranges[waiting, 2]
        if b - a <= few:
            sort_few(keys, a, b - a)
            continue
        pivot = pivot_of(keys, a, b, some)
        if tries == 0 or pivot[0] != pivot[0]:
            if count == len(left):  # all of it, then
                left[0, 0], left[0, 1] = low, high
                return 1
            left[count, 0], left[count, 1] = a, b
            count += 1
            continue
        end, start = split_off(keys, a, b, pivot, kept, few)
        longer = np.int64(end - a < b - start)  # 1 if that is the second one
        for k in range(2):
            second = longer == k  # the longer one first
            ranges[waiting, 0] = start if second else a
            ranges[waiting, 1] = b if second else end
            ranges[waiting, 2] = tries - 1
            waiting += 1
    return count


def sort_by_vectors(keys: Keys, out: Keys, streams: int) -> None:
    """Sort keys into ``out``, with NaN last; the arrays are as for `smp.kernels.sorting.fast.sort_fast`."""
    place = out if is_plain(out) else np.empty(len(keys), keys.dtype.newbyteorder("="))
    if not _is_same(keys, place):
        given = keys.copy() if np.may_share_memory(keys, place) else keys
        count = streams if keys.nbytes >= WORTH_BYTES else 1
        blocks = [share(len(keys), k, count) for k in range(count)]
        side_by_side(*(partial(np.copyto, place[block], given[block]) for block in blocks))
    sort_in_place(place, streams)
    if place is not out:
        np.copyto(out, place)


def _is_same(keys: Keys, place: Keys) -> bool:
    return keys is place or (
        np.may_share_memory(keys, place)  # the addresses take longer
        and keys.ctypes.data == place.ctypes.data
        and keys.strides == place.strides
        and keys.dtype == place.dtype
    )


def sort_in_place(keys: Keys, streams: int) -> None:
    """Sort keys in place, with NaN last.

    Parameters
    ----------
    keys : plain ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`
    streams : int
        Number of streams.
    """
    if keys.nbytes <= _worth_sharing():
        sort_alone(keys, 0, len(keys))
        return
    parts = _Parts(keys)
    for low, high in _split_together(keys, streams):
        parts.put(low, high)
    side_by_side(*[parts.sort] * streams)


def sort_alone(keys: Keys, low: int, high: int) -> None:
    """Sort the keys between two places, on one stream."""
    if vectors.split_for_numpy():
        keys[low:high].sort()
        return
    left = np.empty((_MOST_LEFT, 2), np.int64)
    if count := sort_part(keys, low, high, left):
        for a, b in left[:count].tolist():
            keys[a:b].sort()


def _chunk() -> int:
    """Return the most bytes of a part that one stream sorts alone."""
    return NUMPYS_BYTES[vectors.width()] if vectors.split_for_numpy() else CHUNK_BYTES


def _worth_sharing() -> int:
    """Return the most bytes of a part that is not split for several streams."""
    return TOGETHER_BYTES if vectors.split_for_numpy() else CHUNK_BYTES


def _split_together(keys: Keys, streams: int) -> list[Range]:
    """Split the keys into about as many parts as there are streams; all streams take part if there are many keys."""
    done: list[Range] = []
    todo = [(0, len(keys), streams)]
    while todo:
        teams: list[_Team] = []
        for low, high, count in todo:
            octets = (high - low) * keys.itemsize
            pivot = _median(keys, low, high) if count > 1 and octets > _worth_sharing() else None
            if pivot is None or pivot != pivot:
                done.append((low, high))
            else:
                crew = count if octets >= WORTH_BYTES else 1
                blocks = [share(high - low, k, crew) for k in range(crew)]
                teams.append(_Team(low, high, pivot, count, [(low + b.start, low + b.stop) for b in blocks]))
        if not teams:
            break
        splits = [partial(split_block, keys, *block, team.pivot) for team in teams for block in team.blocks]
        ends = iter(side_by_side(*splits))
        found = [list(itertools.islice(ends, len(team.blocks))) for team in teams]
        moves = [call for team, each in zip(teams, found, strict=True) for call in _exchanges(keys, team, each)]
        if moves:
            side_by_side(*moves)
        todo = [part for team, each in zip(teams, found, strict=True) for part in team.halves(each)]
    return done


class _Team(NamedTuple):
    """A range for some streams, and the blocks of it that they split, each of them one."""

    low: int
    high: int
    pivot: Any
    streams: int
    blocks: list[Range]

    def middle(self, ends: list[int]) -> int:
        """Return the place of the first key above the pivot, given where the first ones of each block end."""
        return self.low + sum(end - a for (a, _), end in zip(self.blocks, ends, strict=True))

    def halves(self, ends: list[int]) -> list[tuple[int, int, int]]:
        """Return the two parts with their numbers of streams; one part, if all keys are on one side of the pivot."""
        low, middle, high, streams = self.low, self.middle(ends), self.high, self.streams
        if middle in (low, high):
            return [(low, high, 1)]
        first = min(max(1, round(streams * (middle - low) / (high - low))), streams - 1)
        return [(low, middle, first), (middle, high, streams - first)]


def _median(keys: Keys, low: int, high: int) -> Any:
    """Return the median of 255 keys, or the number before it if it is the largest of them."""
    some = np.sort(keys[low : high : (high - low) // 255])
    return before(some[127]) if some[127] == some[-1] else some[127]


def _exchanges(keys: Keys, team: _Team, ends: list[int]) -> list[Call]:
    """Return calls that exchange the keys on the wrong side of the middle, about equally many in each."""
    middle, blocks = team.middle(ends), list(zip(team.blocks, ends, strict=True))
    high = [(end, min(b, middle)) for (_, b), end in blocks if end < min(b, middle)]
    low = [(max(a, middle), end) for (a, _), end in blocks if max(a, middle) < end]
    most = -(-sum(b - a for a, b in high) // len(blocks))
    calls: list[Call] = []
    while high:
        (a, b), (c, d) = high.pop(), low.pop()
        count = min(b - a, d - c, most)
        calls.append(partial(exchange, keys, a, c, count))
        high += [(a + count, b)] * (a + count < b)
        low += [(c + count, d)] * (c + count < d)
    return calls


class _Parts:
    """Parts that are still to be sorted, from which every stream takes one and to which it may add others."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._todo: list[Range] = []
        self._splitting = 0  # streams that may still add a part
        self._changed = threading.Condition()

    def put(self, low: int, high: int) -> None:
        with self._changed:
            self._todo.append((low, high))
            self._changed.notify()

    def sort(self) -> None:
        """Sort parts until none is left; a stream that finds none waits only while another one splits its part."""
        while part := self._next():
            try:
                low, high = self._short(*part)
            finally:
                with self._changed:
                    self._splitting -= 1
                    if not self._splitting:
                        self._changed.notify_all()
            sort_alone(self._keys, low, high)

    def _next(self) -> Range | None:
        with self._changed:
            self._changed.wait_for(lambda: self._todo or not self._splitting)
            if not self._todo:
                return None
            self._splitting += 1
            return self._todo.pop()

    def _short(self, low: int, high: int) -> Range:
        """Split a part until it is short, put the others back, and return it."""
        keys = self._keys
        while (high - low) * keys.itemsize > _chunk():
            pivot = _median(keys, low, high)
            middle = split_block(keys, low, high, pivot) if pivot == pivot else high
            if middle in (low, high):
                break
            self.put(middle, high)
            high = middle
        return low, high
