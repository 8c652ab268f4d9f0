"""Linked lists stored in arrays: validation, finding the head, and explaining why an array is not a list.

    node           0   1   2   3   4           head 3:   3 ─▶ 1 ─▶ 4 ─▶ 0 ─▶ 2 ⟲
    successor      2   4   2   1   0           the tail 2 is its own successor

No kernel looks for double or unreached nodes beforehand, because a count is enough.  A walk from any node to a tail
visits no node twice, or it would go round for ever.  So a walk from the head to the tail that visits n nodes visits all
of them, and the array is a list.  The check consists of one pass in memory order, which finds the head and notices any
successor that is out of range, and of the count with which each kernel ends.  Only after a wrong count does `fault`
look for the reason.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp import GlobalArray, Processor, inline, local
from smp.errors import InvalidList

from ..costs import longest_block

Nodes = NDArray[Any]  # int32 or int64


def random_list(n: int, seed: int = 0, dtype: DTypeLike = np.int32) -> Nodes:
    """Return a list of n nodes in random order.

    Parameters
    ----------
    n : int
        Number of nodes.
    seed : int
        Seed of the random order.
    dtype : int32 or int64

    Returns
    -------
    ndarray of shape (n,)
        Successor of each node.
    """
    order = np.random.default_rng(seed).permutation(np.arange(n, dtype=dtype))
    successor = np.empty_like(order)
    successor[order[:-1]] = order[1:]
    successor[order[-1:]] = order[-1:]
    return successor


def check_arrays(successor: GlobalArray, ranks: GlobalArray) -> None:
    """Raise an error, on all processors alike, for global arrays that no list kernel can work on."""
    for name, array in (("successor", successor), ("ranks", ranks)):
        if array.dtype not in (np.int32, np.int64):
            raise TypeError(f"{name} is a global array of {array.dtype}, but list kernels take int32 and int64")
    if successor.ndim != 1 or ranks.shape != successor.shape:
        raise ValueError(
            f"successor has shape {successor.shape}, and ranks has shape {ranks.shape}: both must have the shape (n,)"
        )
    if len(successor) > np.iinfo(ranks.dtype).max:
        raise ValueError(f"ranks of {ranks.dtype} are too narrow to number {len(successor):,} nodes; make them int64")


@inline
def tally(node: int, y: Any, n: int, total: Any, strays: Any, tails: Any) -> tuple[Any, Any, Any]:
    """Add the successor y of a node to the results of `survey`, without a branch, so that a loop can be vectorised."""
    tail = np.int64(y == node)
    return total + (y & (tail - 1)), strays + np.int64(np.uint64(y) >= np.uint64(n)), tails + tail


@local
def survey(successor: Nodes, start: int, stop: int, found: NDArray[np.int64]) -> int:
    """Sum the successors of the nodes ``start:stop`` except tails; count strays and tails; return how many it read.

    The sum and the two counts go into ``found``.  A stray is a successor that is out of range.
    """
    return survey_part(successor[start:stop], start, len(successor), found)


@local
def survey_part(part: Nodes, start: int, n: int, found: NDArray[np.int64]) -> int:
    """Do the same, given only the successors of these nodes, of a list of n nodes."""
    total = strays = tails = np.int64(0)
    for i in range(len(part)):
        total, strays, tails = tally(start + i, np.int64(part[i]), n, total, strays, tails)
    found[0], found[1], found[2] = total, strays, tails
    return len(part)


@inline
def head_from(n: int, found: NDArray[np.int64]) -> int:
    """Return the head, which is the one node missing in the sum of all successors, or -1 if no node can be the head."""
    head = n * (n - 1) // 2 - int(found[0])
    return head if found[1] == 0 and 0 <= head < n else -1


def find_head(proc: Processor, successor: GlobalArray) -> int:
    """Return the node that is no other node's successor, after one superstep of n reads in memory order.

    Raises
    ------
    InvalidList
        Raised on all processors, if a successor is out of range or the sum leaves no node to be the head.
    """
    n = len(successor)
    found = np.zeros(3, np.int64)
    with proc.superstep("head") as step:
        mine = proc.block(n)
        if successor.has_view:
            step.copy_in_by(survey, successor, mine.start, mine.stop, found)
        else:
            part = step.copy_in(successor, mine)
            step.compute()
            survey_part(part, mine.start, n, found)
    head = head_from(n, proc.reduce(found))
    return head if head >= 0 else refuse(proc, successor)


def head_cost(n: int, p: int) -> tuple[str, int, int, int]:
    """Return what the superstep of `find_head` accesses: label, h_r, h_w, M."""
    return "head", longest_block(n, p), 0, n


def refuse(proc: Processor, successor: GlobalArray) -> NoReturn:
    """Raise `InvalidList` on all processors, with the reason that processor 0 finds."""
    message = None
    with proc.superstep("what is wrong") as step:
        if proc.rank == 0:
            nodes = step.copy_in(successor)
            step.compute()
            message = describe(nodes)
    raise InvalidList(proc.broadcast(message))


def describe(successor: Nodes) -> str:
    """Return the error message for successors that are not a list."""
    return f"not a linked list: {fault(successor) or 'the array was changed while it was being ranked'}"


def fault(successor: Nodes) -> str | None:
    """Return the reason why the successors form no list, with the number of a node; None if they form one.

    Parameters
    ----------
    successor : integer array of shape (n,)

    Notes
    -----
    Successors form a list if all are in range, there is one tail, all nodes lead to it, and no two nodes have the same
    successor.  The cost is O(n log n), because the reach of every node is doubled until it is past n, to see if all
    nodes lead to the tail.
    """
    n = len(successor)
    strays = np.flatnonzero((successor < 0) | (successor >= n))
    if len(strays):
        node = strays[0]
        return f"the successor of node {node} is {successor[node]}, but the nodes are 0 to {n - 1}"
    tails = np.flatnonzero(successor == np.arange(n))
    if len(tails) > 1:
        return (
            f"nodes {tails[0]} and {tails[1]} are both their own successor ({len(tails)} nodes in all), but only "
            "the tail may be its own successor; join the lists, or rank one at a time"
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
        return f"nodes {first} and {second} have the same successor {joined[0]}, where two lists join"
    return None
