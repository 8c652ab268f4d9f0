"""Linked lists in arrays: what one is, where its head is, what is wrong with one that is none.

    node           0   1   2   3   4           head 3:   3 ─▶ 1 ─▶ 4 ─▶ 0 ─▶ 2 ⟲
    successor      2   4   2   1   0           the tail 2 is its own successor

Why no kernel looks for double or unreached nodes beforehand: a walk from any node to a tail visits no node twice,
for it would go round for ever.  So n nodes visited on the way from the head to the tail are all n, and the array
is a list.  It takes one pass in memory order to see that no successor is out of range, in which the head is found
too, and the count that each kernel ends with.  Only after a wrong count does `fault` look for the reason.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp import GlobalArray, Processor, inline, local
from smp.errors import InvalidList

from ..costs import longest_block

Nodes = NDArray[Any]  # int32 or int64
BLOCK = 1024
"""Nodes that are surveyed at a time."""


def random_list(n: int, seed: int = 0, dtype: DTypeLike = np.int32) -> Nodes:
    """Return a list of n nodes in random order.

    Parameters
    ----------
    n : int
    seed : int
    dtype : int32 or int64

    Returns
    -------
    ndarray of n successors
    """
    order = np.random.default_rng(seed).permutation(np.arange(n, dtype=dtype))
    successor = np.empty_like(order)
    successor[order[:-1]] = order[1:]
    successor[order[-1:]] = order[-1:]
    return successor


def check_arrays(successor: GlobalArray, ranks: GlobalArray) -> None:
    """Refuse global arrays that no list kernel can work on, on all processors alike."""
    for name, array in (("successor", successor), ("ranks", ranks)):
        if array.dtype not in (np.int32, np.int64):
            raise TypeError(f"{name} is a global array of {array.dtype}; list kernels take int32 and int64")
    if successor.ndim != 1 or ranks.shape != successor.shape:
        raise ValueError(f"successor has shape {successor.shape} and ranks {ranks.shape}: both must be (n,)")
    if len(successor) > np.iinfo(ranks.dtype).max:
        raise ValueError(f"ranks of {ranks.dtype} cannot number {len(successor):,} nodes; make them int64")


@inline
def survey_block(successor: Nodes, start: int, n: int, found: NDArray[np.int64]) -> None:
    """Add to ``found`` what `survey` finds in a short block of successors, those of the nodes from ``start`` on.

    Tails are only counted at first: of that the compiler makes vectors.
    """
    total = strays = tails = np.int64(0)
    for i in range(len(successor)):
        y = np.int64(successor[i])
        total += y
        strays += np.int64(np.uint64(y) >= np.uint64(n))
        tails += np.int64(y == start + i)
    if tails > 0:
        for i in range(len(successor)):
            if successor[i] == start + i:
                total -= start + i
    found[0] += total
    found[1] += strays
    found[2] += tails


@local
def survey(successor: Nodes, start: int, stop: int, found: NDArray[np.int64]) -> int:
    """Sum the successors in ``start:stop`` that are not the node itself, count those out of range, count the tails."""
    found[:] = 0
    for first in range(start, stop, BLOCK):
        survey_block(successor[first : min(first + BLOCK, stop)], first, len(successor), found)
    return stop - start


def head_from(n: int, found: NDArray[np.int64]) -> int:
    """Return the head: the one node that is missing in the sum of all successors, or -1 if none can be."""
    head = n * (n - 1) // 2 - int(found[0])
    return head if found[1] == 0 and 0 <= head < n else -1


def find_head(proc: Processor, successor: GlobalArray) -> int:
    """Return the node that is nobody's successor: one superstep of n reads in memory order.

    Raises
    ------
    InvalidList
        On all processors, if a successor is out of range or the sum leaves no node to be the head.
    """
    n = len(successor)
    found = np.zeros(3, np.int64)
    with proc.superstep("head") as step:
        mine = proc.block(n)
        step.copy_in_by(survey, successor, mine.start, mine.stop, found)
    head = head_from(n, proc.reduce(found))
    return head if head >= 0 else refuse(proc, successor)


def head_cost(n: int, p: int) -> tuple[str, int, int, int]:
    """Return what the superstep of `find_head` accesses: label, h_r, h_w, M."""
    return "head", longest_block(n, p), 0, n


def refuse(proc: Processor, successor: GlobalArray) -> NoReturn:
    """Say on all processors what is wrong with the list; processor 0 looks."""
    message = None
    with proc.superstep("what is wrong") as step:
        if proc.rank == 0:
            nodes = step.copy_in(successor)
            step.compute()
            message = describe(nodes)
    raise InvalidList(proc.broadcast(message))


def describe(successor: Nodes) -> str:
    """Return the message for successors that were found not to be a list."""
    return f"not a linked list: {fault(successor) or 'it was changed while it was being ranked'}"


def fault(successor: Nodes) -> str | None:
    """Return why the successors form no list, naming a node; None if they do form one.

    Parameters
    ----------
    successor : integer array of shape (n,)

    Notes
    -----
    In range, with one tail, all leading to it, no two with the same successor: that is a list.  Costs O(n log n):
    whether all lead to the tail is told by doubling the reach of every node until it is past n.
    """
    n = len(successor)
    strays = np.flatnonzero((successor < 0) | (successor >= n))
    if len(strays):
        node = strays[0]
        return f"the successor of node {node} is {successor[node]}, but the nodes are 0 to {n - 1}"
    tails = np.flatnonzero(successor == np.arange(n))
    if len(tails) > 1:
        return (
            f"nodes {tails[0]} and {tails[1]} are both their own successor ({len(tails)} nodes are), which only the "
            "tail may be; join the lists, or rank one at a time"
        )
    reached = successor
    for _ in range(n.bit_length()):
        reached = reached[reached]
    lost = reached if len(tails) == 0 else reached[reached != tails[0]]
    if len(lost):
        if len(tails) == 0:
            return f"node {lost[0]} lies on a cycle: no node is its own successor, as the tail must be"
        return f"node {lost[0]} lies on a cycle, which never reaches the tail {tails[0]}"
    predecessors = np.bincount(successor, minlength=n)
    predecessors[tails] -= 1
    joined = np.flatnonzero(predecessors > 1)
    if len(joined):
        first, second = np.flatnonzero((successor == joined[0]) & (np.arange(n) != joined[0]))[:2]
        return f"nodes {first} and {second} have the same successor {joined[0]}, where two lists run together"
    return None
