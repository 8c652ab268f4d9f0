"""Radix sort: a stable counting sort by every digit, from the lowest to the highest.

    count        each processor counts its keys of each digit value       counts[digit, processor]
    prefix sum   each sums up an even share of the counts in that order, regardless of digit and processor
    offsets      each adds the sum of all shares before its own: a count is now the place of the first counted key
    move         each puts its keys there, one after another

Two arrays change roles after every digit.  Of the digit sizes that take equally many rounds, the smallest is used.

Sources: the SMP cost study, section 5.1 and table 9; the thesis on high-level libraries, sections 4.5.1 and 5.3.1.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor

from ..costs import Costs, costs_of, longest_block
from .distribution import by_digit, deal_out, tally
from .keys import Images, check_keys, check_number, images, unsigned

DIGIT = 6
WIDEST = 16
"""Largest number of bits of a digit; each processor has one count for every value of the digit."""


def sort_radix(proc: Processor, keys: GlobalArray, *, digit: int = DIGIT, bits: int | None = None) -> None:
    """Sort keys in place by radix sort (SPMD program).

    Parameters
    ----------
    proc : Processor
    keys : GlobalArray of shape (n,), int32, int64, uint32, uint64, float32 or float64
    digit : int
        Largest number of bits to sort by in a round, 1 to 16.
    bits : int, optional
        Number of bits to sort by, if all keys are known to be integers from 0 to 2**bits - 1.  Fewer bits take fewer
        rounds.  By default the width of the keys.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors, with the keys unchanged: the array is unsuitable, the digit or the number of bits is
        out of range, or keys do not fit into ``bits``.

    Notes
    -----
    There are ceil(bits / digit) rounds of four supersteps, ``count``, ``prefix sum``, ``offsets`` and ``move``.  If the
    number of rounds is odd, a last superstep, ``home``, copies the keys back.  See `cost`.  The only local data kept
    from one superstep to the next is the sum of a share; a collective gives the sum of the shares before it.  The
    program needs a second array of n keys.

    -0.0 comes before 0.0, and every NaN last: see `smp.kernels.sorting.keys`.
    """
    n = check_keys(keys)
    whole = 8 * keys.dtype.itemsize
    wide = whole if bits is None else check_number("bits", bits, 1, whole)
    if keys.dtype.kind == "f" and wide < whole:
        raise ValueError(
            f"bits={bits} is only for integers of 0 or more; floats are sorted by all their {whole} bits, so leave "
            "bits out"
        )
    rounds, width = _rounds(wide, digit)
    if n == 0:
        return
    kind = keys.dtype if wide == whole else unsigned(keys.dtype)
    values, mine = 1 << width, proc.block(n)
    source, target = keys, proc.empty(n, keys.dtype)
    counts = proc.empty(values * proc.size, np.int64)  # in (digit, processor) order
    block = np.empty(mine.stop - mine.start, keys.dtype)
    own, share = slice(proc.rank, None, proc.size), slice(proc.rank * values, (proc.rank + 1) * values)
    for shift in range(0, rounds * width, width):
        with proc.superstep("count") as step:
            step.copy_in(source, mine, out=block)
            step.compute()
            mapped = images(block.view(kind))
            if shift == 0 and wide < whole:
                _check_bits(proc, mapped, wide)
            step.copy_out(counts, own, tally(by_digit(mapped, shift, width), values))
        with proc.superstep("prefix sum") as step:
            part = step.copy_in(counts, share)
            step.compute()
            total = part.sum()
            step.copy_out(counts, share, np.cumsum(part) - part)
        with proc.superstep("offsets") as step:
            part = step.copy_in(counts, share)
            step.compute()
            step.copy_out(counts, share, part + (proc.scan(total) - total))
        with proc.superstep("move") as step:
            step.copy_in(source, mine, out=block)
            places = step.copy_in(counts, own)
            step.compute()
            parts = by_digit(images(block.view(kind)), shift, width)
            deal_out(step, target, block, parts, places)
        source, target = target, source
    if source is not keys:
        with proc.superstep("home") as step:
            step.copy_in(source, mine, out=block)
            step.compute()
            step.copy_out(keys, mine, block)


def cost(n: int, p: int, *, bits: int = 32, digit: int = DIGIT) -> Costs:
    """Return what the supersteps of `sort_radix` access.

    Parameters
    ----------
    n, p : int
        Numbers of keys and of processors.
    bits : int
        Width of the keys, or the ``bits`` given to `sort_radix`.
    digit : int
        As for `sort_radix`.

    Returns
    -------
    array of `COST`
        Counts as in table 9 of the SMP cost study, with 2**ceil(bits / rounds) in place of its 64.  The array is empty
        if there are no keys.
    """
    rounds, width = _rounds(bits, digit)
    if n == 0:
        return costs_of([])
    longest, values = longest_block(n, p), 1 << width
    each = [
        ("count", longest, values, n + values * p),
        ("prefix sum", values, values, 2 * values * p),
        ("offsets", values, values, 2 * values * p),
        ("move", longest + values, longest, 2 * n + values * p),
    ]
    return costs_of(each * rounds + [("home", longest, longest, 2 * n)] * (rounds % 2))


def _rounds(bits: int, digit: int) -> tuple[int, int]:
    """Return the number of rounds, and the width of the digit of each."""
    rounds = -(-check_number("bits", bits, 1) // check_number("digit", digit, 1, WIDEST))
    return rounds, -(-bits // rounds)


def _check_bits(proc: Processor, mapped: Images, bits: int) -> None:
    """Raise ValueError on all processors if keys are too wide."""
    outside = proc.reduce(np.count_nonzero(mapped >> mapped.dtype.type(bits)))
    if outside:
        raise ValueError(
            f"{outside:,} {'key is' if outside == 1 else 'keys are'} not from 0 to 2**{bits} - 1: give more bits, or "
            "leave bits out to sort any keys"
        )
