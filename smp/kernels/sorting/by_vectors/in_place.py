"""Sort keys in place: split them by pivots, with vectors, until parts are left that a network or NumPy sorts.

    0                                    n
    │ stream 0        │ stream 1         │    each stream splits a block by the same pivot
    │ low    │ high   │ low     │ high   │
    │ low             │ high             │    keys on the wrong side change places
    │ 0               │ 1                │    the same with half of the streams, until each part has one stream
      then every stream takes a part, splits it, puts one half back, and so on; a part that fits a core's cache it
      sorts alone

Two streams do without the steps in which they split together, unless there are many keys: one of them splits all keys,
and the other one has been started by then.  Near the end, when no part is left for the next free stream, shorter parts
are split as well, so that both streams finish at about the same time.

No memory is needed beyond a dozen vectors and 32 KiB for each stream.  A key is read and written once for each
halving, until the part fits the cache.

The loops that split are in ``blocks``, and those for parts that fit the nearest cache in ``short``.

Source: Tsigas and Zhang, A simple, fast parallel implementation of quicksort, for the order of the phases.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from smp._runtime.program.processor import share

from ...in_process import side_by_side
from ..keys import Keys
from ..parts import is_plain
from ..sampling import KEYS_THAT_REPEAT, vary
from . import vectors
from .blocks import exchange, sort_part, split_block, split_into
from .vectors import before

CHUNK_BYTES = 1 << 18
"""Bytes of a part that one stream sorts alone, in its core's cache."""
PART_BYTES = {32: 1 << 21, 64: 1 << 23}
"""The same on CPUs of `split_for_streams`, by the bytes of a vector."""
LAST_BYTES, LONG_BYTES = {32: 1 << 17, 64: 1 << 20}, {32: 0, 64: 1 << 24}
"""The same if no other part is left for the next free stream, and bytes of all keys from which that counts."""
TOGETHER_BYTES = 1 << 18
"""Bytes from which a part is split for several streams on these CPUs."""
WORTH_BYTES = 1 << 22
"""Bytes from which several streams copy or split a part together: each phase takes 10 to 100 us in addition."""
WORTH_BYTES_OF_TWO, INTO_ANOTHER = 1 << 24, {32: 1 << 24, 64: WORTH_BYTES}
"""Bytes from which two streams split all keys together; the same if the keys come from another array, by the bytes of a
vector."""
_MOST_LEFT = 64  # parts with bad pivots that are left to NumPy
Range = tuple[int, int]
Part = tuple[int, int, Callable[[], int] | None]
"""Ends of a part, and what splits it and returns where its second half begins; None if its own median splits it."""
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
    n = len(keys)
    pivot = _pivot(keys if source is None else source, 0, n, streams, sample)
    if source is not None and (pivot is None or not is_plain(source)):
        count = streams if keys.nbytes >= WORTH_BYTES else 1
        blocks = [share(n, k, count) for k in range(count)]
        side_by_side(*(partial(np.copyto, keys[block], source[block]) for block in blocks))
        source = None
    if keys.nbytes <= _worth_sharing():
        sort_alone(keys, 0, n)
        return
    parts = _Parts(keys, streams)
    together = WORTH_BYTES_OF_TWO if source is None else INTO_ANOTHER[vectors.width()]
    if streams == 2 and pivot is not None and keys.nbytes < together:
        split = split_block if source is None else partial(split_into, source)
        parts.put((0, n, partial(split, keys, 0, n, pivot)))
    else:
        for low, high in _split_together(keys, streams, pivot, source):
            parts.put((low, high, None))
    side_by_side(*[parts.sort] * streams)


def sort_alone(keys: Keys, low: int, high: int) -> None:
    """Sort the keys between two places, on one stream."""
    if vectors.numpy_sorts_parts(keys.dtype):
        keys[low:high].sort()
        return
    left = np.empty((_MOST_LEFT, 2), np.int64)
    if count := sort_part(keys, low, high, left):
        for a, b in left[:count].tolist():
            keys[a:b].sort()


def _chunk() -> int:
    """Return the most bytes of a part that one stream sorts alone."""
    return PART_BYTES[vectors.width()] if vectors.split_for_streams() else CHUNK_BYTES


def _worth_sharing() -> int:
    """Return the most bytes of a part that is not split for several streams."""
    return TOGETHER_BYTES if vectors.split_for_streams() else CHUNK_BYTES


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
                crew = count if (high - low) * keys.itemsize >= WORTH_BYTES else 1
                blocks = [share(high - low, k, crew) for k in range(crew)]
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
        todo = [(*part, _pivot(keys, *part)) for part in halves]
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


def _pivot(keys: Keys, low: int, high: int, streams: int, sample: Keys | None = None) -> Any:
    """Return a pivot for some keys that several streams sort; None if one stream does, or the median is NaN."""
    if streams == 1 or (high - low) * keys.itemsize <= _worth_sharing():
        return None
    pivot = _median(keys, low, high) if sample is None else _middle(sample)
    return pivot if pivot == pivot else None


def _median(keys: Keys, low: int, high: int) -> Any:
    """Return the median of 255 to 1024 keys, or the number before it if it is the largest of them."""
    count = min(max((high - low) >> 11, 255), 1024)
    return _middle(np.sort(keys[low : high : (high - low) // count]))


def _middle(some: Keys) -> Any:
    """Return the median of some keys in ascending order, or the number before it if it is the largest of them."""
    middle = some[len(some) // 2]
    return before(middle) if middle == some[-1] else middle


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

    def __init__(self, keys: Keys, streams: int) -> None:
        self._keys = keys
        wide = vectors.width()
        self._split_last = streams > 1 and vectors.split_for_streams() and keys.nbytes >= LONG_BYTES[wide]
        self._looks = streams > 1 and wide == 64 and vectors.sort_parts(keys.dtype)
        self._todo: list[Part] = []
        self._splitting = 0  # streams that may still add a part
        self._changed = threading.Condition()

    def put(self, part: Part) -> None:
        with self._changed:
            self._todo.append(part)
            self._changed.notify()

    def sort(self) -> None:
        """Sort parts until none is left; a stream that finds none waits only while another one splits its part."""
        while part := self._next():
            try:
                low, high = self._short(part)
            finally:
                with self._changed:
                    self._splitting -= 1
                    if not self._splitting:
                        self._changed.notify_all()
            self._sort_alone(low, high)

    def _sort_alone(self, low: int, high: int) -> None:
        """Sort a part; with AVX-512 but for AMD's Zen 4, NumPy also sorts integers of which some of 64 are equal."""
        part = self._keys[low:high]
        if self._looks and not vary(part, KEYS_THAT_REPEAT):
            part.sort()
        else:
            sort_alone(self._keys, low, high)

    def _next(self) -> Part | None:
        with self._changed:
            self._changed.wait_for(lambda: self._todo or not self._splitting)
            if not self._todo:
                return None
            self._splitting += 1
            return self._todo.pop()

    def _short(self, part: Part) -> Range:
        """Split a part until it is short, put the others back, and return it."""
        keys, (low, high, split) = self._keys, part
        while split or (high - low) * keys.itemsize > self._most():
            if split is None:
                pivot = _median(keys, low, high)
                if pivot != pivot:
                    break
                split = partial(split_block, keys, low, high, pivot)
            middle, split = split(), None
            if middle in (low, high):
                break
            self.put((middle, high, None))
            high = middle
        return low, high

    def _most(self) -> int:
        """Return the most bytes of a part that one stream sorts alone; fewer if it would be the last one."""
        last = self._split_last and not self._todo  # without the lock: at worst, one split more or less
        return LAST_BYTES[vectors.width()] if last else _chunk()
