"""Order keys by sorting words, each of which holds the image of a key and, in its low bits, the key's place.

    key 7  place 0        0111 00      sorted    0010 01      low bits    1
    key 2  place 1   ─▶   0010 01   ─────────▶   0111 00   ───────────▶   0
    key 9  place 2        1001 10                1001 10                  2

Sorting 64-bit words in place takes a fraction of the time of any sort that moves keys and places separately.  An image
(see `smp.kernels.sorting.keys`) of 32 bits and a place always fit into a word.  Of one of 64 bits, the least image is
subtracted, and low bits that are alike in all images are left out.  If the rest is still too long, its lowest bits are
dropped:

    words     12.. 12.. 13.. 15.. 15.. 15..     a stretch of words with equal high bits is a run
    run       dropped bits, place               its keys are read again: the words of a run differ only in these

The dropped bits are never more than those of a place, so words of both order a run, and there is no third step.  Short
runs are sorted many at once, in words that begin with the number of the run.  So the time is at most about that of two
sorts and of a random access to each key, whatever the keys are.

The loops count from 0 over slices.  A place that may be negative counts from the end of an array, and then no whole
vectors are read and written, but one lane at a time.
"""

from __future__ import annotations

import functools
import itertools
import operator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import inline, local
from smp._runtime.loops.atomics import prefetch
from smp._runtime.program.processor import share

from ...in_process import side_by_side
from ..by_vectors import vectors
from ..by_vectors.in_place import sort_alone, sort_by_vectors
from ..fast import STREAM_BYTES, WORTH_ALONE, may_split, sort_fast, worth_moving
from ..keys import Images, Keys, Rule, image, rule_of, unsigned
from ..parts import Numbers, is_plain, native

CHUNK = 1 << 14
"""Words of short runs that are sorted at once, in a core's cache; longer runs are sorted one by one, on all streams."""
TILE = 32
"""Words that are looked through at once for two equal neighbours, by vector instructions."""
AHEAD = 16
"""Keys between the prefetch of one and its use."""
Words = NDArray[np.uint64]


class Packing(NamedTuple):
    """The way in which images are packed: ``(image - least) >> down`` comes above the ``place`` bits of the place.

    ``dropped`` is the number of bits that are lost thereby; those below it are alike in all images.
    """

    least: np.uint64
    down: np.uint64
    place: np.uint64
    dropped: np.uint64


def argsort_packed(keys: Keys, streams: int, light: int | None = None) -> Numbers:
    """Return the order that sorts keys.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`, in either byte order
        At most 2**32 keys: their places fit into half a word.
    streams : int
        Number of streams.
    light : int, optional
        Number of them that take part in the light steps, which are all but the sorts of words.  By default, all do.
    """
    n, plain = len(keys), keys if is_plain(keys) else native(keys)
    bits, rule = plain.view(unsigned(plain.dtype)), rule_of(plain.dtype)
    light = light or streams
    packing = packing_of(bits, rule, light)
    if packing is None:
        return np.arange(n)
    words = np.empty(n, np.uint64)
    blocks = [share(n, k, light) for k in range(light)]
    side_by_side(*(partial(pack, bits, block.start, block.stop, rule, packing, words) for block in blocks))
    _sort(words, streams)
    if packing.dropped:
        _finish(words, bits, rule, packing, streams, light)
    else:
        side_by_side(*(partial(unpack, words, block.start, block.stop, packing.place) for block in blocks))
    return words.view(np.int64)


def packing_of(bits: Images, rule: Rule, streams: int) -> Packing | None:
    """Return how the images of keys are packed, or None if all keys are equal."""
    if not len(bits):
        return None
    place = (len(bits) - 1).bit_length()
    if bits.itemsize == 4:
        return Packing(np.uint64(0), np.uint64(0), np.uint64(place), np.uint64(0))
    blocks = [share(len(bits), k, streams) for k in range(streams)]
    found = side_by_side(*(partial(survey, bits, block.start, block.stop, rule) for block in blocks))
    lows, highs, differences = zip(*(map(int, each) for each in found), strict=True)
    least, differing = min(lows), functools.reduce(operator.or_, differences)
    if not differing:
        return None
    alike = (differing & -differing).bit_length() - 1
    width = ((max(highs) - least) >> alike).bit_length()
    dropped = max(0, width - (64 - place))
    return Packing(np.uint64(least), np.uint64(alike + dropped), np.uint64(place), np.uint64(dropped))


@local
def survey(bits: Images, start: int, stop: int, rule: Rule) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the least and largest image of a block, and the bits in which any of them differs from the first key's.

    The first key is that of all keys, not of the block.
    """
    block, first = bits[start:stop], image(bits[0], rule)
    least, largest, differing = first, first, np.uint64(0)
    for i in range(len(block)):
        x = image(block[i], rule)
        least, largest = min(least, x), max(largest, x)
        differing |= x ^ first
    return least, largest, differing


@local
def pack(bits: Images, start: int, stop: int, rule: Rule, packing: Packing, words: Words) -> None:
    """Pack the images of a block of keys with their places."""
    least, down, place, _ = packing
    block, packed, first = bits[start:stop], words[start:stop], np.uint64(start)
    for i in range(len(block)):
        packed[i] = (((image(block[i], rule) - least) >> down) << place) | (first + np.uint64(i))


@local
def unpack(words: Words, start: int, stop: int, place: np.uint64) -> None:
    """Leave only the places in a block of words."""
    block, low = words[start:stop], (np.uint64(1) << place) - np.uint64(1)
    for i in range(len(block)):
        block[i] &= low


def _sort(words: Words, streams: int) -> None:
    """Sort words, which all differ and are in no narrow range, so that no look is needed."""
    if vectors.beat_numpy() or (may_split(streams) and words.nbytes >= worth_moving(True)):
        sort_by_vectors(words, words, streams)
    elif streams == 1:
        if words.nbytes >= WORTH_ALONE[words.itemsize] and vectors.sort_alone(words.dtype):
            sort_alone(words, 0, len(words))
        else:
            words.sort()
    else:
        sort_fast(words, words, streams)


# -------------------------------------------------------------------------------- runs of equal high bits


def _finish(words: Words, bits: Images, rule: Rule, packing: Packing, streams: int, light: int) -> None:
    """Leave only the places in sorted words, and order the runs by the bits that were dropped.

    A long run is ordered on all streams, and short ones on ``light`` streams.
    """
    n = len(words)
    ends = [0, *(end_of_run(words, share(n, k, light).stop - 1, packing.place) for k in range(light))]

    def finish(start: int, stop: int) -> list[tuple[int, int]]:
        spare, places, long = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.int64), []
        while start < stop:
            count, run, following, ascending = collect(words, start, stop, bits, rule, packing, spare, places)
            if count and not ascending:
                _sort(spare[:count], 1)
                put_back(spare, places, count, packing.place, words)
            if run:
                long.append((following - run, following))
            start = following
        return long

    for each in side_by_side(*(partial(finish, *block) for block in itertools.pairwise(ends))):
        for start, stop in each:
            _order_run(words[start:stop], bits, rule, packing, streams)


def _order_run(run: Words, bits: Images, rule: Rule, packing: Packing, streams: int) -> None:
    """Order the places of one long run."""
    streams = min(streams, max(1, run.nbytes // STREAM_BYTES))
    blocks = [share(len(run), k, streams) for k in range(streams)]
    done = side_by_side(*(partial(relabel, run, b.start, b.stop, bits, rule, packing) for b in blocks))
    if not all(done) or any(run[b.start - 1] > run[b.start] for b in blocks[1:]):
        _sort(run, streams)
    side_by_side(*(partial(unpack, run, b.start, b.stop, packing.place) for b in blocks))


@inline
def dropped_bits(bits: Images, at: np.uint64, rule: Rule, packing: Packing) -> np.uint64:
    """Return the bits of a key's image that its word has no room for."""
    least, down, _, dropped = packing
    return ((image(bits[at], rule) - least) >> (down - dropped)) & ((np.uint64(1) << dropped) - np.uint64(1))


@local
def end_of_run(words: Words, at: int, place: np.uint64) -> int:
    """Return the end of the run that the word at a place belongs to."""
    high, i = words[at] >> place, at + 1
    while i < len(words) and words[i] >> place == high:
        i += 1
    return i


@local
def collect(
    words: Words, start: int, stop: int, bits: Images, rule: Rule, packing: Packing, spare: Words, places: Numbers
) -> tuple[int, int, int, bool]:
    """Leave only the places in words, and collect words that order the short runs among them.

    Returns how many are collected, the length of the long run at which this stopped (0 for none), the place behind the
    last word that is done, and whether those collected ascend already.
    """
    _, _, place, dropped = packing
    low = (np.uint64(1) << place) - np.uint64(1)
    number, above = np.uint64(0), min(place + dropped, np.uint64(63))
    most = np.uint64(1) << (np.uint64(64) - place - dropped) if place + dropped > 32 else np.uint64(1 << 32)
    count, i, long, slow = 0, start, 0, start
    while i < stop and number < most:
        while slow <= i < stop - TILE:
            tile, following, equal = words[i : i + TILE], words[i + 1 : i + TILE + 1], False
            for k in range(TILE):
                equal |= tile[k] >> place == following[k] >> place
            if equal:
                slow = i + TILE
            else:
                for k in range(TILE):
                    tile[k] &= low
                i += TILE
        high, end = words[i] >> place, i + 1
        while end < stop and words[end] >> place == high:
            end += 1
        if end - i > 1 and end - i <= len(spare):
            if count + end - i > len(spare):
                break
            for k in range(i, end):
                words[k] &= low
                spare[count] = (number << above) | words[k]
                places[count] = k
                count += 1
            number += np.uint64(1)
        else:
            for k in range(i, end):
                words[k] &= low
        long = end - i if end - i > len(spare) else 0
        i = end
        if long:
            break
    ascending, last = True, np.uint64(0)
    for k in range(count):
        prefetch(bits, spare[min(k + AHEAD, count - 1)] & low)
        spare[k] |= dropped_bits(bits, spare[k] & low, rule, packing) << place
        ascending &= last <= spare[k]
        last = spare[k]
    return count, long, i, ascending


@local
def put_back(spare: Words, places: Numbers, count: int, place: np.uint64, words: Words) -> None:
    """Put the places of sorted words back to where they were collected."""
    low = (np.uint64(1) << place) - np.uint64(1)
    for k in range(count):
        words[places[k]] = spare[k] & low


@local
def relabel(run: Words, start: int, stop: int, bits: Images, rule: Rule, packing: Packing) -> bool:
    """Put the dropped bits above the places of a block of a run; return True if these words ascend already."""
    ascending, last = True, np.uint64(0)
    for i in range(start, stop):
        run[i] |= dropped_bits(bits, run[i], rule, packing) << packing.place
        ascending &= last <= run[i]
        last = run[i]
    return ascending
