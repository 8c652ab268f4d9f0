"""List ranking and list scan of plain NumPy arrays: which algorithm, on which machine.

    fast          random sublists, one word for successor and rank        n reads; streams of the calling process
    serial        one node after another                                  n reads, in a chain
    wyllie        every node doubles its reach in every round             2n reads a round, ceil(log2 n) rounds
    reid-miller   random sublists in lock-step, walked twice              2n reads
    helman-jaja   random sublists with many cursors, walked once          n reads
    wyllie-cells, wyllie-streams, reid-miller-streams                     as on the Tera MTA: streams share the list

The same algorithms as SPMD programs, for ``machine.run``: `rank_serial`, `rank_wyllie`, `rank_reid_miller`,
`rank_helman_jaja`, `rank_wyllie_cells`, `rank_wyllie_streams`, `rank_reid_miller_streams`, `scan_ranked`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import GlobalArray, Machine
from ..errors import InvalidList, ProcessorRaised
from ..processor import share
from .callers_streams import opened, side_by_side, streams_for
from .fast_ranking import rank_fast
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
_NATIVE = (np.dtype(np.int32), np.dtype(np.int64))
WORTH_SUBLISTS = 50_000
"""Nodes from which "auto" is the fast form: below, the serial loop finds its nodes in the caches."""
WORTH_STREAMS = 1_000_000
"""Nodes from which the fast form uses all streams: below, they would wait for one another's caches."""


def rank_list(
    successor: ArrayLike, *, machine: Machine | None = None, algorithm: str = "auto", from_tail: bool = False
) -> Nodes:
    """Return the distance of every node of a linked list from the head.

    Parameters
    ----------
    successor : integer array of shape (n,)
        The node after each node; the tail is its own successor.  Any order in memory, strided or read-only too.
    machine : Machine, optional
        Where to rank; by default the one of the ``with`` block around, or one opened for this call.
    algorithm : {"auto", "fast", "serial", "wyllie", "reid-miller", "helman-jaja", "wyllie-cells", "wyllie-streams", \
"reid-miller-streams"}
        "fast" and "serial" run in the calling process, on its own memory; of a machine, "fast" takes the number of
        processors for that of its streams.  "auto" is "serial" below 50,000 nodes and "fast" from there on, with
        one stream below 1,000,000.
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

    Notes
    -----
    Memory beyond the successors: the ranks, and for int64 half as much again; for a list that is not contiguous, a
    copy of it.  An SPMD program takes two to four times the successors.

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
    program = _chosen(algorithm, len(nodes))
    if program == "serial":
        return rank_here(nodes, from_tail)
    if isinstance(program, str):
        return rank_fast(nodes, _streams(len(nodes), machine), from_tail)
    with opened(machine) as chosen:
        ranks = _ranked(chosen, program, nodes, from_tail)
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
    program = _chosen(algorithm, len(nodes))
    if isinstance(program, str):
        streams = _streams(len(nodes), machine)
        ranks = rank_here(nodes) if program == "serial" else rank_fast(nodes, streams)
        return _scanned_here(op, ranks, given, streams)
    with opened(machine) as chosen:
        found = _ranked(chosen, program, nodes, from_tail=False)
        scanned = chosen.empty(len(nodes), dtype)
        chosen.run(scan_ranked, found, chosen.array(given), scanned, op)
        return np.array(scanned.view)


def _checked(successor: ArrayLike) -> Nodes:
    """The successors as an int32 or int64 array that compiled loops take, copied only if need be."""
    given = np.asarray(successor)
    if given.ndim == 1 and given.dtype in _NATIVE and given.flags.carray:
        return given
    if given.size == 0 and not isinstance(successor, np.ndarray):
        given = given.astype(np.int64)  # an empty Python list has no integers to tell by
    if given.dtype.kind not in "iu":
        raise TypeError(f"successors are indices of nodes, so integers, not {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"successors form a one-dimensional array, not one of shape {given.shape}")
    narrow = np.can_cast(given.dtype, np.int32)
    return np.require(given, np.int32 if narrow else np.int64, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])


def _chosen(algorithm: str, n: int) -> Callable[..., None] | str:
    """The program of an algorithm, or the name of one that runs in this process."""
    if algorithm == "auto":
        return "serial" if n < WORTH_SUBLISTS else "fast"
    if algorithm in ON_STREAMS:
        module, name = ON_STREAMS[algorithm]
        program: Callable[..., None] = getattr(importlib.import_module(module, __package__), name)
    elif algorithm in PROGRAMS:
        program = PROGRAMS[algorithm]
    elif algorithm != "fast":
        raise ValueError(f"no algorithm {algorithm!r}; there are auto, fast, {', '.join([*PROGRAMS, *ON_STREAMS])}")
    if algorithm in ("fast", "serial"):
        return algorithm
    return program if n else "serial"


def _streams(n: int, machine: Machine | None) -> int:
    return streams_for(machine) if n >= WORTH_STREAMS else 1


def _scanned_here(op: np.ufunc, ranks: Nodes, values: NDArray[Any], streams: int) -> NDArray[Any]:
    """Bring the values into list order, accumulate, and deal the result out to the nodes."""
    blocks = [share(len(ranks), k, streams) for k in range(streams)]
    in_order = np.empty_like(values)
    side_by_side(*(partial(in_order.__setitem__, ranks[block], values[block]) for block in blocks))
    summed = op.accumulate(in_order)
    scanned = np.empty_like(summed)
    side_by_side(*(partial(np.take, summed, ranks[block], out=scanned[block], mode="clip") for block in blocks))
    return scanned


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
