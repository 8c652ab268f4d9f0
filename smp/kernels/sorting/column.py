"""Column sort: the columns of a matrix are sorted four times, with three fixed permutations in between.

    init                  each processor fills a column, contiguous in memory, with its share of the keys and padding
    sort/transpose        sort; read the keys column after column, write them row after row
    sort/reverse          sort; read the keys row after row, write them column after column
    sort                  sort: now no key is further than half a column from its place
    shift/sort/unshift    sort where two halves meet                    columns    000000000│111111111│222222222
                                                                        sorted     └─0─┘└───1────┘└───2────┘└0─┘

For columns of length r, it needs p | r and r >= 2 (p - 1)^2.  Its supersteps do not depend on the keys.

Sources: Leighton, Tight bounds on the complexity of parallel sorting; the SMP cost study, section 5.1 and table 11.
"""

from __future__ import annotations

import numpy as np

from smp import GlobalArray, Processor

from ..costs import Costs, costs_of, longest_block
from .keys import check_keys, images, keys_of, unsigned


def sort_column(proc: Processor, keys: GlobalArray) -> None:
    """Sort keys in place by Leighton's column sort (SPMD program).

    Parameters
    ----------
    proc : Processor
    keys : GlobalArray of shape (n,), int32, int64, uint32, uint64, float32 or float64

    Raises
    ------
    TypeError, ValueError
        Raised on all processors, with the keys unchanged, for unsuitable arrays.

    Notes
    -----
    Five supersteps, ``init``, ``sort/transpose``, ``sort/reverse``, ``sort`` and ``shift/sort/unshift``, work on the
    images of the keys (see `smp.kernels.sorting.keys`).  Columns are padded with the largest image up to
    `column_length`.  So short arrays on many processors take more than they should: at least 2 p (p - 1)^2 elements.
    See `cost`.  The program needs two arrays of the padded length.
    """
    n = check_keys(keys)
    if n == 0:
        return
    p, rank, r = proc.size, proc.rank, column_length(n, proc.size)
    kind = unsigned(keys.dtype)
    columns = proc.empty(p * r, kind)  # one after another
    runs = proc.empty((p, p, r // p), kind)  # [receiving column, sending column]
    own, mine = slice(rank * r, (rank + 1) * r), proc.block(n)
    with proc.superstep("init") as step:
        block = step.copy_in(keys, mine)
        step.compute()
        column = np.full(r, np.iinfo(kind).max, kind)
        column[: len(block)] = images(block)
        step.copy_out(columns, own, column)
    with proc.superstep("sort/transpose") as step:
        step.copy_in(columns, own, out=column)
        step.compute()
        column.sort()
        step.copy_out(runs, (slice(None), rank), column.reshape(-1, p).T)
    with proc.superstep("sort/reverse") as step:
        step.copy_in(runs, rank, out=column.reshape(p, -1))
        step.compute()
        column.sort()
        step.copy_out(columns, slice(rank, None, p), column)
    with proc.superstep("sort") as step:
        step.copy_in(columns, own, out=column)
        step.compute()
        column.sort()
        step.copy_out(columns, own, column)
    with proc.superstep("shift/sort/unshift") as step:
        windows = [(part, step.copy_in(columns, part)) for part in _windows(rank, p, r)]
        step.compute()
        for part, window in windows:
            window.sort()
            stop = max(part.start, min(part.stop, n))  # only padding follows the last key
            step.copy_out(keys, slice(part.start, stop), keys_of(window[: stop - part.start], keys.dtype))


def column_length(n: int, p: int) -> int:
    """Return the length of the columns: the least multiple of p that is at least n/p and at least 2 (p - 1)^2.

    Examples
    --------
    >>> from smp.kernels.sorting.column import column_length
    >>> column_length(960_000, 8), column_length(960_000, 12), column_length(10, 3)
    (120000, 80004, 9)
    """
    return p * -(-max(longest_block(n, p), 2 * (p - 1) ** 2) // p)


def cost(n: int, p: int) -> Costs:
    """Return what the supersteps of `sort_column` access.

    Parameters
    ----------
    n, p : int
        Numbers of keys and of processors.

    Returns
    -------
    array of `COST`
        Counts as in table 11 of the SMP cost study if the columns need no padding: p^2 divides n, and
        2 p (p - 1)^2 <= n.  Otherwise all accesses except for the first reads and the last writes are of padded
        columns.  The array is empty if there are no keys.
    """
    if n == 0:
        return costs_of([])
    r = column_length(n, p)
    full = p * r
    written = [sum(max(0, min(w.stop, n) - w.start) for w in _windows(rank, p, r)) for rank in range(min(p, 2))]
    return costs_of(
        [
            ("init", longest_block(n, p), r, n + full),
            *[(label, r, r, 2 * full) for label in ("sort/transpose", "sort/reverse", "sort")],
            ("shift/sort/unshift", r, max(written), full + n),
        ]
    )


def _windows(rank: int, p: int, r: int) -> list[slice]:
    """Return the slices of a processor's part of the matrix shifted by half a column.

    Processor 0 has both ends of the matrix, each of which is already in order.
    """
    half = r // 2
    if rank == 0:
        return [slice(0, r - half), slice(p * r - half, p * r)]
    return [slice(rank * r - half, (rank + 1) * r - half)]
