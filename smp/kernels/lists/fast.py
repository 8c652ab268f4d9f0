"""The fast form of list ranking, which runs on streams of the calling process.

    copy      the successors are copied into words, which later become the ranks; this also finds the head (see `lists`)
    starts    random nodes each start a sublist: before the walk, their words are marked with its number
    walk      every stream takes sublists, 64 at a time, and visits one node of each in turn; (sublist, rank within it)
              overwrites the successor that was read, until the next word is a marked one

                 word of a node     0 │ successor                    not visited
                                    1 │ sublist │ rank within it     visited, or the start of a sublist

    finish    sublists are scanned along their list; rank = rank at which its sublist begins + rank within it

The successor and the place of the rank are one word, so a visit costs one cache miss, and the line is prefetched as
soon as the node is known.  With as many cursors as a core can have misses in flight, the walk runs at the rate of
independent random loads.

No stream disturbs another.  A word that is not a start belongs to one sublist, and only the walker of that sublist
reads and writes it.  The word of a start is written before all walks, and read by the walker of the preceding sublist.
If the successors form no list, two walkers may meet; each then finds a successor in range or a marked word, so both
end.  A walk that ends where another sublist begins has followed the successors.  So has a chain of such walks, and if
it comes to the tail it has visited no node twice (see `lists`).

Source: Helman and JaJa, Prefix computations on symmetric multiprocessors, for the sublists.  The words are packed
because a random store in addition to each load was observed to cost more than the load.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import inline, local, stream
from smp._runtime.loops.atomics import fetch_add, prefetch
from smp._runtime.program.processor import share
from smp.errors import InvalidList

from ..in_process import side_by_side
from .lists import Nodes, describe, head_from, tally

CURSORS = 64
NODES_A_SUBLIST, MOST_SUBLISTS = 1000, 1 << 13
"""Number of nodes of a sublist, and largest number of sublists: the table of their first ranks fits the nearest cache.

Half or twice as many sublists take the same time within a few per cent, on ordered and on random lists.  So do 32 to
128 cursors.
"""
LONGEST_NARROW = 1 << 30
"""Number of nodes up to which words of 32 bits suffice: 15 bits for the sublist, 16 for the rank within it."""
_BEGUN, _MADE, _FAILED = 0, 1, 2
"""Words that the streams share: sublists taken, numbers given out, failed walks.  They change by fetch_add only.

Only the stream that was given a number writes its row of the links.  The caller reads all rows once every stream has
ended.
"""
Words = NDArray[Any]  # int32 or int64
Numbers = NDArray[np.int64]


@inline
def rank_bits(words: Any) -> int:
    """Return the number of low bits of a word that hold a rank; a longer sublist continues under another number."""
    return 16 if words.itemsize == 4 else 32


@local
def copy_surveyed(successor: Nodes, words: Words, start: int, n: int, found: Numbers) -> None:
    """Copy the successors of the nodes from ``start`` on, and note in ``found`` the results of `lists.survey`.

    One loop does both, so that it computes while the next nodes come from memory.
    """
    total = strays = tails = np.int64(0)
    for i in range(len(successor)):
        y = np.int64(successor[i])
        words[i] = y
        total, strays, tails = tally(start + i, y, n, total, strays, tails)
    found[0], found[1], found[2] = total, strays, tails


@local
def cut(words: Words, head: int, seed: int, starts: Numbers, seconds: Numbers) -> tuple[int, int]:
    """Let a random node in each of ``len(starts) - 1`` blocks of nodes start a sublist, and the head; then `mark` them.

    Return how many sublists there are, and the number of the head's.
    """
    n, blocks = len(words), len(starts) - 1
    of_head = blocks
    for j in range(blocks):
        first, stop = j * n // blocks, (j + 1) * n // blocks
        starts[j] = first + np.int64(scrambled(np.uint64(seed), np.uint64(j)) % np.uint64(stop - first))
        if starts[j] == head:
            of_head = j
    starts[blocks] = head
    count = blocks + 1 if of_head == blocks else blocks
    mark(words, starts[:count], seconds[:count])
    return count, of_head


@inline
def scrambled(seed: np.uint64, number: np.uint64) -> np.uint64:
    """Return 64 bits that look random, as Steele, Lea and Flood's SplitMix does: two rounds of shift and multiply."""
    x = seed + (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@local
def mark(words: Words, starts: Numbers, seconds: Numbers) -> None:
    """Mark each start with the number of its sublist, and keep its successor in ``seconds``."""
    shift, flag = rank_bits(words), -1 << (8 * words.itemsize - 1)
    for j in range(len(starts)):
        prefetch(words, np.uint64(starts[min(j + 16, len(starts) - 1)]))
        x = np.uint64(starts[j])
        seconds[j] = words[x]
        words[x] = flag | (j << shift)


@stream
def walk(words: Words, seconds: Numbers, cursors: int, links: Numbers, shared: Numbers) -> None:
    """Walk sublists until none are left; write (length, next) of each into ``links``.  The last is its own next."""
    shift, flag = rank_bits(words), -1 << (8 * words.itemsize - 1)
    ranks, numbers = (1 << shift) - 1, (1 << (8 * words.itemsize - 1 - shift)) - 1
    at, word = np.empty(cursors, np.uint64), np.empty(cursors, words.dtype)
    active = 0
    for k in range(cursors):
        j = fetch_add(shared, _BEGUN, 1)
        if j >= len(seconds):
            break
        at[k], word[k] = seconds[j], flag | (j << shift) | 1
        prefetch(words, at[k])
        active += 1
    while active > 0:
        k = 0
        while k < active:
            x, mine = at[k], int(word[k])
            y, last = int(words[x]), mine - 1
            if y >= 0:
                if mine & ranks == 0:  # this number has no rank left
                    longer = fetch_add(shared, _MADE, 1)
                    if longer >= len(links):
                        break
                    number = (last >> shift) & numbers
                    links[number, 0], links[number, 1] = ranks + 1, longer
                    mine = flag | (longer << shift)
                words[x] = mine
                at[k], word[k] = np.uint64(y), mine + 1
                prefetch(words, at[k])
                k += 1
                continue
            if y & ranks != 0 and y != last:
                break
            number = (last >> shift) & numbers
            links[number, 0], links[number, 1] = (last & ranks) + 1, (y >> shift) & numbers
            j = fetch_add(shared, _BEGUN, 1)
            if j < len(seconds):
                at[k], word[k] = seconds[j], flag | (j << shift) | 1
                prefetch(words, at[k])
                k += 1
            else:
                active -= 1
                at[k], word[k] = at[active], word[active]
        if k < active:  # two sublists have met: this is not a list
            fetch_add(shared, _FAILED, 1)
            return


@local
def begin(links: Numbers, first: int, firsts: Words) -> int:
    """Scan the list of sublists: write the rank at which each begins, and return the number of nodes to its end.

    Return -1 if the list does not end.
    """
    reached, number = np.int64(0), np.int64(first)
    for _ in range(len(links)):
        firsts[number] = reached
        reached += links[number, 0]
        if links[number, 1] == number:
            return int(reached)
        number = links[number, 1]
    return -1


@local
def finish(words: Words, ranks: Nodes, firsts: Words, last: int) -> None:
    """Turn words into ranks, counted down from ``last`` unless that is negative.

    The words may lie in the memory of the ranks: in the same places, or narrow ones in the second half.
    """
    shift = rank_bits(words)
    within, numbers = (1 << shift) - 1, (1 << (8 * words.itemsize - 1 - shift)) - 1
    for i in range(len(words)):
        word = words[i]
        rank = firsts[np.uint64((word >> shift) & numbers)] + (word & within)
        ranks[i] = rank if last < 0 else last - rank


@local
def rank_alone(successor: Nodes, words: Words, ranks: Nodes, last: int, seed: int, sublists: int, cursors: int) -> bool:
    """Do all steps on one stream, in one call of compiled code; return False if the successors form no list."""
    n, found = len(successor), np.zeros(3, np.int64)
    copy_surveyed(successor, words, 0, n, found)
    head = head_from(n, found)
    if head < 0 or found[2] != 1:
        return False
    starts, seconds = np.empty(sublists + 1, np.int64), np.empty(sublists + 1, np.int64)
    count, first = cut(words, head, seed, starts, seconds)
    links, shared = np.zeros((_numbers(n, count, words), 2), np.int64), np.zeros(3, np.int64)
    shared[_MADE] = count
    walk(words, seconds[:count], cursors, links, shared)
    firsts = np.zeros(len(links), words.dtype)
    if shared[_FAILED] or begin(links, first, firsts) != n:
        return False
    finish(words, ranks, firsts, last)
    return True


@inline
def _numbers(n: int, count: int, words: Words) -> int:
    """Return how many numbers the sublists of a list of n nodes may need, if ``count`` of them are cut."""
    return count + n // (1 << rank_bits(words)) + 1


def rank_fast(
    successor: Nodes,
    streams: int,
    from_tail: bool = False,
    *,
    sublists: int | None = None,
    cursors: int | None = None,
    seed: int = 0,
) -> Nodes:
    """Rank a list in the memory of this process, on the given number of its streams.

    Parameters
    ----------
    successor : C-contiguous int32 or int64 array of shape (n,)
        Successor of each node; the tail is its own successor.
    streams : int
        Number of streams.
    from_tail : bool
        Return the distance to the tail instead of the distance from the head.
    sublists : int, optional
        Number of sublists to cut, 1 to 8,192; the one of the head may come in addition.  By default one for every 1,000
        nodes, at most 8,192.
    cursors : int, optional
        Number of sublists that a stream walks at a time; by default 64.
    seed : int
        Seed of the random starts.

    Returns
    -------
    ndarray of shape (n,)
        The ranks, of the successors' dtype.

    Raises
    ------
    InvalidList
        The successors form no list.
    ValueError
        The number of sublists or of cursors is out of range.

    Notes
    -----
    Each word of the work copy is read once in random order, and three times in memory order.  The work copy lies in the
    memory of the result, but for int64 successors on several streams: there it takes half as much in addition.
    """
    if (sublists is not None and not 1 <= sublists <= MOST_SUBLISTS) or (cursors is not None and cursors < 1):
        raise ValueError(
            f"cannot rank with {sublists=} and {cursors=}: sublists must be from 1 to {MOST_SUBLISTS:,}, and cursors "
            "at least 1"
        )
    n = len(successor)
    if n == 0:
        return np.empty_like(successor)
    pieces = min(n, sublists or min(max(1, n // NODES_A_SUBLIST), MOST_SUBLISTS))
    ranks, last = np.empty(n, successor.dtype), n - 1 if from_tail else -1
    words = _words(ranks, streams)
    if streams == 1:
        done = rank_alone(successor, words, ranks, last, seed, pieces, cursors or CURSORS)
    else:
        done = _rank_side_by_side(successor, words, ranks, last, seed, pieces, cursors or CURSORS, streams)
    if not done:
        raise InvalidList(describe(successor))
    return ranks


def _words(ranks: Nodes, streams: int) -> Words:
    """Return the array of the words: the ranks themselves, their second half, or another one.

    Narrow words in the second half of wide ranks are read before a rank is written over them, if one stream does both
    in memory order.
    """
    n, width = len(ranks), 4 if len(ranks) <= LONGEST_NARROW else 8
    if ranks.itemsize == width:
        return ranks
    return ranks.view(np.int32)[n:] if streams == 1 and width == 4 else np.empty(n, f"i{width}")


def _rank_side_by_side(
    successor: Nodes, words: Words, ranks: Nodes, last: int, seed: int, sublists: int, cursors: int, streams: int
) -> bool:
    """Do what `rank_alone` does, on several streams."""
    n = len(words)
    blocks = [share(n, k, streams) for k in range(streams)]
    found = np.zeros((streams, 3), np.int64)
    side_by_side(
        *(partial(copy_surveyed, successor[b], words[b], b.start, n, f) for b, f in zip(blocks, found, strict=True))
    )
    head = head_from(n, found.sum(axis=0))
    if head < 0 or found[:, 2].sum() != 1:
        return False
    starts, seconds = np.empty((2, sublists + 1), np.int64)
    count, first = cut(words, head, seed, starts, seconds)
    links, shared = np.zeros((_numbers(n, count, words), 2), np.int64), np.array([0, count, 0])
    side_by_side(*[partial(walk, words, seconds[:count], cursors, links, shared)] * streams)
    firsts = np.zeros(len(links), words.dtype)
    if shared[_FAILED] or begin(links, first, firsts) != n:
        return False
    side_by_side(*(partial(finish, words[b], ranks[b], firsts, last) for b in blocks))
    return True
