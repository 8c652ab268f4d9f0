"""List ranking by explicit streams: two-list Wyllie and Reid-Miller, shared out to s streams of each processor.

    wyllie         every stream has a block of nodes          a barrier of all streams after each round
    reid-miller    every stream has every (s p)-th sublist    walk │ barrier │ stream 0 scans │ barrier │ walk again

All streams work on the list in place at the same time, instead of copying it in and out by supersteps.  Only
`stream_barrier` synchronises them.  Source: the study of the Tera MTA, sections 4.4.2 and 4.4.3, figures 19 and 20.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Processor, stream
from smp._computer.limits import usable_cpus

from ..costs import Costs, costs_of
from .lists import Nodes, check_arrays, find_head, head_cost, refuse
from .reid_miller import advance, default_sublists, scatter
from .serial import cost as serial_cost
from .serial import rank_serial
from .stream_barrier import Meeting, meet, meeting
from .sublists import END, Key, cut, offsets_along


def default_streams(proc: Processor) -> int:
    """Return the number of streams of a processor: its share of one stream for each CPU, but at least one."""
    return max(1, len(usable_cpus()) // proc.size)


def shared_out(block: slice, streams: int) -> list[tuple[int, int]]:
    """Return the bounds of the parts of a block that its streams get; the parts are as even as possible.

    Examples
    --------
    >>> shared_out(slice(10, 17), 3)
    [(10, 12), (12, 14), (14, 17)]
    """
    bounds = np.linspace(block.start, block.stop, streams + 1).astype(int).tolist()
    return list(itertools.pairwise(bounds))


def by_streams(proc: Processor, streams: int, work: Callable[..., Any], shares: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return the result of ``work(*share)`` for each share, each computed on a stream of its own."""
    with proc.streams(streams) as pool:
        threads = [pool.start(work, *share) for share in shares]
        return [thread.result() for thread in threads]


@stream
def jump_rounds(
    successor: Nodes,
    ranks: Nodes,
    source: Nodes,
    target: Nodes,
    head: int,
    from_tail: bool,
    start: int,
    stop: int,
    rounds: int,
    at: Meeting,
) -> bool:
    """Rank the nodes from ``start`` to ``stop`` with two lists of (next, distance), as one of the streams.

    Returns
    -------
    bool
        True if the head leads to the tail past all nodes; if not, no rank is written.
    """
    n = len(successor)
    for i in range(start, stop):
        source[i, 0], source[i, 1] = successor[i], successor[i] != i
    meet(at, 0)
    for r in range(rounds):
        for i in range(start, stop):
            y = np.uint64(source[i, 0])
            target[i, 0] = source[y, 0]
            target[i, 1] = source[i, 1] + source[y, 1]
        meet(at, r + 1)
        source, target = target, source
    if source[head, 1] != n - 1:
        return False
    for i in range(start, stop):
        ranks[i] = source[i, 1] if from_tail else n - 1 - source[i, 1]
    return True


def rank_wyllie_streams(
    proc: Processor,
    successor: GlobalArray,
    ranks: GlobalArray,
    *,
    from_tail: bool = False,
    streams: int | None = None,
) -> None:
    """Rank a list by Wyllie's algorithm with two lists, by explicit streams (SPMD program).

    Parameters
    ----------
    proc, successor, ranks, from_tail
        As for `rank_serial`.
    streams : int, optional
        Number of streams of each processor; by default `default_streams`.

    Raises
    ------
    InvalidList
        Raised on all processors; ``ranks`` is then unchanged.
    TypeError, ValueError
        Raised on all processors, for unsuitable arrays or a number of streams out of range.

    Notes
    -----
    There is one superstep, ``head`` (n reads).  Then follow ceil(log2 n) rounds with 4 reads and 2 writes per node, and
    2 of the reads are random.  The two lists take 2n words each, of the successors' dtype.
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n < 2:
        return rank_serial(proc, successor, ranks, from_tail=from_tail)
    head, count = find_head(proc, successor), default_streams(proc) if streams is None else streams
    source, target = (proc.empty((n, 2), successor.dtype).view for _ in range(2))
    at, rounds = meeting(proc, count), (n - 1).bit_length()

    def rank(start: int, stop: int) -> bool:
        return jump_rounds(successor.view, ranks.view, source, target, head, from_tail, start, stop, rounds, at)

    if not all(by_streams(proc, count, rank, shared_out(proc.block(n), count))):
        refuse(proc, successor)


@stream
def rank_sublists(
    successor: Nodes,
    ranks: Nodes,
    key: Key,
    count: int,
    first: int,
    from_tail: bool,
    numbers: NDArray[np.int64],
    starts: NDArray[np.int64],
    links: NDArray[np.int64],
    offsets: NDArray[np.int64],
    scans: bool,
    at: Meeting,
) -> bool:
    """Rank the nodes of some sublists, as one of the streams.

    Parameters
    ----------
    successor, ranks : integer arrays, shape (n,)
    key, count, first
        Cut of the list, and number of the head's sublist; see `Sublists`.
    from_tail : bool
    numbers, starts : int64 arrays, shape (m,)
        Numbers and first nodes of this stream's sublists.
    links, offsets : int64 arrays, shapes (count + 1, 2) and (count + 2,)
        Shared by all streams: length and next of each sublist; the rank at which each begins, followed by the number of
        nodes from the head to the tail.
    scans : bool
        True for the one stream that scans the list of sublists.
    at : Meeting

    Returns
    -------
    bool
        True if all nodes are on the way from the head to the tail; if not, no rank is written.
    """
    n = len(successor)
    pack = max(1, n // (4 * (count + 1)))
    left, none = np.empty(1, np.int64), np.empty(0, successor.dtype)
    cursors = np.empty((len(numbers), 3), np.int64)
    for k in range(len(numbers)):
        cursors[k, 0], cursors[k, 1], cursors[k, 2] = numbers[k], starts[k], 0
    held, _ = advance(successor, key, count, pack, n, cursors, 1, none, none, left)
    for k in range(len(numbers)):
        # a sublist whose walk was given up has a next below END, so no scan goes past it
        links[cursors[k, 0], 0], links[cursors[k, 0], 1] = cursors[k, 2], END - 1 - cursors[k, 1]
    meet(at, 0)
    if scans:
        offsets[count + 1] = offsets_along(links, first, offsets)
    meet(at, 1)
    if offsets[count + 1] != n:
        return False
    sign = -1 if from_tail else 1
    for k in range(len(numbers)):
        begins = offsets[numbers[k]]
        cursors[k, 0], cursors[k, 1] = numbers[k], starts[k]
        cursors[k, 2] = n - 1 - begins if from_tail else begins
    notes, values = np.empty(max(held, 1), successor.dtype), np.empty(max(held, 1), successor.dtype)
    advance(successor, key, count, pack, n, cursors, sign, notes, values, left)
    scatter(ranks, notes, values, held)
    return True


def rank_reid_miller_streams(
    proc: Processor,
    successor: GlobalArray,
    ranks: GlobalArray,
    *,
    from_tail: bool = False,
    streams: int | None = None,
    sublists: int | None = None,
    seed: int = 0,
) -> None:
    """Rank a list by the Reid-Miller algorithm, by explicit streams (SPMD program).

    Parameters
    ----------
    proc, successor, ranks, from_tail
        As for `rank_serial`.
    streams : int, optional
        Number of streams of each processor; by default `default_streams`.
    sublists : int, optional
        Approximate number of sublists to cut; by default `default_sublists` for as many processors as there are
        streams in all.
    seed : int
        Seed of the random cut.

    Raises
    ------
    InvalidList
        Raised on all processors; ``ranks`` is then unchanged.
    TypeError, ValueError
        Raised on all processors, for unsuitable arrays or numbers out of range.

    Notes
    -----
    There is one superstep, ``head`` (n reads).  Then follow n reads, two barriers, and n reads and n writes.  A stream
    packs out the sublists that have ended but keeps the others: they are not dealt out again.
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n < 2:
        return rank_serial(proc, successor, ranks, from_tail=from_tail)
    head, own = find_head(proc, successor), default_streams(proc) if streams is None else streams
    parties, at = own * proc.size, meeting(proc, own)
    pieces = cut(n, head, default_sublists(n, parties) if sublists is None else sublists, seed)
    links = proc.zeros((pieces.count + 1, 2), np.int64).view
    offsets = proc.zeros(pieces.count + 2, np.int64).view
    how = pieces.key, pieces.count, pieces.first, from_tail

    def rank(k: int) -> bool:
        numbers, starts = pieces.share(k, parties)
        return rank_sublists(successor.view, ranks.view, *how, numbers, starts, links, offsets, k == 0, at)

    if not all(by_streams(proc, own, rank, [(proc.rank * own + k,) for k in range(own)])):
        refuse(proc, successor)


def cost(n: int, p: int) -> Costs:
    """Return what the supersteps of any program that ranks n nodes by streams of p processors access.

    The only superstep looks for the head.  No superstep counts what the streams do afterwards; the notes of each
    program say how much that is.

    Returns
    -------
    array of `COST`
    """
    return serial_cost(n, p) if n < 2 else costs_of([head_cost(n, p)])
