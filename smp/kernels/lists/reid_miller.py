"""The Reid-Miller algorithm: random sublists that are advanced in lock-step, packed, and shared out again.

    phase 1   every processor advances its active sublists by one link each, again and again; now and then it packs
              out the finished ones, and less often the active ones are dealt out evenly to the processors

                 sublist    0 1 2 3 4 5 6 7                       each column ends after its own length; without
                 link 1     o o o o o o o o                       packing, a vector machine would go on with all
                 link 2     o o   o o o   o
                 pack       0 1 3 4 5 7
                 link 3     o   o o   o
                 pack       0 3 4 7          rebalance: 0 3 │ 4 7
    phase 2   the list of the sublists is scanned (serially: it is short)
    phase 3   the sublists are walked once more, each from the rank at which it begins, and the ranks are written

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
_AHEAD = 32  # notes between the prefetch of a rank's line and the write
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
    """Advance all cursors ``packs`` times by ``pack`` links; put the active ones first, and their number into ``left``.

    Return the number of successors read and the number of rounds, each of which waits for the one before.  If there is
    room for notes, the nodes and their ranks are noted.  No list needs more reads than it has nodes, so a walk that
    goes on for longer is left unfinished.
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
    """Write the first ``count`` values to the nodes noted with them; return their number."""
    for i in range(count):
        prefetch_write(ranks, np.uint64(notes[min(i + _AHEAD, count - 1)]))
        ranks[np.uint64(notes[i])] = values[i]
    return count


class Traversal:
    """Traversal of a list in supersteps, in which all processors advance their cursors.

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
        """Walk until all cursors are finished; return False if n reads are not enough.

        In the copy-out of each superstep, ``put(step, finished cursors, reads)`` passes on the results.  If the
        processors hold uneven shares, the active cursors go into a pool, from which each processor takes an even share.
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
    """Rank a list by the Reid-Miller algorithm (SPMD program).

    Parameters
    ----------
    proc, successor, ranks, from_tail
        As for `rank_serial`.
    sublists : int, optional
        Approximate number of sublists to cut (m of the paper); by default `default_sublists`.
    pack : int, optional
        Number of links between two packings; by default a quarter of a sublist's mean length.
    rebalance : int
        Number of packings in one superstep, after which active sublists are dealt out again.  With 0 there is one
        superstep, and they are never dealt out.
    seed : int
        Seed of the random cut.

    Raises
    ------
    InvalidList
        Raised on all processors; ``ranks`` then holds nothing useful.
    TypeError, ValueError
        Raised on all processors, for unsuitable arrays or numbers out of range.

    Notes
    -----
    Supersteps: ``head`` (n reads), several of ``reduce`` (n reads in all, 2 writes per sublist), ``scan`` (2 (s + 1)
    reads per processor), several of ``expand`` (n reads and n writes in all).  Here s is the ``count`` that
    `sublists.cut` computes from ``sublists``.  The two writes per sublist are the links, which travel in ``ranks``.  If
    the numbers of active sublists differ by more than one between processors after a superstep of ``reduce`` or
    ``expand``, dealing them out costs 3 more writes and 3 more reads for each.
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

    notes, values = np.empty(n, successor.dtype), np.empty(n, successor.dtype)  # no memory until written

    def put_ranks(step: Superstep, finished: Cursors, reads: int) -> None:
        step.copy_out_by(scatter, ranks, notes, values, reads)

    first, sign = (n - 1 - firsts[numbers], -1) if from_tail else (firsts[numbers], 1)
    traversal.run("expand", np.column_stack((numbers, starts, first)), sign, notes, values, put_ranks)


def check_tuning(pack: int | None, rebalance: int) -> None:
    """Raise ValueError if the number of links or of packings is out of range."""
    if (pack is not None and pack < 1) or rebalance < 0:
        raise ValueError(
            f"cannot rank with pack={pack} and rebalance={rebalance}: pack must be at least 1, and rebalance at "
            "least 0 (0 means never)"
        )


def default_sublists(n: int, size: int) -> int:
    """Return the number of sublists to cut: 512 per processor, or fewer if they would be shorter than 64 nodes.

    In lock-step, a prefetched line must stay in the cache until every other sublist has taken its link; a first-level
    cache holds 512 lines.
    """
    return max(1, min(n // 64, 512 * size))


def cost(
    n: int, p: int, lengths: ArrayLike | None = None, *, pack: int | None = None, rebalance: int = REBALANCE
) -> Costs:
    """Return what the supersteps of `rank_reid_miller` access.

    Parameters
    ----------
    n, p : int
        Numbers of nodes and of processors.
    lengths : int array of shape (count + 1,), optional
        Length of each sublist by its number, 0 if there is none; ``count`` is that of `sublists.cut`.  By default the
        lengths expected with `default_sublists` (see `sublists.expected_lengths`).  These are shared out more evenly
        than random ones, so h_r and h_w are a few per cent lower, and fewer cursors are dealt out.
    pack, rebalance
        As for `rank_reid_miller`.

    Returns
    -------
    array of `COST`
        The numbers of ``reduce`` and ``expand`` supersteps follow from the lengths too.
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
    """Return what a `Traversal` does in each superstep, given only the lengths of the sublists by number.

    Returns
    -------
    links, ended, taken, dealt : int arrays of shape (supersteps, p)
        For each processor: links that its cursors take, cursors that finish, cursors that it takes from the pool at
        the beginning, and cursors that it puts into the pool at the end.
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
    """Return, for each processor, the links that all its cursors have left, and the number of its cursors."""
    return np.array([(mine.sum(), len(mine)) for mine in left], np.int64).T


def _advanced(left: Counts, pack: int, packs: int) -> Counts:
    """Return the links that active cursors have left after ``packs`` packs, in the order that `advance` leaves."""
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
