"""List ranking and list scan of plain NumPy arrays: which algorithm, on which machine.

    serial        one node after another                                  n reads, in a chain
    wyllie        every node doubles its reach in every round             2n reads a round, ceil(log2 n) rounds
    reid-miller   random sublists in lock-step, walked twice              2n reads
    helman-jaja   random sublists with many cursors, walked once          n reads
    wyllie-cells, wyllie-streams, reid-miller-streams                     as on the Tera MTA: streams share the list

The same algorithms as SPMD programs, for ``machine.run``: `rank_serial`, `rank_wyllie`, `rank_reid_miller`,
`rank_helman_jaja`, `rank_wyllie_cells`, `rank_wyllie_streams`, `rank_reid_miller_streams`, `scan_ranked`.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import GlobalArray, Machine, host
from ..errors import InvalidList, ProcessorRaised
from .helman_jaja import rank_helman_jaja
from .list_scan import scan_ranked
from .list_serial import rank_here, rank_serial
from .lists import Nodes
from .reid_miller import rank_reid_miller
from .wyllie import rank_wyllie

PROGRAMS: dict[str, Callable[..., None]] = {
    "serial": rank_serial,
    "wyllie": rank_wyllie,
    "reid-miller": rank_reid_miller,
    "helman-jaja": rank_helman_jaja,
}
ON_STREAMS = {
    "wyllie-cells": (".wyllie_cells", "rank_wyllie_cells"),
    "wyllie-streams": (".stream_ranking", "rank_wyllie_streams"),
    "reid-miller-streams": (".stream_ranking", "rank_reid_miller_streams"),
}
"""Where the others stand, which are imported when they are asked for: their loops need Numba at once."""
WORTH_A_RUN = 500_000
"""Nodes from which "auto" ranks in parallel on a machine that is open."""
WORTH_A_MACHINE = 10_000_000
"""Nodes from which "auto" opens a machine."""


def rank_list(
    successor: ArrayLike, *, machine: Machine | None = None, algorithm: str = "auto", from_tail: bool = False
) -> Nodes:
    """Return the distance of every node of a linked list from the head.

    Parameters
    ----------
    successor : integer array of shape (n,)
        The node after each node; the tail is its own successor.  Any order in memory, strided or read-only too.
    machine : Machine, optional
        Where to rank; without one, a machine is opened for this call where the algorithm wants one.
    algorithm : {"auto", "serial", "wyllie", "reid-miller", "helman-jaja", "wyllie-cells", "wyllie-streams", \
"reid-miller-streams"}
        "serial" runs in the calling process.  "auto" is "serial" below 500,000 nodes, or 10,000,000 where a
        machine would have to be opened, and "helman-jaja" from there on, whatever the number of processors:
        overlapping cache misses pays on a single one too.
    from_tail : bool
        Return the distance to the tail instead.

    Returns
    -------
    ndarray of shape (n,)
        int32 if the successors are int32 or narrower, else int64.

    Raises
    ------
    InvalidList
        A successor is out of range, two nodes have the same one, there are two tails or none, or a cycle: names a
        node.  Finding that a list is one costs a pass in memory order, under a nanosecond a node; finding out
        why not, O(n log n).
    TypeError, ValueError
        No integers; not one-dimensional; no such algorithm.

    Examples
    --------
    >>> from smp.kernels import rank_list
    >>> rank_list([2, 4, 2, 1, 0])
    array([3, 1, 4, 0, 2])
    >>> rank_list([2, 4, 2, 1, 0], from_tail=True)
    array([1, 3, 0, 4, 2])
    >>> rank_list([2, 4, 2, 0, 1])
    Traceback (most recent call last):
    smp.errors.InvalidList: not a linked list: node 1 lies on a cycle, which never reaches the tail 2
    """
    nodes = _checked(successor)
    program = _chosen(algorithm, len(nodes), machine)
    if program is rank_serial or len(nodes) == 0:
        return rank_here(nodes, from_tail)
    with _opened(machine) as opened:
        ranks = _ranked(opened, program, nodes, from_tail)
        return np.array(ranks.view)


def scan_list(
    successor: ArrayLike,
    values: ArrayLike,
    op: np.ufunc = np.add,
    *,
    machine: Machine | None = None,
    algorithm: str = "auto",
) -> NDArray[Any]:
    """Return the inclusive scan of values along a linked list.

    Parameters
    ----------
    successor, machine, algorithm
        As for `rank_list`.
    values : array of shape (n,)
        One for each node.
    op : NumPy ufunc
        Of two arguments, associative; it need not be commutative.  Floating-point sums depend in their last bits
        on the number of processors.

    Returns
    -------
    ndarray of shape (n,)
        For each node, ``op`` over the values from the head to it, of the dtype that ``op.accumulate`` gives.

    Raises
    ------
    InvalidList, TypeError, ValueError
        As for `rank_list`; also when ``values`` has another length, or ``op`` is no such ufunc.

    Notes
    -----
    The list is ranked, then the values are brought into list order, accumulated block by block, and brought
    back.  It costs two random accesses a node more than ranking.

    Examples
    --------
    >>> from smp.kernels import scan_list
    >>> scan_list([2, 4, 2, 1, 0], [10, 20, 30, 40, 50])    # 3 -> 1 -> 4 -> 0 -> 2
    array([120,  60, 150,  40, 110])
    """
    nodes, given = _checked(successor), np.asarray(values)
    if given.shape != nodes.shape:
        raise ValueError(f"values of shape {given.shape} for {len(nodes)} nodes: give one for each")
    dtype = _accumulated(op, given)
    program = _chosen(algorithm, len(nodes), machine)
    if program is rank_serial or len(nodes) == 0:
        ranks = rank_here(nodes)
        in_order = np.empty_like(given)
        in_order[ranks] = given
        return np.asarray(op.accumulate(in_order)[ranks])
    with _opened(machine) as opened:
        found = _ranked(opened, program, nodes, from_tail=False)
        scanned = opened.empty(len(nodes), dtype)
        opened.run(scan_ranked, found, opened.array(given), scanned, op)
        return np.array(scanned.view)


def _checked(successor: ArrayLike) -> Nodes:
    """The successors as an int32 or int64 array that compiled loops take, copied only if need be."""
    given = np.asarray(successor)
    if given.size == 0 and not isinstance(successor, np.ndarray):
        given = given.astype(np.int64)  # an empty Python list has no integers to tell by
    if given.dtype.kind not in "iu":
        raise TypeError(f"successors are indices of nodes, so integers, not {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"successors form a one-dimensional array, not one of shape {given.shape}")
    narrow = np.can_cast(given.dtype, np.int32)
    return np.require(given, np.int32 if narrow else np.int64, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])


def _chosen(algorithm: str, n: int, machine: Machine | None) -> Callable[..., None]:
    if algorithm == "auto":
        worth = WORTH_A_MACHINE if machine is None else WORTH_A_RUN
        return rank_serial if n < worth else rank_helman_jaja
    if algorithm in ON_STREAMS:
        module, name = ON_STREAMS[algorithm]
        program: Callable[..., None] = getattr(importlib.import_module(module, __package__), name)
        return program
    if algorithm not in PROGRAMS:
        raise ValueError(f"no algorithm {algorithm!r}; there are auto, {', '.join([*PROGRAMS, *ON_STREAMS])}")
    return PROGRAMS[algorithm]


def _opened(machine: Machine | None) -> contextlib.AbstractContextManager[Machine]:
    return host() if machine is None else contextlib.nullcontext(machine)


def _ranked(machine: Machine, program: Callable[..., None], nodes: Nodes, from_tail: bool) -> GlobalArray:
    ranks = machine.empty(len(nodes), nodes.dtype)
    try:
        machine.run(program, machine.array(nodes), ranks, from_tail=from_tail)
    except ProcessorRaised as error:
        if isinstance(error.__cause__, InvalidList):
            raise error.__cause__ from None
        raise
    return ranks


def _accumulated(op: np.ufunc, values: NDArray[Any]) -> np.dtype[Any]:
    """The dtype of a scan, or an error if ``op`` cannot make one."""
    if not isinstance(op, np.ufunc) or (op.nin, op.nout, op.signature) != (2, 1, None):
        raise TypeError(f"a scan needs a NumPy ufunc of two arguments and one result, such as np.add, not {op!r}")
    dtype = op.accumulate(np.ones(1, values.dtype)).dtype
    if dtype.hasobject:
        raise TypeError(f"{op} on {values.dtype} makes Python objects, which processors cannot share")
    return dtype
