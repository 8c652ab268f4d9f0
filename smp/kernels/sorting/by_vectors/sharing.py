"""Streams that share keys: each takes a task, and leaves others to any stream that is free.

    all keys ──▶ half ──▶ half ──▶ short: sorted    by the stream that has taken them
                 half     half                      tasks for others, see ``tasks``

Two streams make the first split together, as the second one would have nothing to do meanwhile:

    0                                    n
    │ stream 0         │ stream 1        │    the first one chooses the pivot, and leaves the second block as a task
    │ low     │ high   │ low    │ high   │    the stream that ends the last block finds the middle
    │ low             │ high             │    each exchanges half of the keys on the wrong side
    │ half            │ half             │    the stream that ends the last exchange leaves the halves

A stream that comes too late finds these tasks done.  The first split may also copy the keys from another array.

    word              written by                                     read by
    BLOCKS            the stream that takes all keys, to 0           the same
    BETWEEN           the same: end of the first block               the stream that ends the last block
    ENDS, ENDS + 1    the stream that splits the block: place of     the same
                      the first key above the pivot; before that
                      the second one by the stream that takes all
    MIDDLE            the stream that ends the last block            the stream that ends the last exchange
    pivots[0]         the stream that takes all keys                 the stream that takes the second block

Each store comes before the load because of the tasks' lock: a task is left after the store and taken before the load,
or a step is ended after the store, and the last step before the load.
"""

from __future__ import annotations

import numpy as np

from smp import inline, local
from smp._runtime.loops.atomics import load

from ..keys import Keys
from . import tasks
from .blocks import AHEAD_BYTES, KEPT, Numbers, Pivot, exchange, pivot_of, sort_part, split, split_into, split_off
from .tasks import MOST, OWN, WAITING, Words, begin_steps, end_step, leave_no_more, put, take
from .vectors import GROUP_BYTES, MOST_VECTORS, before, lanes_of

PART, BLOCK = 0, -1
"""Kinds of tasks: to sort a part, and to split the second block.  Other kinds are numbers of keys to be exchanged."""
BLOCKS, BETWEEN, ENDS, MIDDLE = OWN, OWN + 1, OWN + 2, OWN + 4
FIRST_SIXTEENTHS = 9
"""Sixteenths of the keys that are in the first block, because the stream that splits it begins earlier."""
SAMPLE = 127
"""Keys of which one is the pivot, at most."""
REPEATS = 4
"""Keys in such a sample that equal the one before, from which the keys have few values."""
UNEVEN = 16
"""If at most one key in this many is on one side of the pivot, the other side is not split any more."""


def words_for(parts: list[tuple[int, int]], streams: int, blocks: int = 0) -> Words:
    """Return the words for some parts that wait at first.

    If all keys are one part, the first split may be one that copies them, in one block, or that has two blocks.
    """
    words = tasks.words_for([(low, high, PART) for low, high in parts], streams)
    words[BLOCKS] = blocks
    return words


@inline
def put_part(words: Words, low: int, high: int) -> None:
    """Leave a part to any stream, unless it is empty."""
    if low < high:
        put(words, low, high, PART)


@inline
def repeated(some: Keys) -> bool:
    """Return True if some keys in ascending order have few values."""
    equal = 0
    for i in range(1, len(some)):
        equal += some[i] == some[i - 1]
    return equal >= REPEATS


@inline
def begin_split(keys: Keys, words: Words, pivots: Keys, pivot: Pivot, copies: bool) -> int:
    """Begin the first split, and leave the second block if there are two; return the end of the first one.

    Return 0 if the keys need not be copied, and should be split in another way because many equal the pivot.
    """
    key, smallest, largest = pivot
    even, n = not (smallest or largest or key != key), len(keys)
    two = even and words[BLOCKS] == 2 and n >= 4 * GROUP_BYTES // keys.itemsize
    words[BLOCKS] = 0
    if not (even or copies):
        return 0
    end = n // 16 * FIRST_SIXTEENTHS if two else n
    pivots[0] = before(key) if largest else key
    words[BETWEEN] = words[ENDS + 1] = end
    begin_steps(words, 1 + two)
    if two:
        put(words, end, n, BLOCK)
    return end


@inline
def end_block(keys: Keys, words: Words, block: int, end: int) -> None:
    """End a block; after the last one, exchange half of the keys on the wrong side, and leave the others."""
    words[ENDS + block] = end
    if end_step(words):
        first, between, second = words[ENDS], words[BETWEEN], words[ENDS + 1]
        count = min(between - first, second - between)
        here = count // 2
        words[MIDDLE] = first + second - between
        begin_steps(words, 1 + (count > 0))
        if count > 0:
            put(words, first + here, second - count + here, count - here)
        end_exchange(keys, words, first, second - count, here)


@inline
def end_exchange(keys: Keys, words: Words, first: int, second: int, count: int) -> None:
    """Exchange some keys; after the last ones, leave both halves."""
    exchange(keys, first, second, count)
    if end_step(words):
        middle = words[MIDDLE]
        put_part(words, 0, middle)
        put_part(words, middle, len(keys))


@local(
    name="sorting.split_first",
    terms={"key": "high - low"},
    cost="(2 * load + 2 * store + 4 * int) * (high - low)",
)
def split_first(
    source: Keys,
    keys: Keys,
    words: Words,
    pivots: Keys,
    copies: bool,
    low: int,
    high: int,
    kind: int,
    kept: Keys,
    some: Keys,
) -> bool:
    """Do a task of the first split, or begin it with all keys; the arguments are those of `sort_shared`, and the task.

    Return False if all keys should be split in another way.
    """
    if kind > 0:
        end_exchange(keys, words, low, high, kind)
        return True
    if kind == PART:
        high = begin_split(keys, words, pivots, pivot_of(source, 0, len(keys), some, len(some)), copies)
        if high == 0:
            return False
    pivot, ahead = pivots[0], AHEAD_BYTES // keys.itemsize
    end = split_into(source, keys, low, high, pivot) if copies else split(keys, low, high, pivot, kept, ahead)
    end_block(keys, words, int(low > 0), end)
    return True


@local(
    name="sorting.shared_part",
    terms={"halving": "(high - low) * log2(high - low + 2)"},
    cost="(load + store + 2 * int) * (high - low) * log2(high - low + 2)",
)
def sort_one(
    keys: Keys,
    words: Words,
    low: int,
    high: int,
    short: int,
    last: int,
    few: int,
    left: Numbers,
    kept: Keys,
    some: Keys,
) -> int:
    """Split a part, leave halves of it, and sort what is left; the arguments are those of `sort_shared`, and the part.

    Return the number of ranges that are left to NumPy.
    """
    network, ahead = MOST_VECTORS * lanes_of(keys), AHEAD_BYTES // keys.itemsize
    whole, of_few, even = high - low == len(keys), False, True
    while even and high - low > last:
        waiting = load(words, WAITING)
        if waiting > 0 and (high - low <= short or waiting >= words[MOST]):
            break
        pivot = pivot_of(keys, low, high, some, len(some))
        if pivot[0] != pivot[0]:
            break
        of_few = high - low <= few and repeated(some)
        if of_few and not whole:
            break
        length, whole = high - low, False
        end, start = split_off(keys, low, high, pivot, kept, network, ahead)
        even = max(end - low, high - start) <= length - length // UNEVEN
        if even or end - low > high - start:
            put_part(words, start, high)
            high = end
        else:
            put_part(words, low, end)
            low = start
    leave_no_more(words)
    if of_few:
        left[0, 0], left[0, 1] = low, high
        return 1
    return int(sort_part(keys, low, high, left))


@local(
    name="sorting.shared",
    terms={"halving": "len(keys) * log2(len(keys) + 2)"},
    cost="(load + store + 2 * int) * len(keys) * log2(len(keys) + 2)",
)
def sort_shared(
    source: Keys, keys: Keys, words: Words, pivots: Keys, copies: bool, short: int, last: int, few: int, left: Numbers
) -> int:
    """Take tasks until none is left or some keys are left to NumPy.

    Parameters
    ----------
    source : plain ndarray of one of `smp.kernels.sorting.keys.DTYPES`
        Keys that are copied by the first split if ``copies`` is True.
    keys : plain ndarray of the same shape and dtype
        Array that is sorted.
    words : int64 array, of `words_for`
    pivots : ndarray of shape (1,) and this dtype
        Shared by the streams.
    copies : bool
    short, last : int
        Most keys of a part that is not split, and the same if no task waits.
    few : int
        Most keys of a part that is left to NumPy because it has few values, unless it is all of them.
    left : int64 array (ranges, 2)
        Receives the ranges that are left to NumPy.

    Returns
    -------
    int
        Number of these ranges, after which there may be more to do; 0 if no task is left.
    """
    kept = np.empty(KEPT, keys.dtype)  # before a task is taken, as this may fail
    some = np.empty(min(SAMPLE, MOST_VECTORS * lanes_of(keys)), keys.dtype)
    while True:
        low, high, kind = take(words)
        if low == high:
            return 0
        first = kind != PART or (words[BLOCKS] > 0 and high - low == len(keys))
        if first and split_first(source, keys, words, pivots, copies, low, high, kind, kept, some):
            leave_no_more(words)
            continue
        ranges = sort_one(keys, words, low, high, short, last, few, left, kept, some)
        if ranges > 0:
            return int(ranges)
