"""Sample sort: keys go to buckets, whose bounds come from a random sample, and each bucket is sorted.

    sample       each processor draws some of its keys; all of them in order are the sample
    count        every s-th key of the sample is the floor of a bucket; each processor counts its keys in each bucket:
                 counts[bucket, processor]
    prefix sum   processor b sums up the counts of bucket b, so that each processor knows where its keys go in it
    move         each processor puts its keys into the buckets, which lie one after another
    sort         processor b sorts bucket b

With s keys of each processor, a bucket has n/p keys, give or take about 1/sqrt(s) of them.  If a bucket would still
have far too many, another sample is drawn.

Sources: the SMP cost study, section 5.1 and table 10; the thesis on high-level libraries, section 4.5.2.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor

from ..costs import Costs, costs_of, longest_block
from .distribution import by_floors, deal_out, tally
from .keys import check_keys, check_number, images, keys_of, unsigned

OVERSAMPLING = 100
TRIES = 8
"""Number of samples to draw before the buckets are taken as they are."""
SLACK = 16
"""Number of keys that a bucket may hold beyond its room, for the sake of very short arrays."""


def sort_sample(
    proc: Processor, keys: GlobalArray, *, oversampling: int = OVERSAMPLING, seed: int = 0, room: float = 2.0
) -> None:
    """Sort keys in place by sample sort (SPMD program).

    Parameters
    ----------
    proc : Processor
    keys : GlobalArray of shape (n,), int32, int64, uint32, uint64, float32 or float64
    oversampling : int
        Number of keys that each processor draws without replacement; all of its block if that has fewer.
    seed : int
        Seed of the draws, from 0.
    room : float
        Largest number of keys that a bucket should hold, as a multiple of n/p (plus 16 keys); at least 1.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors, with the keys unchanged, for unsuitable arrays or numbers out of range.

    Notes
    -----
    Five supersteps, ``sample``, ``count``, ``prefix sum``, ``move`` and ``sort``: see `cost`.  As long as a bucket has
    more keys than its room, the first two are repeated with an independent sample, up to 8 times in all.  After that,
    the buckets are taken as they are, since nothing is lost but balance.  Equal keys may go to different buckets, so
    that even keys that are all equal are shared out evenly (see `smp.kernels.sorting.distribution.by_floors`).

    The only local data kept from one superstep to the next is the position of the buckets; keys and floors are read
    again.  One collective puts the sample in order, and another finds out if a bucket is too large.  A second array
    holds the images of all keys (see `smp.kernels.sorting.keys`).
    """
    n = check_keys(keys)
    s, start = check_number("oversampling", oversampling, 1), check_number("seed", seed, 0)
    if not room >= 1:
        raise ValueError(f"room must be at least 1, not {room}, because the largest bucket holds n/p keys or more")
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
        deal_out(step, buckets, mapped, parts, starts + ends - tally(parts, p))
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
        Numbers of keys and of processors.
    oversampling : int
        As for `sort_sample`.
    restarts : int
        Number of samples that were drawn in vain.
    largest : int, optional
        Number of keys in the largest bucket; by default ceil(n/p), which is ideal.

    Returns
    -------
    array of `COST`
        Counts as in table 10 of the SMP cost study.  The table counts p splitters, which is right, because the floor of
        the first bucket is one of them.  The array is empty if there are no keys.
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
    """Return the size of the sample; blocks differ by one key, so all have enough keys or all are drawn whole."""
    return min(n, oversampling * p)
