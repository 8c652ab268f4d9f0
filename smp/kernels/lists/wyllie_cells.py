"""Wyllie's algorithm in place, with a cell for each node, whose full/empty bit serialises access to the node.

    cell of node i     │ at the tail 1 │ next 31 │ distance 32 │ full/empty │

    for every node i, in each round    next of i  ─▶ readff: waits while the stream of that node holds its cell empty
                                       i          ─▶ readfe: cell empty ... writeef: next's next, sum of the distances

There is no second list.  A node may see a successor that has already moved on in this round, and then moves farther
itself.  It never sees half of a change.  No stream holds a node's cell empty while it waits for another cell, so they
never wait in a circle, whatever the successors are.  After round r every node reaches at least 2^r nodes, or the tail.

Source: the study of the Tera MTA, sections 4.1 and 4.4.1, which have full-empty bits in place of the second list.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor, inline, stream
from smp._runtime.memory.cells import Cells
from smp.compiled import readfe, readff, readxx, writeef, writexf

from .lists import Nodes, check_arrays, find_head, refuse
from .on_streams import by_streams, default_streams, shared_out
from .on_streams import cost as cost
from .serial import rank_serial
from .stream_barrier import Meeting, meet, meeting

MOST = (1 << 31) - 1
"""Number of nodes up to which a node number fits into a cell together with a distance."""
_DISTANCE = 0xFFFFFFFF  # mask
_NEXT = 0x7FFFFFFF  # mask, after the shift
_REACHED = -1 << 63


@inline
def joined(mine: int, theirs: int, n: int) -> int:
    """Return the new cell of a node that takes on its successor's reach; on a cycle the distance stays at n."""
    distance = (mine & _DISTANCE) + (theirs & _DISTANCE)
    return (theirs & ~_DISTANCE) | (distance if distance < n else n)


@stream
def rank_nodes(
    cells: Cells,
    successor: Nodes,
    ranks: Nodes,
    head: int,
    from_tail: bool,
    start: int,
    stop: int,
    rounds: int,
    at: Meeting,
) -> bool:
    """Rank the nodes from ``start`` to ``stop``, as one of the streams that share the list.

    Returns
    -------
    bool
        True if the head leads to the tail past all nodes; if not, no rank is written.
    """
    n = len(successor)
    for i in range(start, stop):
        y = np.int64(successor[i])
        writexf(cells, i, y << 32 | (1 if y != i else _REACHED))
    meet(at, 0)
    for r in range(rounds):
        for i in range(start, stop):
            mine = readxx(cells, i)  # no other stream changes it
            if mine >= 0:
                theirs = readff(cells, (mine >> 32) & _NEXT)
                mine = readfe(cells, i)
                writeef(cells, i, joined(mine, theirs, n))
        meet(at, r + 1)
    if readxx(cells, head) & _DISTANCE != n - 1:  # a head that has not reached a tail has a greater distance
        return False
    for i in range(start, stop):
        distance = readxx(cells, i) & _DISTANCE
        ranks[i] = distance if from_tail else n - 1 - distance
    return True


def rank_wyllie_cells(
    proc: Processor,
    successor: GlobalArray,
    ranks: GlobalArray,
    *,
    from_tail: bool = False,
    streams: int | None = None,
) -> None:
    """Rank a list by Wyllie's algorithm in place, with a cell for each node (SPMD program).

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
        Raised on all processors, for unsuitable arrays, more than 2^31 - 1 nodes, or a number of streams out of range.

    Notes
    -----
    There is one superstep, ``head`` (n reads).  Then follow ceil(log2 n) rounds.  In each of them, a node that is not
    yet at the tail costs a readff of its successor's cell, and a readfe and a writeef of its own cell.  The cells take
    16 bytes per node.
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n < 2:
        return rank_serial(proc, successor, ranks, from_tail=from_tail)
    if n > MOST:
        raise ValueError(
            f"the list has {n:,} nodes, but a cell can number only {MOST:,}: rank longer lists with another algorithm"
        )
    head, count = find_head(proc, successor), default_streams(proc) if streams is None else streams
    cells, at, rounds = proc.cells(n), meeting(proc, count), (n - 1).bit_length()

    def rank(start: int, stop: int) -> bool:
        return rank_nodes(cells, successor.view, ranks.view, head, from_tail, start, stop, rounds, at)

    if not all(by_streams(proc, count, rank, shared_out(proc.block(n), count))):
        refuse(proc, successor)
