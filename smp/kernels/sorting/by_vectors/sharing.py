"""Streams that share parts of the keys: each takes one that waits, and leaves halves of it to any that is free.

    part ──▶ half ──▶ half ──▶ short: sorted        by the stream that has taken the part
                half     half                       wait for the next stream that is free

    word                 written by                              read by
    LOCK                 all: compare_exchange from FREE to      all
                         HELD, and a store of FREE by the holder
    WAITING              the holder of the lock: number of       the holder; by load, streams that split, as a hint
                         parts that wait
    SPLITTING            the holder: number of streams that may  the holder
                         still leave parts
    IDLE                 the holder: number of streams that      the holder
                         found no part
    CHANGES              the holder, if there are idle streams:  the holder; by load, idle streams, which sleep until
                         how often a part was left, or no         it is another number
                         stream split any more
    ends[2k], [2k + 1]   the holder: ends of the part k          the holder
    MOST                 no stream: number of parts that may     all
                         wait

The store that frees the lock is a release, and taking the lock is an acquire.  So the stream that takes a part sees the
keys as the stream that left it has moved them.

An idle stream waits until a part is left, or until no stream splits any more.  It reads CHANGES before it frees the
lock, so it misses no change.  A stream that splits waits for the lock alone, whose holder waits for nothing.  So every
wait ends.

Parts are taken in the reverse order, so that their keys may still be in a cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp import inline, local
from smp._runtime.loops.atomics import clock, compare_exchange, futex_wait, futex_wake, load, pause, store
from smp._runtime.protocols.wait import EVER

from ..keys import Keys
from .blocks import AHEAD_BYTES, KEPT, Numbers, pivot_of, sort_part, split_into, split_off
from .vectors import MOST_VECTORS, before, lanes_of

LOCK, WAITING, SPLITTING, IDLE, CHANGES, MOST, ENDS = range(7)
FREE, HELD = 0, 1
ROOM = 64
"""Parts that may wait in addition to the first ones; if there are as many, streams sort what they have."""
SPIN = 50_000
"""Nanoseconds for which an idle stream spins before it sleeps."""
SAMPLE = 127
"""Keys of which one is the pivot, at most."""
REPEATS = 4
"""Keys in such a sample that equal the one before, from which the keys have few values."""
UNEVEN = 16
"""If at most one key in this many is on one side of the pivot, the other side is not split any more."""
Words = NDArray[np.int64]


def words_for(parts: list[tuple[int, int]], streams: int, splitting: int = 0) -> Words:
    """Return the words for some parts that wait at first, and for some streams that have begun to split others."""
    most = len(parts) + ROOM
    words = np.zeros(ENDS + 2 * (most + streams), np.int64)  # each stream may see that there is room for one more
    words[WAITING], words[SPLITTING], words[MOST] = len(parts), splitting, most
    for k, ends in enumerate(parts):
        words[ENDS + 2 * k : ENDS + 2 * k + 2] = ends
    return words


@inline
def lock(words: Words) -> None:
    while compare_exchange(words, LOCK, FREE, HELD) != FREE:
        pause()


@inline
def unlock(words: Words, changed: bool) -> None:
    """Free the lock; if something has changed for idle streams, wake them."""
    idle = load(words, IDLE)
    if changed and idle > 0:
        store(words, CHANGES, load(words, CHANGES) + 1)
    store(words, LOCK, FREE)
    if changed and idle > 0:
        futex_wake(words, CHANGES, idle)


@inline
def put(words: Words, low: int, high: int) -> None:
    """Leave a part to any stream, unless it is empty."""
    if low < high:
        lock(words)
        waiting = load(words, WAITING)
        at = ENDS + 2 * waiting
        words[at], words[at + 1] = low, high
        store(words, WAITING, waiting + 1)
        unlock(words, True)


@inline
def leave_no_more(words: Words) -> None:
    """Say that this stream leaves no other part before it takes the next one."""
    lock(words)
    splitting = load(words, SPLITTING) - 1
    store(words, SPLITTING, splitting)
    unlock(words, splitting == 0)


@inline
def take(words: Words) -> tuple[int, int]:
    """Wait for a part and take it; return its ends, which are equal if no part is left."""
    lock(words)
    while load(words, WAITING) == 0 and load(words, SPLITTING) > 0:
        store(words, IDLE, load(words, IDLE) + 1)
        seen = load(words, CHANGES)
        unlock(words, False)
        began = clock()
        while load(words, CHANGES) == seen:
            if clock() - began < SPIN:
                pause()
            else:
                futex_wait(words, CHANGES, seen, EVER)
        lock(words)
        store(words, IDLE, load(words, IDLE) - 1)
    low = high = 0
    waiting = load(words, WAITING) - 1
    if waiting >= 0:
        at = ENDS + 2 * waiting
        low, high = words[at], words[at + 1]
        store(words, WAITING, waiting)
        store(words, SPLITTING, load(words, SPLITTING) + 1)
    unlock(words, False)
    return low, high


@inline
def repeated(some: Keys, count: int) -> bool:
    """Return True if some keys in ascending order have few values."""
    equal = 0
    for i in range(1, count):
        equal += some[i] == some[i - 1]
    return equal >= REPEATS


@local(
    name="sorting.split_for_others",
    terms={"key": "len(keys)"},
    cost="(2 * load + 2 * store + 4 * int) * len(keys)",
)
def split_for_others(source: Keys, keys: Keys, words: Words) -> None:
    """Split the keys of an array into another one, and leave both parts; this stream has been counted as splitting."""
    some = np.empty(SAMPLE, keys.dtype)
    count = min(SAMPLE, MOST_VECTORS * lanes_of(keys))
    pivot, _, largest = pivot_of(source, 0, len(source), some, count)
    middle = split_into(source, keys, 0, len(keys), before(pivot) if largest else pivot)
    put(words, 0, middle)
    put(words, middle, len(keys))
    leave_no_more(words)


@local(
    name="sorting.shared",
    terms={"halving": "len(keys) * log2(len(keys) + 2)"},
    cost="(load + store + 2 * int) * len(keys) * log2(len(keys) + 2)",
)
def sort_shared(keys: Keys, words: Words, short: int, last: int, few: int, left: Numbers) -> int:
    """Take parts, split them and sort them, until none is left or some keys are left to NumPy.

    Parameters
    ----------
    keys : plain ndarray of one of `smp.kernels.sorting.keys.DTYPES`
    words : int64 array, of `words_for`
    short, last : int
        Most keys of a part that is not split, and the same if no part waits.
    few : int
        Most keys of a part that is left to NumPy because it has few values, unless it is all of them.
    left : int64 array (ranges, 2)
        Receives the ranges that are left to NumPy.

    Returns
    -------
    int
        Number of these ranges, after which there may be more to do; 0 if no part is left.
    """
    kept, some = np.empty(KEPT, keys.dtype), np.empty(SAMPLE, keys.dtype)  # before a part is taken, as this may fail
    network, ahead = MOST_VECTORS * lanes_of(keys), AHEAD_BYTES // keys.itemsize
    count = min(SAMPLE, network)
    while True:
        low, high = take(words)
        if low == high:
            return 0
        whole, of_few, even = high - low == len(keys), False, True
        while even and high - low > last:
            waiting = load(words, WAITING)
            if waiting > 0 and (high - low <= short or waiting >= words[MOST]):
                break
            pivot = pivot_of(keys, low, high, some, count)
            if pivot[0] != pivot[0]:
                break
            of_few = high - low <= few and repeated(some, count)
            if of_few and not whole:
                break
            length, whole = high - low, False
            end, start = split_off(keys, low, high, pivot, kept, network, ahead)
            even = max(end - low, high - start) <= length - length // UNEVEN
            if even or end - low > high - start:
                put(words, start, high)
                high = end
            else:
                put(words, low, end)
                low = start
        leave_no_more(words)
        if of_few:
            left[0, 0], left[0, 1] = low, high
            return 1
        ranges = sort_part(keys, low, high, left)
        if ranges > 0:
            return int(ranges)
