"""Wyllie's algorithm in place, with a cell for each node: its full/empty bit serialises access to the node.

    cell of node i     │ at the tail 1 │ next 31 │ distance 32 │ full/empty │

    of every node, in each round       next of i  ─▶ readff: waits while its own stream has it in hand
                                       i          ─▶ readfe: in hand ... writeef: next's next, both distances

There is no second list: a node may see a successor that has already moved on in this round, and then moves farther
itself.  What it never sees is half of a change.  No stream has a node in hand while it waits for another, so none wait
in a circle, whatever the successors are.  After round r every node reaches 2^r nodes at least, or the tail.

Source: the study of the Tera MTA, sections 4.1 and 4.4.1: full-empty bits in place of the second list.
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
"""Nodes whose numbers fit into a cell beside a distance."""
_DISTANCE = 0xFFFFFFFF  # mask
_NEXT = 0x7FFFFFFF  # mask, once shifted
_REACHED = -1 << 63


@inline
def joined(mine: int, theirs: int, n: int) -> int:
    """The cell of a node that takes its successor's reach; on a cycle the distance stays at n."""
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
        Whether the head leads to the tail past all nodes; if not, no rank is written.
    """
    n = len(successor)
    for i in range(start, stop):
        y = np.int64(successor[i])
        writexf(cells, i, y << 32 | (1 if y != i else _REACHED))
    meet(at, 0)
    for r in range(rounds):
        for i in range(start, stop):
            mine = readxx(cells, i)  # nobody else changes it
            if mine >= 0:
                theirs = readff(cells, (mine >> 32) & _NEXT)
                mine = readfe(cells, i)
                writeef(cells, i, joined(mine, theirs, n))
        meet(at, r + 1)
    if readxx(cells, head) & _DISTANCE != n - 1:  # one that has not come to a tail reaches farther by now
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
    """Rank a list by Wyllie's algorithm in place, with a cell for each node: an SPMD program.

    Parameters
    ----------
    proc, successor, ranks, from_tail
        As for `rank_serial`.
    streams : int, optional
        Of each processor; by default `default_streams`.

    Raises
    ------
    InvalidList
        On all processors; ``ranks`` is untouched then.
    ValueError
        When there are more than 2^31 - 1 nodes.

    Notes
    -----
    One superstep, ``head`` (n reads); then ceil(log2 n) rounds, in each of which a node that is not yet at the tail
    costs a readff of its successor's cell and a readfe and a writeef of its own.  16 bytes a node.
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n < 2:
        return rank_serial(proc, successor, ranks, from_tail=from_tail)
    if n > MOST:
        raise ValueError(f"{n:,} nodes: a cell numbers {MOST:,}; rank longer lists by another algorithm")
    head, count = find_head(proc, successor), default_streams(proc) if streams is None else streams
    cells, at, rounds = proc.cells(n), meeting(proc, count), (n - 1).bit_length()

    def rank(start: int, stop: int) -> bool:
        return rank_nodes(cells, successor.view, ranks.view, head, from_tail, start, stop, rounds, at)

    if not all(by_streams(proc, count, rank, shared_out(proc.block(n), count))):
        refuse(proc, successor)
