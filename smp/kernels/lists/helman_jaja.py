"""The Helman-JaJa algorithm: random sublists, each walked once, many at a time.

    walk     each processor takes every p-th sublist and walks ``cursors`` of them at a time, one node of each in turn,
             so that their cache misses overlap; it notes the nodes in the order of its visits

             turn    cursor 0   cursor 1   cursor 2                  notes     3 7 5   1 8 0   4 2   6
              1          3          7          5
              2          1          8          0   a sublist ends: the next sublist takes its cursor, or,
              3          4          2              if none is left, the last cursor takes its place
              4          6
    ranks    scanning the list of sublists gives the rank with which each begins; the same turns are
             repeated over the notes, and each node gets its rank

The notes make the second walk of the Reid-Miller algorithm unnecessary, which halves the reads.  The walk is bound by
the number of cache misses that a CPU can have in flight.  Ranking is bound by the same number of misses, on writes.

Source: Helman and JaJa, Prefix computations on symmetric multiprocessors; the study of the Tera MTA, section 4.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import GlobalArray, Processor, local
from smp._runtime.loops.atomics import prefetch, prefetch_write

from ..costs import Costs, costs_of
from .lists import Nodes, check_arrays, find_head, head_cost, refuse
from .serial import cost as serial_cost
from .serial import rank_serial
from .sublists import END, UNKNOWN, Key, cut, get_links, known_or_expected, offsets_along, place, put_links

CURSORS = 32
_AHEAD = 32  # notes between the prefetch of a rank's line and the write
Numbers = NDArray[np.int64]


@local
def walk(
    successor: Nodes, key: Key, count: int, starts: Numbers, cursors: int, notes: Nodes, links: Numbers
) -> tuple[int, int]:
    """Walk the sublists that begin at ``starts``, note the nodes, and write (length, next) of each into ``links``.

    Return the number of successors read, and the number of turns, each of which waits for the one before.  If the
    successors form no list, the walk ends when the notes are full.
    """
    at = np.empty(cursors, np.uint64)
    sublist, length = np.empty(cursors, np.int64), np.zeros(cursors, np.int64)
    active = min(cursors, len(starts))
    for k in range(active):
        at[k], sublist[k] = starts[k], k
        prefetch(successor, at[k])
    begun, visits, turns = active, 0, 0
    while active > 0 and visits + active <= len(notes):
        turns += 1
        k = 0
        while k < active:
            x = at[k]
            y = np.uint64(successor[x])
            notes[visits] = x
            visits += 1
            length[k] += 1
            there = place(np.int64(y), key)
            if there >= count and y != x:
                at[k] = y
                prefetch(successor, y)
                k += 1
                continue
            links[sublist[k], 0] = length[k]
            links[sublist[k], 1] = END if y == x else there
            if begun < len(starts):
                at[k], sublist[k], length[k] = starts[begun], begun, 0
                prefetch(successor, at[k])
                begun += 1
                k += 1
            else:
                active -= 1
                at[k], sublist[k], length[k] = at[active], sublist[active], length[active]
    return visits, turns


@local
def scatter(ranks: Nodes, notes: Nodes, firsts: Numbers, lengths: Numbers, sign: int, cursors: int) -> int:
    """Repeat the turns of `walk` over its notes, and rank the nodes of each sublist as first, first + sign, ...

    Return the number of ranks written.
    """
    rank, left = np.empty(cursors, np.int64), np.empty(cursors, np.int64)
    active = min(cursors, len(firsts))
    for k in range(active):  # to assign slices makes Numba compile text for an error, which takes seconds
        rank[k], left[k] = firsts[k], lengths[k]
    begun, written = active, 0
    while active > 0:
        k = 0
        while k < active:
            prefetch_write(ranks, np.uint64(notes[min(written + _AHEAD, len(notes) - 1)]))
            ranks[np.uint64(notes[written])] = rank[k]
            written += 1
            rank[k] += sign
            left[k] -= 1
            if left[k] > 0:
                k += 1
            elif begun < len(firsts):
                rank[k], left[k] = firsts[begun], lengths[begun]
                begun += 1
                k += 1
            else:
                active -= 1
                rank[k], left[k] = rank[active], left[active]
    return written


def rank_helman_jaja(
    proc: Processor,
    successor: GlobalArray,
    ranks: GlobalArray,
    *,
    from_tail: bool = False,
    sublists: int | None = None,
    cursors: int = CURSORS,
    seed: int = 0,
) -> None:
    """Rank a list by the Helman-JaJa algorithm (SPMD program).

    Parameters
    ----------
    proc, successor, ranks, from_tail
        As for `rank_serial`.
    sublists : int, optional
        Approximate number of sublists to cut; by default `default_sublists`.
    cursors : int
        Number of sublists that a processor walks at a time.
    seed : int
        Seed of the random cut.

    Raises
    ------
    InvalidList
        Raised on all processors; ``ranks`` then holds nothing useful.
    TypeError, ValueError
        Raised on all processors, for unsuitable arrays or numbers out of range.

    Notes
    -----
    Supersteps: ``head`` (n reads), ``walk`` (n reads, 2 writes per sublist), ``ranks`` (2 (s + 1) reads per processor,
    n writes).  Here s is the ``count`` that `sublists.cut` computes from ``sublists``.  The two writes per sublist are
    the links, which travel in ``ranks``.  Each processor notes the nodes that it visits, which takes about n/p words of
    the successors' dtype.
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n < 2:
        return rank_serial(proc, successor, ranks, from_tail=from_tail)
    if cursors < 1:
        raise ValueError(f"cursors must be at least 1, not {cursors}")
    pieces = cut(n, find_head(proc, successor), default_sublists(n, proc.size) if sublists is None else sublists, seed)
    numbers, starts = pieces.share(proc.rank, proc.size)
    notes = np.empty(n, successor.dtype)  # takes no memory before it is written
    links = np.full((len(numbers), 2), (0, UNKNOWN))
    with proc.superstep("walk") as step:
        visits, _ = step.copy_in_by(walk, successor, pieces.key, pieces.count, starts, cursors, notes, links)
        step.compute()
        put_links(step, ranks, numbers, links)
    firsts = np.empty(pieces.count + 1, np.int64)
    with proc.superstep("ranks") as step:
        every = get_links(step, ranks, pieces)
        step.compute()
        valid = offsets_along(every, pieces.first, firsts) == n
        if valid:
            mine, sign = (n - 1 - firsts[numbers], -1) if from_tail else (firsts[numbers], 1)
            step.copy_out_by(scatter, ranks, notes[:visits], mine, links[:, 0].copy(), sign, cursors)
    if not valid:
        refuse(proc, successor)


def default_sublists(n: int, size: int) -> int:
    """Return the number of sublists to cut: enough to share evenly, few enough to scan at no cost."""
    return min(n, max(8 * CURSORS * size, min(n // 1000, 4096)))


def cost(n: int, p: int, lengths: ArrayLike | None = None) -> Costs:
    """Return what the supersteps of `rank_helman_jaja` access.

    Parameters
    ----------
    n, p : int
        Numbers of nodes and of processors.
    lengths : int array of shape (count + 1,), optional
        Length of each sublist by its number, 0 if there is none; ``count`` is that of `sublists.cut`.  By default the
        lengths expected with `default_sublists` (see `sublists.expected_lengths`).  These are shared out more evenly
        than random ones, so h_r and h_w are a few per cent lower.

    Returns
    -------
    array of `COST`
    """
    if n < 2:
        return serial_cost(n, p)
    known = known_or_expected(lengths, n, default_sublists(n, p))
    shares = [known[rank::p] for rank in range(p)]
    nodes = max(int(mine.sum()) for mine in shares)
    links, every = 2 * max(int(np.count_nonzero(mine)) for mine in shares), 2 * len(known)
    return costs_of(
        [
            head_cost(n, p),
            ("walk", nodes, links, n + 2 * int(np.count_nonzero(known))),
            ("ranks", every, nodes, p * every + n),
        ]
    )
