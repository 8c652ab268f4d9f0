"""Sample sort: a random sample says where buckets of even size begin; keys go to their buckets, which are sorted.

    sample       each processor draws some of its keys; all of them in order are the sample
    count        every s-th of these is the floor of a bucket; each counts its keys in them   counts[bucket, processor]
    prefix sum   processor b sums up what the processors have for bucket b: where their keys begin in it
    move         each puts its keys into the buckets, which lie one after another
    sort         processor b sorts bucket b

With s keys of each processor a bucket has n/p keys, give or take about 1/sqrt(s) of them.  If one would have far too
many all the same, another sample is drawn.

Sources: the SMP cost study, section 5.1 and table 10; the thesis on high-level libraries, section 4.5.2.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor

from ..costs import Costs, costs_of, longest_block
from .distribution import by_floors, deal, tally
from .keys import check_keys, check_number, images, keys_of, unsigned

OVERSAMPLING = 100
TRIES = 8
"""Samples to draw before the buckets are taken as they are."""
SLACK = 16
"""Keys that a bucket may hold beyond its room, for the sake of very short arrays."""


def sort_sample(
    proc: Processor, keys: GlobalArray, *, oversampling: int = OVERSAMPLING, seed: int = 0, room: float = 2.0
) -> None:
    """Sort keys in place by sample sort: an SPMD program.

    Parameters
    ----------
    proc : Processor
    keys : GlobalArray of shape (n,), int32, int64, uint32, uint64, float32 or float64
    oversampling : int
        Keys that each processor draws, without putting any back; all of its block if it has fewer.
    seed : int
        Of the draws, from 0.
    room : float
        How many times n/p keys a bucket should hold at most (and 16 more), at least 1.

    Raises
    ------
    TypeError, ValueError
        On all processors, with the keys untouched: other arrays; numbers out of range.

    Notes
    -----
    Five supersteps, ``sample``, ``count``, ``prefix sum``, ``move`` and ``sort``: see `cost`.  As long as a bucket has
    more keys than its room, the first two are repeated with an independent sample, up to 8 times in all; then the
    buckets are taken as they are, since nothing is lost but balance.  Equal keys may go to different buckets, so
    that even keys that are all equal are shared out evenly (see `smp.kernels.sorting.distribution.by_floors`).

    Nothing local is kept from one superstep to the next but where the buckets are: keys and floors are read again.  A
    collective puts the sample in order, and another tells whether a bucket is too large.  A second array holds the
    images of all keys (see `smp.kernels.sorting.keys`).
    """
    n = check_keys(keys)
    s, start = check_number("oversampling", oversampling, 1), check_number("seed", seed, 0)
    if not room >= 1:
        raise ValueError(f"room={room}: the largest bucket holds n/p keys or more, so room must be at least 1")
    if n == 0:
        return
    p, mine, drawn = proc.size, proc.block(n), _drawn(n, proc.size, s)
    length = mine.stop - mine.start
    picks, every_sth = min(s, length), np.arange(p) * drawn // p
    sample, buckets = (proc.empty(size, unsigned(keys.dtype)) for size in (drawn, n))
    counts = proc.empty(p * p, np.int64)  # in (bucket, processor) order
    own, row, last = slice(proc.rank, None, p), slice(proc.rank * p, (proc.rank + 1) * p), slice(p - 1, None, p)
    for attempt in range(TRIES):
        rng = np.random.default_rng((start, attempt, proc.rank))
        places = mine.start + rng.choice(length, picks, replace=False)  # local work: no part of the copy-in
        with proc.superstep("sample") as step:
            picked = step.copy_in(keys, places)
            step.compute()
            ordered = np.sort(images(np.concatenate(proc.gather(picked))))
            step.copy_out(sample, proc.block(drawn), ordered[proc.block(drawn)])
        with proc.superstep("count") as step:
            block, floors = step.copy_in(keys, mine), step.copy_in(sample, every_sth)
            step.compute()
            count = tally(by_floors(images(block), floors), p)
            step.copy_out(counts, own, count)
            largest = proc.reduce(count).max()
        if largest <= room * n / p + SLACK:
            break
    with proc.superstep("prefix sum") as step:
        part = step.copy_in(counts, row)
        step.compute()
        step.copy_out(counts, row, np.cumsum(part))
    with proc.superstep("move") as step:
        block, floors = step.copy_in(keys, mine), step.copy_in(sample, every_sth)
        ends, sizes = step.copy_in(counts, own), step.copy_in(counts, last)
        step.compute()
        mapped = images(block)
        parts = by_floors(mapped, floors)
        starts = np.cumsum(sizes) - sizes
        step.copy_out_by(deal, buckets, mapped, parts, starts + ends - tally(parts, p))
    with proc.superstep("sort") as step:
        place = slice(starts[proc.rank], starts[proc.rank] + sizes[proc.rank])
        bucket = step.copy_in(buckets, place)
        step.compute()
        bucket.sort()
        step.copy_out(keys, place, keys_of(bucket, keys.dtype))


def cost(n: int, p: int, *, oversampling: int = OVERSAMPLING, restarts: int = 0, largest: int | None = None) -> Costs:
    """Return what the supersteps of `sort_sample` access.

    Parameters
    ----------
    n, p : int
        Keys, processors.
    oversampling : int
    restarts : int
        How many samples were drawn in vain.
    largest : int, optional
        Keys in the largest bucket; by default ceil(n/p), which is ideal.

    Returns
    -------
    array of `COST`
        As in table 10 of the SMP cost study; its p for the splitters is right, with the floor of the first bucket.
        None for no keys.
    """
    if n == 0:
        return costs_of([])
    longest, drawn = longest_block(n, p), _drawn(n, p, oversampling)
    bucket = longest if largest is None else largest
    picks = min(oversampling, longest)
    tries = [("sample", picks, picks, 2 * drawn), ("count", longest + p, p, n + 2 * p * p)] * (1 + restarts)
    return costs_of(
        [
            *tries,
            ("prefix sum", p, p, 2 * p * p),
            ("move", longest + 3 * p, longest, 2 * n + 3 * p * p),
            ("sort", bucket, bucket, 2 * n),
        ]
    )


def _drawn(n: int, p: int, oversampling: int) -> int:
    """Size of the sample: blocks differ by one key, so either all have enough for it or all are drawn whole."""
    return min(n, oversampling * p)
