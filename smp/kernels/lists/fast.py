"""The fast form of list ranking: what a user calls, on the streams of the calling process.

    copy      the successors become a work copy, which becomes the ranks; on the way the head is found (see `lists`)
    starts    random nodes start a sublist each: their words are marked with its number at once
    walk      every stream takes sublists, 64 at a time, one node of each in turns; (sublist, rank within it)
              overwrites the successor that was read, until the next word is a marked one

                 word of a node     0 │ successor                    not visited
                                    1 │ sublist │ rank within it     visited, or the start of a sublist

    finish    sublists are scanned along their list; rank = rank at which its sublist begins + rank within it

The successor and the place of the rank are one word, so a visit is one cache miss, asked for as soon as the node is
known; with as many cursors as a core has misses in flight, the walk runs at the rate of independent random loads.

Why no stream disturbs another: a word that is no start belongs to one sublist, whose walker alone reads and writes it;
the word of a start is written before the walk, and is read by the walker of the sublist before.  Where the successors
form no list, two walkers may meet: each then finds a successor in range or a marked word, so both end.  A walk that
ends where another's sublist begins has followed the successors; so has a chain of such walks, and if it comes to the
tail it has visited no node twice (see `lists`).

Sources: Helman and JaJa, Prefix computations on symmetric multiprocessors, for the sublists; packed words after the
observation that a random store beside each load costs more than the load.
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
from .lists import BLOCK, Nodes, describe, head_from, survey_block

CURSORS = 64
NODES_A_SUBLIST, MOST_SUBLISTS = 1000, 1 << 13
"""Sublists: one for so many nodes, but no more than leave the table of their first ranks in the nearest cache.

Half or twice as many take the same time to a few per cent, on ordered and on random lists; so do 32 to 128 cursors.
"""
LONGEST_NARROW = 1 << 30
"""Nodes whose words fit into 32 bits: 15 for the sublist, 16 for the rank within it."""
_BEGUN, _MADE, _FAILED = 0, 1, 2
"""Words that the streams share, changed by fetch_add only: sublists taken, numbers given out, walks that have failed.

Whoever is given a number alone writes its row of the links; the caller reads all once every stream has ended.
"""
Words = NDArray[Any]  # int32 or int64
Numbers = NDArray[np.int64]


@inline
def rank_bits(words: Any) -> int:
    """How many low bits of a word hold a rank; a longer sublist goes on under another number."""
    return 16 if words.itemsize == 4 else 32


@local
def copy_surveyed(successor: Nodes, words: Words, start: int, n: int, found: Numbers) -> None:
    """Copy the successors of the nodes from ``start`` on; ``found`` is what `lists.survey` finds."""
    for first in range(0, len(successor), BLOCK):
        block, copy = successor[first : first + BLOCK], words[first : first + BLOCK]
        for i in range(len(block)):
            copy[i] = block[i]
        survey_block(block, start + first, n, found)


@local
def mark(words: Words, starts: Numbers, seconds: Numbers) -> None:
    """Mark each start with its sublist's number; keep what comes after it in ``seconds``."""
    shift, flag = rank_bits(words), -1 << (8 * words.itemsize - 1)
    for j in range(len(starts)):
        prefetch(words, np.uint64(starts[min(j + 16, len(starts) - 1)]))
        x = np.uint64(starts[j])
        seconds[j] = words[x]
        words[x] = flag | (j << shift)


@stream
def walk(words: Words, seconds: Numbers, cursors: int, links: Numbers, shared: Numbers) -> None:
    """Walk sublists until none are left; write (length, next) of each into ``links``; the last is its own next."""
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
                if mine & ranks == 0:  # the number is used up
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
        if k < active:  # two sublists have met: this is no list
            fetch_add(shared, _FAILED, 1)
            return


@local
def begin(links: Numbers, first: int, firsts: Words) -> int:
    """Scan the list of sublists: write the rank at which each begins; return how many nodes lead to its end."""
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
    """Turn words into ranks, counted down from ``last`` unless that is negative."""
    shift = rank_bits(words)
    within, numbers = (1 << shift) - 1, (1 << (8 * words.itemsize - 1 - shift)) - 1
    for i in range(len(words)):
        word = words[i]
        rank = firsts[np.uint64((word >> shift) & numbers)] + (word & within)
        ranks[i] = rank if last < 0 else last - rank


def rank_fast(
    successor: Nodes,
    streams: int,
    from_tail: bool = False,
    *,
    sublists: int | None = None,
    cursors: int | None = None,
    seed: int = 0,
) -> Nodes:
    """Rank a list in this process's memory, with so many of its streams.

    Parameters
    ----------
    successor : C-contiguous int32 or int64 array of shape (n,)
        The tail is its own successor.
    streams : int
    from_tail : bool
        Return the distance to the tail instead of that from the head.
    sublists : int, optional
        How many to cut, 1 to 8,192; the head's may come in addition.  By default one for 1,000 nodes.
    cursors : int, optional
        Sublists that a stream walks at a time; by default 64.
    seed : int
        Of the random starts.

    Returns
    -------
    ndarray of shape (n,)
        Of the successors' dtype.

    Raises
    ------
    InvalidList
    ValueError
        Numbers of sublists or cursors that make no sense.

    Notes
    -----
    Each word of the work copy is read once in random order, and thrice in memory order.  The work copy is the result
    where it has the same dtype; for int64 successors it is a half more.
    """
    if (sublists is not None and not 1 <= sublists <= MOST_SUBLISTS) or (cursors is not None and cursors < 1):
        raise ValueError(f"{sublists=} and {cursors=}: take 1 to {MOST_SUBLISTS:,} sublists, and 1 cursor or more")
    n = len(successor)
    if n == 0:
        return np.empty_like(successor)
    words = np.empty(n, np.int32 if n <= LONGEST_NARROW else np.int64)
    blocks = [share(n, k, streams) for k in range(streams)]
    found = np.zeros((streams, 3), np.int64)
    side_by_side(
        *(partial(copy_surveyed, successor[b], words[b], b.start, n, f) for b, f in zip(blocks, found, strict=True))
    )
    head, tails = head_from(n, found.sum(axis=0)), found[:, 2].sum()
    links = None if head < 0 or tails != 1 else _walked(words, head, streams, seed, sublists, cursors)
    if links is None:
        raise InvalidList(describe(successor))
    firsts = np.zeros(len(links[0]), words.dtype)
    if begin(links[0], links[1], firsts) != n:
        raise InvalidList(describe(successor))
    ranks = words if words.dtype == successor.dtype else np.empty(n, successor.dtype)
    side_by_side(*(partial(finish, words[b], ranks[b], firsts, n - 1 if from_tail else -1) for b in blocks))
    return ranks


def _walked(
    words: Words, head: int, streams: int, seed: int, sublists: int | None, cursors: int | None
) -> tuple[Numbers, int] | None:
    """Walk all sublists; return their links and the first one's number, or None where there is no list."""
    drawn = random_starts if sublists is None else partial(random_starts, sublists=sublists)
    starts = drawn(len(words), head, seed)
    seconds = np.empty(len(starts), np.int64)
    mark(words, starts, seconds)
    links = np.zeros((len(starts) + len(words) // (1 << rank_bits(words)) + 1, 2), np.int64)
    shared = np.array([0, len(starts), 0], np.int64)
    side_by_side(*[partial(walk, words, seconds, cursors or CURSORS, links, shared)] * streams)
    return None if shared[_FAILED] else (links, int(np.flatnonzero(starts == head)[0]))


def random_starts(n: int, head: int, seed: int, sublists: int | None = None) -> Numbers:
    """Return distinct nodes that start a sublist, the head among them: one at random in each of as many blocks."""
    count = min(max(1, n // NODES_A_SUBLIST), MOST_SUBLISTS) if sublists is None else min(n, sublists)
    edges = np.linspace(0, n, count + 1).astype(np.int64)
    starts = np.random.default_rng(seed).integers(edges[:-1], edges[1:])
    return starts if (starts == head).any() else np.append(starts, head)
