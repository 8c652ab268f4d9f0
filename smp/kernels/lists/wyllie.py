"""Wyllie's algorithm: every node doubles its reach in every round.

    pairs[i] = (next, distance)     0 ─▶ 1 ─▶ 2 ─▶ 3 ─▶ 4 ⟲      distance 1 1 1 1 0
                                    0 ──────▶ 2 ──────▶ 4 ⟲                2 2 2 1 0
                                    0 ────────────────▶ 4 ⟲                4 3 2 1 0

A round reads one list of pairs and writes another, and then the two change roles.  So no node sees a successor that has
already moved on.  The algorithm does O(n log n) work in ceil(log2 n) rounds.

Source: the study of the Tera MTA, section 4.1 and figure 15; section 4.1 also describes the two lists.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor, local

from ..costs import Costs, costs_of, longest_block
from .lists import Nodes, check_arrays, find_head, head_cost, refuse

_NEXT, _DISTANCE = 0, 1  # columns of a pair


@local
def jump(pairs: Nodes, mine: Nodes) -> int:
    """Move every node of ``mine`` on to its successor's successor; return the number of elements read."""
    for i in range(len(mine)):
        y = np.uint64(mine[i, 0])
        mine[i, 0] = pairs[y, 0]
        mine[i, 1] += pairs[y, 1]
    return 2 * len(mine)


def rank_wyllie(proc: Processor, successor: GlobalArray, ranks: GlobalArray, *, from_tail: bool = False) -> None:
    """Rank a list by Wyllie's algorithm with two lists (SPMD program).

    Parameters
    ----------
    proc, successor, ranks, from_tail
        As for `rank_serial`.

    Raises
    ------
    InvalidList
        Raised on all processors; ``ranks`` is then unchanged.
    TypeError, ValueError
        Raised on all processors, for unsuitable arrays.

    Notes
    -----
    Supersteps: ``head`` (n reads), ``pairs`` (n reads, 2n writes), then ceil(log2 n) of ``round`` (2n reads, 2n
    writes), ``check`` (1 read per processor), ``ranks`` (n writes).  A round reads next and distance of every node's
    successor, and writes those of the node.  A processor keeps the pairs of its own block of nodes.  The two lists take
    2n words each, of the successors' dtype.
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n == 0:
        return
    head = find_head(proc, successor)
    block = proc.block(n)
    source, target = (proc.empty((n, 2), successor.dtype) for _ in range(2))
    mine = np.empty((block.stop - block.start, 2), successor.dtype)
    with proc.superstep("pairs") as step:
        mine[:, _NEXT] = step.copy_in(successor, block)
        step.compute()
        mine[:, _DISTANCE] = mine[:, _NEXT] != np.arange(block.start, block.stop)
        step.copy_out(source, block, mine)
    for _ in range((n - 1).bit_length()):
        with proc.superstep("round") as step:
            if source.has_view:
                step.copy_in_by(jump, source, mine)
                step.compute()
            else:
                reached = step.copy_in(source, mine[:, _NEXT])
                step.compute()
                mine[:, _NEXT] = reached[:, _NEXT]
                mine[:, _DISTANCE] += reached[:, _DISTANCE]
            step.copy_out(target, block, mine)
        source, target = target, source
    with proc.superstep("check") as step:
        distance = step.copy_in(source, (head, _DISTANCE))
    if distance != n - 1:  # a node that has not reached a tail is at distance 2**rounds, more than n - 1
        refuse(proc, successor)
    with proc.superstep("ranks") as step:
        step.compute()
        step.copy_out(ranks, block, mine[:, _DISTANCE] if from_tail else n - 1 - mine[:, _DISTANCE])


def cost(n: int, p: int) -> Costs:
    """Return what the supersteps of `rank_wyllie` access for n nodes on p processors, as an array of `COST`."""
    if n == 0:
        return costs_of([])
    longest, rounds = longest_block(n, p), (n - 1).bit_length()
    return costs_of(
        [
            head_cost(n, p),
            ("pairs", longest, 2 * longest, 3 * n),
            *[("round", 2 * longest, 2 * longest, 4 * n)] * rounds,
            ("check", 1, 0, p),
            ("ranks", 0, longest, n),
        ]
    )
