"""List ranking and list scan of plain NumPy arrays, with a choice of algorithm and machine.

    fast          random sublists, one word for successor and rank        n reads; streams of the calling process
    serial        one node after another                                  n reads, each waits for the one before
    wyllie        every node doubles its reach in every round             2n reads a round, ceil(log2 n) rounds
    reid-miller   random sublists in lock-step, walked twice              2n reads
    helman-jaja   random sublists with many cursors, walked once          n reads
    wyllie-cells, wyllie-streams, reid-miller-streams                     as on the Tera MTA: streams share the list

"auto" chooses between the first two, "program" among the next three and a serial program.  Both use models of this
computer if there are any (see `choice`), and a rule otherwise.

The same algorithms as SPMD programs, for ``machine.run``: `rank_serial`, `rank_wyllie`, `rank_reid_miller`,
`rank_helman_jaja`, `rank_wyllie_cells`, `rank_wyllie_streams`, `rank_reid_miller_streams`, `scan_ranked`.
"""

from __future__ import annotations

import functools
import importlib
import os
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import GlobalArray, Machine
from smp._runtime.program.processor import share

from ..in_process import check_threads, opened, side_by_side, streams_for
from .at_once import rank_at_once
from .fast import rank_fast
from .forms import FORMS, GLANCED, WORTH_FAST, WORTH_STREAMS, WORTH_SUBLISTS, in_shared_memory
from .lists import Nodes
from .sampling import go_far
from .scan import scan_ranked
from .serial import find_head_and_walk, rank_here

_HERE = ("auto", "fast", "serial")
_NATIVE = (np.dtype(np.int32), np.dtype(np.int64))


def rank_list(
    successor: ArrayLike,
    *,
    machine: Machine | None = None,
    algorithm: str = "auto",
    threads: int | None = None,
    from_tail: bool = False,
) -> Nodes:
    """Return the distance of every node of a linked list from the head.

    Parameters
    ----------
    successor : integer array of shape (n,)
        The node after each node; the tail is its own successor.  The nodes may lie in memory in any order.  The array
        may be strided or read-only.
    machine : Machine, optional
        Machine on which to rank the list; by default the machine of the enclosing ``with`` block.  Without one, "fast"
        uses all CPUs, and an SPMD program runs on a machine that is opened for this call.
    algorithm : {"auto", "fast", "serial", "program", "wyllie", "reid-miller", "helman-jaja", "wyllie-cells", \
"wyllie-streams", "reid-miller-streams"}
        "fast" and "serial" run in the calling process, on its own memory.  "fast" uses as many streams as the machine
        has processors, but only one stream below 400,000 nodes.  "auto" is "serial" below 8,000 nodes.  Below
        1,000,000, it is also "serial" if few of 32 links go far: if fewer than 8 go 16 KiB and, in lists of 512 KiB or
        more, fewer than 4 go 32 KiB.  Otherwise it is "fast".  "program" is "helman-jaja".  The other names are SPMD
        programs, which run on the machine.

        After ``python -m smp.microbench --calibrate``, models of this computer choose instead, from 200,000 nodes on.
        They go by the number of nodes and by a sample of how the list lies in memory.  "auto" is then the predicted
        fastest of "serial", "fast" on one stream, and "fast" on all streams, if there are as many nodes as the
        calibration determines.  Asking the models takes 10 to 200 us, so with fewer nodes the rule above decides, and
        "fast" has one stream.  On computers of one or two CPUs, this also holds below 400,000 nodes if links go far.
        "program" is the predicted fastest of the SPMD programs for "serial", "wyllie", "reid-miller", "helman-jaja".
    threads : int, optional
        Number of streams of "fast": threads of the calling process, which share the list out.  "auto" may use fewer, if
        that is faster.  By default it is as described above.  If there are more threads than CPUs, they take turns.
    from_tail : bool
        Return the distance to the tail instead of the distance from the head.

    Returns
    -------
    ndarray of shape (n,)
        The distances, as int32 if the successors are int32 or narrower, else as int64.

    Raises
    ------
    InvalidList
        A successor is out of range, two nodes have the same successor, there are two tails or none, or there is a
        cycle.  The message names a node.  Checking a valid list costs one pass in memory order, under a nanosecond per
        node.  Finding out why an array is not a list takes O(n log n).
    TypeError, ValueError
        The successors are not integers or not one-dimensional, or there is no such algorithm.  Also if ``threads`` is
        not a whole number from 1 to 256, if it is given with an SPMD program, or if it is more than 1 with "serial".

    Notes
    -----
    Memory in addition to the successors: the ranks, and for int64 on several streams half as much again.  A list that
    is not contiguous is copied.  An SPMD program takes two to four times the memory of the successors.

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
    if (
        algorithm == "auto"
        and type(successor) is np.ndarray
        and successor.ndim == 1
        and successor.dtype in _NATIVE
        and (n := len(successor)) < GLANCED
        and successor.flags.carray
    ):  # at once, because further calls take as long as a hundred nodes
        if threads is not None:
            check_threads(threads, 'algorithm="auto"', True)
        at_once = np.empty(n, successor.dtype)
        rank = find_head_and_walk if n < WORTH_SUBLISTS else rank_at_once
        if rank(successor, -1 if from_tail else 1, at_once):
            return at_once
    nodes = _checked(successor)
    if _runs_here(algorithm, len(nodes), threads):
        return _ranked_here(algorithm, nodes, machine, from_tail, threads)
    with opened(machine) as chosen:
        ranks = _ranked_on(chosen, nodes, from_tail, algorithm)
        return np.array(ranks.view)


def scan_list(
    successor: ArrayLike,
    values: ArrayLike,
    op: np.ufunc = np.add,
    *,
    machine: Machine | None = None,
    algorithm: str = "auto",
    threads: int | None = None,
) -> NDArray[Any]:
    """Return the inclusive scan of values along a linked list.

    Parameters
    ----------
    successor, machine, algorithm, threads
        As for `rank_list`.
    values : array of shape (n,)
        One value for each node.
    op : NumPy ufunc
        Associative ufunc of two arguments; it need not be commutative.  With an SPMD program, the last bits of
        floating-point sums depend on the number of processors.

    Returns
    -------
    ndarray of shape (n,)
        For each node, the result of ``op`` over the values from the head to that node.  It has the dtype that
        ``op.accumulate`` gives.

    Raises
    ------
    InvalidList, TypeError, ValueError
        As for `rank_list`; also if ``values`` has another length, or ``op`` is not such a ufunc.

    Notes
    -----
    The list is ranked first.  Then the values are brought into list order, accumulated (by an SPMD program in blocks),
    and brought back to the nodes.  This costs two random accesses per node more than ranking.

    Examples
    --------
    >>> from smp.kernels import scan_list
    >>> scan_list([2, 4, 2, 1, 0], [10, 20, 30, 40, 50])    # 3 -> 1 -> 4 -> 0 -> 2
    array([120,  60, 150,  40, 110])
    """
    nodes, given = _checked(successor), np.asarray(values)
    if given.shape != nodes.shape:
        raise ValueError(
            f"values has shape {given.shape}, but the list has {len(nodes)} nodes: give one value per node"
        )
    dtype = _accumulated(op, given)
    if _runs_here(algorithm, len(nodes), threads):
        ranks = _ranked_here(algorithm, nodes, machine, False, threads)
        return _scanned_here(op, ranks, given, _streams(algorithm, len(nodes), machine, threads))
    with opened(machine) as chosen:
        found = _ranked_on(chosen, nodes, False, algorithm)
        scanned = chosen.empty(len(nodes), dtype)
        chosen.run(scan_ranked, found, chosen.array(given), scanned, op)
        return np.array(scanned.view)


def _checked(successor: ArrayLike) -> Nodes:
    """Return the successors as an int32 or int64 array that compiled loops accept, copied only if necessary."""
    given = np.asarray(successor)
    if given.ndim == 1 and given.dtype in _NATIVE and given.flags.carray:
        return given
    if given.size == 0 and not isinstance(successor, np.ndarray):
        given = given.astype(np.int64)  # an empty Python list has no integers to show its type
    if given.dtype.kind not in "iu":
        raise TypeError(f"successors are indices of nodes, so they must be integers, not {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"successors must be a one-dimensional array, not one of shape {given.shape}")
    narrow = np.can_cast(given.dtype, np.int32)
    return np.require(given, np.int32 if narrow else np.int64, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])


def _runs_here(algorithm: str, n: int, threads: int | None) -> bool:
    """Return True if an algorithm runs in this process; every algorithm does if there are no nodes."""
    here = algorithm in _HERE
    if not (here or algorithm in FORMS or algorithm == "program"):
        known = dict.fromkeys((*_HERE, *FORMS, "program"))
        raise ValueError(f"unknown algorithm {algorithm!r}; choose one of {', '.join(known)}")
    if threads is not None:
        check_threads(threads, f"algorithm={algorithm!r}", here, algorithm == "serial")
    return here or n == 0


def _ranked_here(algorithm: str, nodes: Nodes, machine: Machine | None, from_tail: bool, threads: int | None) -> Nodes:
    """Rank a list in this process; "auto" asks the models if there are any and the list is long enough."""
    n = len(nodes)
    if algorithm == "auto" and n >= WORTH_SUBLISTS:
        if n < GLANCED:
            return rank_fast(nodes, 1, from_tail) if go_far(nodes) else rank_here(nodes, from_tail)
        if n < WORTH_STREAMS and _has_two_cpus() and go_far(nodes):
            # two streams mostly take longer, as they wait for one another's caches
            return rank_fast(nodes, 1, from_tail)
        libraries = _libraries()
        library = libraries.rankings(threads or streams_for(machine))
        if library.models and n >= library.worth:
            ranks: Nodes = libraries.by_models(library, nodes, from_tail)
            return ranks
        if (library.models or n < WORTH_FAST) and not go_far(nodes):
            return rank_here(nodes, from_tail)
        if library.models:
            return rank_fast(nodes, 1, from_tail)
    if algorithm == "serial" or (algorithm == "auto" and n < WORTH_SUBLISTS):
        return rank_here(nodes, from_tail)
    return rank_fast(nodes, _streams(algorithm, n, machine, threads), from_tail)


@functools.cache
def _has_two_cpus() -> bool:
    """Return True if the computer has one or two CPUs."""
    return (os.cpu_count() or 1) <= 2


@functools.cache
def _libraries() -> ModuleType:
    """Return the module of the libraries, imported on first use because the import takes a while."""
    return importlib.import_module(".choice", __package__)


def _streams(algorithm: str, n: int, machine: Machine | None, threads: int | None) -> int:
    """Return the number of streams, which is the caller's if it names an algorithm as well."""
    if threads and algorithm != "auto":
        return threads
    return threads or streams_for(machine) if n >= WORTH_STREAMS else 1


def _scanned_here(op: np.ufunc, ranks: Nodes, values: NDArray[Any], streams: int) -> NDArray[Any]:
    """Bring the values into list order, accumulate them, and return the result for each node."""
    blocks = [share(len(ranks), k, streams) for k in range(streams)]
    in_order = np.empty_like(values)
    side_by_side(*(partial(in_order.__setitem__, ranks[block], values[block]) for block in blocks))
    summed = op.accumulate(in_order)
    scanned = np.empty_like(summed)
    side_by_side(*(partial(np.take, summed, ranks[block], out=scanned[block], mode="clip") for block in blocks))
    return scanned


def _ranked_on(machine: Machine, nodes: Nodes, from_tail: bool, algorithm: str) -> GlobalArray:
    """Rank a list with an SPMD program; "program" is the one that the models choose, or else the rule."""
    if algorithm == "program":
        ranks: GlobalArray = _libraries().programs(machine.size)(machine, nodes, from_tail)
        return ranks
    return in_shared_memory(machine, nodes, from_tail, algorithm=algorithm)


def _accumulated(op: np.ufunc, values: NDArray[Any]) -> np.dtype[Any]:
    """Return the dtype of a scan; raise TypeError if ``op`` cannot make one."""
    if not isinstance(op, np.ufunc) or (op.nin, op.nout, op.signature) != (2, 1, None):
        raise TypeError(f"a scan needs a NumPy ufunc with two arguments and one result, such as np.add, not {op!r}")
    dtype = op.accumulate(np.ones(1, values.dtype)).dtype
    if dtype.hasobject:
        raise TypeError(f"{op} on {values.dtype} returns Python objects, which processors cannot share")
    return dtype
