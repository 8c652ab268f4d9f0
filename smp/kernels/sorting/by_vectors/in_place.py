"""Sort keys in place: split them by pivots, with vectors, until parts are left that a network or NumPy sorts.

    0                                    n
    │ 0      │ 1      │ 2       │ 3      │    each stream splits a block by the same pivot
    │ l │ h  │ l │ h  │ l │ h   │ l │ h  │
    │ low             │ high             │    keys on the wrong side change places
    │ 0      │ 1      │ 2       │ 3      │    the same with half of the streams, until each part has one stream
      then the streams share the parts, see ``sharing``

Three or more streams take these steps if there are many keys.  Two streams split all keys in ``sharing``.

No memory is needed beyond a dozen vectors and 32 KiB for each stream.  A key is read and written once for each
halving, until the part fits the cache.

The loops that split are in ``blocks``, and those for parts that fit the nearest cache in ``short``.

Source: Tsigas and Zhang, A simple, fast parallel implementation of quicksort, for the order of the phases.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from smp._runtime.program.processor import share

from ...in_process import side_by_side
from ..keys import Keys
from ..parts import is_plain
from . import vectors
from .blocks import exchange, sort_part, split_block, split_into
from .sharing import sort_shared, words_for
from .vectors import before

CHUNK_BYTES = 1 << 18
"""Bytes of a part that one stream sorts alone, in its core's cache."""
LAST_BYTES = 1 << 16
"""The same if no part waits for the next free stream, so that all streams end at about the same time."""
NUMPY_BYTES = 1 << 22
"""Bytes of a part of few values that is left to NumPy."""
WORTH_SHARING = 1 << 17
"""Bytes from which several streams share the keys."""
WORTH_BYTES = 1 << 22
"""Bytes from which several streams copy or split a part together: each phase takes 10 to 100 us in addition."""
WORTH_TWO_BLOCKS, COPIED_IN_TWO = 1 << 21, 3 << 18
"""Bytes from which two streams make the first split together, and the same if it also copies the keys."""
_MOST_LEFT = 64  # parts with bad pivots that are left to NumPy
Range = tuple[int, int]
Call = Callable[[], object]


def sort_by_vectors(keys: Keys, out: Keys, streams: int, sample: Keys | None = None) -> None:
    """Sort keys into ``out``, with NaN last; the arguments are as for `smp.kernels.sorting.fast.sort_fast`."""
    place = out if is_plain(out) else np.empty(len(keys), keys.dtype.newbyteorder("="))
    given = None if _is_same(keys, place) else keys.copy() if np.may_share_memory(keys, place) else keys
    sort_in_place(place, streams, sample, given)
    if place is not out:
        np.copyto(out, place)


def _is_same(keys: Keys, place: Keys) -> bool:
    return keys is place or (
        np.may_share_memory(keys, place)  # the addresses take longer
        and keys.ctypes.data == place.ctypes.data
        and keys.strides == place.strides
        and keys.dtype == place.dtype
    )


def sort_in_place(keys: Keys, streams: int, sample: Keys | None = None, source: Keys | None = None) -> None:
    """Sort keys in place, with NaN last.

    Parameters
    ----------
    keys : plain ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`
    streams : int
        Number of streams.
    sample : ndarray of shape (s,), optional
        Some of the keys, ascending, if they have already been looked at.
    source : ndarray of shape (n,), optional
        An array in other memory which has the keys, while ``keys`` has anything.  The first split also copies them.
    """
    n, shared = len(keys), streams > 1 and keys.nbytes > WORTH_SHARING
    together = shared and streams > 2 and keys.nbytes >= WORTH_BYTES
    pivot = _pivot(keys if source is None else source, 0, n, sample) if together else None
    splits = shared and (pivot is not None or not together)
    if source is not None and not (splits and is_plain(source)):
        count = streams if keys.nbytes >= WORTH_BYTES else 1
        blocks = [share(n, k, count) for k in range(count)]
        side_by_side(*(partial(np.copyto, keys[block], source[block]) for block in blocks))
        source = None
    if not shared:
        sort_alone(keys, 0, n)
    elif together:
        _share(keys, _split_together(keys, streams, pivot, source), streams)
    else:
        _share(keys, [(0, n)], streams, source)


def sort_alone(keys: Keys, low: int, high: int) -> None:
    """Sort the keys between two places, on one stream."""
    if vectors.numpy_sorts_alone(keys.dtype):
        keys[low:high].sort()
        return
    left = np.empty((_MOST_LEFT, 2), np.int64)
    if count := sort_part(keys, low, high, left):
        for a, b in left[:count].tolist():
            keys[a:b].sort()


def _share(keys: Keys, parts: list[Range], streams: int, source: Keys | None = None) -> None:
    """Sort parts of the keys, or all keys, which come from a source if there is one."""
    given, copies, worth = (keys, False, WORTH_TWO_BLOCKS) if source is None else (source, True, COPIED_IN_TWO)
    blocks = 0 if len(parts) > 1 else 2 if keys.nbytes >= worth else int(copies)
    words, pivots = words_for(parts, streams, blocks), np.empty(1, keys.dtype)
    short, last = CHUNK_BYTES // keys.itemsize, LAST_BYTES // keys.itemsize
    few = NUMPY_BYTES // keys.itemsize if vectors.split_for_streams() and vectors.width() == 64 else 0

    def sort_parts() -> None:
        left = np.empty((_MOST_LEFT, 2), np.int64)
        while count := sort_shared(given, keys, words, pivots, copies, short, last, few, left):
            for low, high in left[:count].tolist():
                keys[low:high].sort()

    side_by_side(*[sort_parts] * streams)


def _split_together(keys: Keys, streams: int, pivot: Any, source: Keys | None) -> list[Range]:
    """Split the keys into about as many parts as there are streams; all streams take part if there are many keys.

    The first pivot is given.  If there is a source, the first split copies the keys from it.
    """
    done: list[Range] = []
    todo = [(0, len(keys), streams, pivot)]
    while todo:
        teams: list[_Team] = []
        for low, high, count, pivot in todo:
            if pivot is None:
                done.append((low, high))
            else:
                blocks = [share(high - low, k, count) for k in range(count)]
                teams.append(_Team(low, high, pivot, count, [(low + b.start, low + b.stop) for b in blocks]))
        if not teams:
            break
        split = split_block if source is None else partial(split_into, source)
        source = None
        splits = [partial(split, keys, *block, team.pivot) for team in teams for block in team.blocks]
        ends = iter(side_by_side(*splits))
        found = [list(itertools.islice(ends, len(team.blocks))) for team in teams]
        moves = [call for team, each in zip(teams, found, strict=True) for call in _exchanges(keys, team, each)]
        if moves:
            side_by_side(*moves)
        halves = [part for team, each in zip(teams, found, strict=True) for part in team.halves(each)]
        todo = [(*part, _pivot_for(keys, *part)) for part in halves]
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


def _pivot_for(keys: Keys, low: int, high: int, streams: int) -> Any:
    """Return a pivot for keys that several streams split together; None if there are too few, or the median is NaN."""
    many = streams > 1 and (high - low) * keys.itemsize >= WORTH_BYTES
    return _pivot(keys, low, high) if many else None


def _pivot(keys: Keys, low: int, high: int, sample: Keys | None = None) -> Any:
    """Return the median of a sample, by default of 255 to 1024 keys; None if it is NaN.

    If it is the largest of them, it is the number before it.
    """
    if sample is None:
        count = min(max((high - low) >> 11, 255), 1024)
        sample = np.sort(keys[low : high : (high - low) // count])
    middle = sample[len(sample) // 2]
    if middle != middle:
        return None
    return before(middle) if middle == sample[-1] else middle


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
