"""List ranking one node after another: what every other algorithm is measured against.

    ranks[x] = r;  r += 1;  x = successor[x]      until x is the tail

Each step waits for the one before, so a long random list costs one memory latency a node.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor, local
from smp.errors import InvalidList

from ..costs import Costs, costs_of
from .lists import Nodes, check_arrays, describe, find_head, head_cost, head_from, refuse, survey


@local
def walk(successor: Nodes, head: int, first: int, sign: int, ranks: Nodes) -> tuple[int, int]:
    """Rank the nodes from the head on as ``first``, ``first + sign``, ...; return the successors read, and their chain.

    They are n exactly when the array is a list (see `lists`): a walk that does not end takes n + 1.  Each read waits
    for the one before, so the chain is all of them.
    """
    x, rank = np.uint64(head), first
    for reads in range(1, len(successor) + 1):
        # Read before writing: else the load waits for the store where both addresses have the same low 12 bits.
        y = np.uint64(successor[x])
        ranks[x] = rank
        rank += sign
        if y == x:
            return reads, reads
        x = y
    return len(successor) + 1, len(successor) + 1


def rank_here(successor: Nodes, from_tail: bool = False) -> Nodes:
    """Return the ranks of a list in this process's memory; no machine takes part.

    Raises
    ------
    InvalidList
    """
    n = len(successor)
    ranks = np.empty_like(successor)
    found = np.zeros(3, np.int64)
    survey(successor, 0, n, found)
    head = head_from(n, found)
    first, sign = (n - 1, -1) if from_tail else (0, 1)
    if n and (head < 0 or walk(successor, head, first, sign, ranks)[0] != n):
        raise InvalidList(describe(successor))
    return ranks


def rank_serial(proc: Processor, successor: GlobalArray, ranks: GlobalArray, *, from_tail: bool = False) -> None:
    """Rank a list on processor 0 alone: an SPMD program.

    Parameters
    ----------
    proc : Processor
    successor : GlobalArray of shape (n,), int32 or int64
        The tail is its own successor.
    ranks : GlobalArray of shape (n,), int32 or int64
        Where the distance of each node from the head is written.
    from_tail : bool
        The distance to the tail instead.

    Raises
    ------
    InvalidList
        On all processors; ``ranks`` is untouched then.

    Notes
    -----
    Supersteps: ``head`` (n reads, shared), ``walk`` (n reads and n writes, all processor 0's).
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
    """Return what the supersteps of `rank_serial` access, for n nodes on p processors: an array of `COST`."""
    return costs_of([head_cost(n, p), ("walk", n, n, 2 * n)] if n else [])
