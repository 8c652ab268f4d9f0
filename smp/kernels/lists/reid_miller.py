"""The Reid-Miller algorithm: random sublists, advanced in lock-step, packed and shared out anew.

    phase 1   every processor's active sublists take one link each, again and again; now and then the finished
              ones are packed out, and less often the active ones are dealt out evenly to the processors

                 sublist    0 1 2 3 4 5 6 7                       each column ends after its own length;
                 link 1     o o o o o o o o                       a vector machine would drag the ends along
                 link 2     o o   o o o   o
                 pack       0 1 3 4 5 7
                 link 3     o   o o   o
                 pack       0 3 4 7          rebalance: 0 3 │ 4 7
    phase 2   the list of the sublists is scanned (serially: it is short)
    phase 3   the sublists are walked once more, from the rank at which each begins, and the ranks written

Each successor is read twice.  Source: Reid-Miller and Blelloch, List ranking and list scan on the Cray C-90; the
study of the Tera MTA, section 4.2 and figure 16.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import GlobalArray, Processor, local
from smp._runtime.loops.atomics import prefetch, prefetch_write
from smp._runtime.program.superstep import Superstep

from ..costs import Costs, costs_of
from .lists import Nodes, check_arrays, find_head, head_cost, refuse
from .serial import cost as serial_cost
from .serial import rank_serial
from .sublists import END, Key, Sublists, cut, get_links, known_or_expected, offsets_along, place, put_links

REBALANCE = 4
_AHEAD = 32  # notes between asking for a rank's line and writing it
_SUBLIST, _AT, _RANK = 0, 1, 2  # columns of a cursor; _AT of a finished one is END - 1 - the next sublist
Cursors = NDArray[np.int64]
Counts = NDArray[np.int64]


@local
def advance(
    successor: Nodes,
    key: Key,
    count: int,
    pack: int,
    packs: int,
    cursors: Cursors,
    sign: int,
    notes: Nodes,
    values: Nodes,
    left: NDArray[np.int64],
) -> tuple[int, int]:
    """Take ``packs`` times ``pack`` links on all cursors; leave the active ones first and how many in ``left``.

    Returns the number of successors read, and of the rounds in which they were: each waits for the one before.
    Where there is room for notes, the nodes and their ranks are noted.
    No list needs more reads than it has nodes: what goes on for longer is left unfinished.
    """
    noting = len(notes) > 0
    active, reads, rounds = len(cursors), 0, 0
    for _ in range(packs):
        for _ in range(pack):
            before = reads
            for k in range(active):
                if cursors[k, 1] < 0:
                    continue
                x = np.uint64(cursors[k, 1])
                y = np.uint64(successor[x])
                if noting:
                    notes[reads], values[reads] = x, cursors[k, 2]
                reads += 1
                cursors[k, 2] += sign
                there = place(np.int64(y), key)
                if y == x:
                    cursors[k, 1] = END - 1 - END
                elif there < count:
                    cursors[k, 1] = END - 1 - there
                else:
                    cursors[k, 1] = np.int64(y)
                    prefetch(successor, y)
            rounds += reads > before
        k = 0
        while k < active:
            if cursors[k, 1] >= 0:
                k += 1
                continue
            active -= 1
            for column in range(3):
                finished = cursors[k, column]
                cursors[k, column] = cursors[active, column]
                cursors[active, column] = finished
        if active == 0 or reads > len(successor):
            break
    left[0] = active
    return reads, rounds


@local
def scatter(ranks: Nodes, notes: Nodes, values: Nodes, count: int) -> int:
    """Write the first ``count`` values to the nodes noted beside them; return their number."""
    for i in range(count):
        prefetch_write(ranks, np.uint64(notes[min(i + _AHEAD, count - 1)]))
        ranks[np.uint64(notes[i])] = values[i]
    return count


class Traversal:
    """How all processors take their cursors along the list, in supersteps.

    Parameters
    ----------
    proc : Processor
    successor : GlobalArray
    pieces : Sublists
    pack, rebalance : int
        As for `rank_reid_miller`.
    """

    def __init__(self, proc: Processor, successor: GlobalArray, pieces: Sublists, pack: int, rebalance: int) -> None:
        self.proc, self.successor = proc, successor
        self.how = (pieces.key, pieces.count, pack, rebalance or len(successor))
        dealing = rebalance > 0 and proc.size > 1
        self.pool = proc.empty((pieces.count + 1, 3), np.int64) if dealing else None

    def run(
        self,
        label: str,
        cursors: Cursors,
        sign: int,
        notes: Nodes,
        values: Nodes,
        put: Callable[[Superstep, Cursors, int], None],
    ) -> bool:
        """Walk until all are finished; return whether they are, within n reads.

        In the copy-out of each superstep ``put(step, finished cursors, reads)`` hands on what was found, and the
        active cursors go into a pool from which each processor takes an even share, if they lie unevenly.
        """
        proc, n, left = self.proc, len(self.successor), np.empty(1, np.int64)
        read_by_all = total = 0
        dealt = False
        while True:
            with proc.superstep(label) as step:
                if self.pool is not None and dealt:
                    cursors = step.copy_in(self.pool, proc.block(total))
                reads, _ = step.copy_in_by(advance, self.successor, *self.how, cursors, sign, notes, values, left)
                step.compute()
                active = int(left[0])
                put(step, cursors[active:], reads)
                cursors = cursors[:active]
                counts = np.array(proc.gather((active, reads)))
                held, total = counts[:, 0], int(counts[:, 0].sum())
                dealt = int(np.ptp(held)) > 1
                if self.pool is not None and dealt:
                    before = int(held[: proc.rank].sum())
                    step.copy_out(self.pool, slice(before, before + active), cursors)
            read_by_all += int(counts[:, 1].sum())
            if total == 0 or read_by_all >= n:
                return total == 0


def rank_reid_miller(
    proc: Processor,
    successor: GlobalArray,
    ranks: GlobalArray,
    *,
    from_tail: bool = False,
    sublists: int | None = None,
    pack: int | None = None,
    rebalance: int = REBALANCE,
    seed: int = 0,
) -> None:
    """Rank a list by the Reid-Miller algorithm: an SPMD program.

    Parameters
    ----------
    proc, successor, ranks, from_tail
        As for `rank_serial`.
    sublists : int, optional
        About how many to cut (m of the paper); by default `default_sublists`.
    pack : int, optional
        Links between two packings; by default a quarter of a sublist's mean length.
    rebalance : int
        Packings in one superstep, after which active sublists are dealt out anew; 0: one superstep, never dealt out.
    seed : int
        Of the random cut.

    Raises
    ------
    InvalidList
        On all processors; ``ranks`` holds nothing of use then.

    Notes
    -----
    Supersteps, with s the count that `sublists.cut` makes of ``sublists``: ``head`` (n reads), several of
    ``reduce`` (n reads in all; 2 writes a sublist: the links travel in ``ranks``), ``scan`` (2 (s + 1) reads a
    processor), several of ``expand`` (n reads and n writes in all).  In those of ``reduce`` and ``expand`` after which
    the processors hold unequal numbers of active sublists, 3 writes and 3 reads more for each to deal them out.
    """
    check_arrays(successor, ranks)
    n = len(successor)
    if n < 2:
        return rank_serial(proc, successor, ranks, from_tail=from_tail)
    check_tuning(pack, rebalance)
    pieces = cut(n, find_head(proc, successor), default_sublists(n, proc.size) if sublists is None else sublists, seed)
    numbers, starts = pieces.share(proc.rank, proc.size)
    traversal = Traversal(proc, successor, pieces, pack or max(1, n // (4 * (pieces.count + 1))), rebalance)

    def put_lengths(step: Superstep, finished: Cursors, reads: int) -> None:
        links = np.column_stack((finished[:, _RANK], END - 1 - finished[:, _AT]))
        put_links(step, ranks, finished[:, _SUBLIST], links)

    none = np.empty(0, successor.dtype)
    cursors = np.column_stack((numbers, starts, np.zeros_like(starts)))
    valid = traversal.run("reduce", cursors, 1, none, none, put_lengths)
    firsts = np.empty(pieces.count + 1, np.int64)
    if valid:
        with proc.superstep("scan") as step:
            every = get_links(step, ranks, pieces)
            step.compute()
            valid = offsets_along(every, pieces.first, firsts) == n
    if not valid:
        refuse(proc, successor)

    notes, values = np.empty(n, successor.dtype), np.empty(n, successor.dtype)  # no memory before they are written

    def put_ranks(step: Superstep, finished: Cursors, reads: int) -> None:
        step.copy_out_by(scatter, ranks, notes, values, reads)

    first, sign = (n - 1 - firsts[numbers], -1) if from_tail else (firsts[numbers], 1)
    traversal.run("expand", np.column_stack((numbers, starts, first)), sign, notes, values, put_ranks)


def check_tuning(pack: int | None, rebalance: int) -> None:
    """Refuse numbers of links and packings that make no sense."""
    if (pack is not None and pack < 1) or rebalance < 0:
        raise ValueError(f"pack={pack} and rebalance={rebalance}: links and packings are counted from 1, 0 is never")


def default_sublists(n: int, size: int) -> int:
    """Return how many sublists to cut: 512 a processor, fewer where they would be shorter than 64 nodes.

    In lock-step the lines asked for wait a whole link; 512 of them are as many as a first-level cache holds.
    """
    return max(1, min(n // 64, 512 * size))


def cost(
    n: int, p: int, lengths: ArrayLike | None = None, *, pack: int | None = None, rebalance: int = REBALANCE
) -> Costs:
    """Return what the supersteps of `rank_reid_miller` access.

    Parameters
    ----------
    n, p : int
        Nodes and processors.
    lengths : int array of shape (count + 1,), optional
        How long each sublist is, by its number, 0 where there is none; ``count`` is that of `sublists.cut`.
        By default those expected of `default_sublists` (see `sublists.expected_lengths`), which are shared
        more evenly than chance does: h_r and h_w are some per cent lower, and fewer cursors are dealt out.
    pack, rebalance
        As for `rank_reid_miller`.

    Returns
    -------
    array of `COST`
        How many of ``reduce`` and ``expand`` there are follows from the lengths too.
    """
    if n < 2:
        return serial_cost(n, p)
    check_tuning(pack, rebalance)
    known = known_or_expected(lengths, n, default_sublists(n, p))
    every = 2 * len(known)
    links, ended, taken, dealt = lockstep(known, p, pack or max(1, n // (4 * len(known))), rebalance)
    return costs_of(
        [
            head_cost(n, p),
            *_supersteps("reduce", links + 3 * taken, 2 * ended + 3 * dealt),
            ("scan", every, 0, p * every),
            *_supersteps("expand", links + 3 * taken, links + 3 * dealt),
        ]
    )


def _supersteps(label: str, reads: Counts, writes: Counts) -> list[tuple[str, int, int, int]]:
    return [(label, int(r.max()), int(w.max()), int(r.sum() + w.sum())) for r, w in zip(reads, writes, strict=True)]


def lockstep(lengths: Counts, p: int, pack: int, rebalance: int) -> tuple[Counts, Counts, Counts, Counts]:
    """Return what a `Traversal` does in each superstep, from nothing but the lengths of the sublists, by number.

    Returns
    -------
    links, ended, taken, dealt : int arrays of shape (supersteps, p)
        Links that each processor's cursors take, sublists that end there, cursors it takes from the pool before and
        deals into it after.
    """
    left = [mine[mine > 0] for mine in (lengths[rank::p] for rank in range(p))]
    rows, nothing = [], np.zeros(p, np.int64)
    before, taken = _held(left), nothing
    while before.any():
        left = [_advanced(mine, pack, rebalance or int(lengths.max())) for mine in left]
        after = _held(left)
        uneven = rebalance > 0 and np.ptp(after[1]) > 1
        rows.append((*(before - after), taken, after[1] if uneven else nothing))
        if uneven:
            left = np.array_split(np.concatenate(left), p)
        before = _held(left)
        taken = before[1] if uneven else nothing
    links, ended, taken, dealt = np.array(rows).swapaxes(0, 1)
    return links, ended, taken, dealt


def _held(left: list[Counts]) -> Counts:
    """How many links all cursors of each processor have left together, and how many cursors there are."""
    return np.array([(mine.sum(), len(mine)) for mine in left], np.int64).T


def _advanced(left: Counts, pack: int, packs: int) -> Counts:
    """What the active cursors have left after so many packs, in the order in which `advance` leaves them."""
    for _ in range(packs):
        left = left - pack
        active = left > 0
        held = np.count_nonzero(active)
        holes = np.flatnonzero(~active[:held])
        left[holes] = left[held:][active[held:]][::-1]  # the last active cursor moves into the first hole
        left = left[:held]
        if held == 0:
            break
    return left
