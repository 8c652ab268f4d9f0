"""Serial list ranking, one node after another: the baseline of every other algorithm.

    ranks[x] = r;  r += 1;  x = successor[x]      until x is the tail

Each step waits for the one before, so a long random list costs one memory latency per node.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor, local
from smp.errors import InvalidList

from ..costs import Costs, costs_of
from .lists import Nodes, check_arrays, describe, find_head, head_cost, head_from, refuse, survey


@local
def walk(successor: Nodes, head: int, first: int, sign: int, ranks: Nodes) -> tuple[int, int]:
    """Rank the nodes from the head on as ``first``, ``first + sign``, ...; return (reads, length of their chain).

    The number of reads is n exactly if the array is a list (see `lists`); n + 1 stands for a walk that does not end.
    Each read waits for the one before, so the chain is as long as the walk.
    """
    x, rank = np.uint64(head), first
    for reads in range(1, len(successor) + 1):
        # Read before writing: otherwise the load waits for the store if both addresses have the same low 12 bits.
        y = np.uint64(successor[x])
        ranks[x] = rank
        rank += sign
        if y == x:
            return reads, reads
        x = y
    return len(successor) + 1, len(successor) + 1


def rank_here(successor: Nodes, from_tail: bool = False) -> Nodes:
    """Return the ranks of a list, computed in the memory of this process without a machine.

    Raises
    ------
    InvalidList
        The successors form no list.
    """
    ranks = np.empty(len(successor), successor.dtype)
    if not find_head_and_walk(successor, -1 if from_tail else 1, ranks):
        raise InvalidList(describe(successor))
    return ranks


@local
def find_head_and_walk(successor: Nodes, sign: int, ranks: Nodes) -> bool:
    """Rank a list in one call of compiled code; return True if it is one."""
    n, found = len(successor), np.empty(3, np.int64)
    survey(successor, 0, n, found)
    head, first = head_from(n, found), 0 if sign > 0 else n - 1
    return n == 0 or (head >= 0 and walk(successor, head, first, sign, ranks)[0] == n)


def rank_serial(proc: Processor, successor: GlobalArray, ranks: GlobalArray, *, from_tail: bool = False) -> None:
    """Rank a list on processor 0 alone (SPMD program).

    Parameters
    ----------
    proc : Processor
    successor : GlobalArray of shape (n,), int32 or int64
        Successor of each node; the tail is its own successor.
    ranks : GlobalArray of shape (n,), int32 or int64
        Receives the distance of each node from the head.
    from_tail : bool
        Write the distance to the tail instead.

    Raises
    ------
    InvalidList
        Raised on all processors; ``ranks`` is then unchanged.
    TypeError, ValueError
        Raised on all processors, for unsuitable arrays.

    Notes
    -----
    Supersteps: ``head`` (n reads, shared by all processors), ``walk`` (n reads and n writes, all by processor 0).
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n == 0:
        return
    head = find_head(proc, successor)
    first, sign = (n - 1, -1) if from_tail else (0, 1)
    reads = 0
    with proc.superstep("walk") as step:
        if proc.rank == 0:
            found = np.empty(n, ranks.dtype)
            reads, _ = step.copy_in_by(walk, successor, head, first, sign, found)
            step.compute()
            if reads == n:
                step.copy_out(ranks, ..., found)
    if proc.reduce(reads) != n:
        refuse(proc, successor)


def cost(n: int, p: int) -> Costs:
    """Return what the supersteps of `rank_serial` access for n nodes on p processors, as an array of `COST`."""
    return costs_of([head_cost(n, p), ("walk", n, n, 2 * n)] if n else [])
