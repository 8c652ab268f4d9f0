"""List scan: accumulate values along a list whose ranks are known, with any associative operator.

    order     each value is written to the place of its rank: memory order is then list order
    scan      each processor accumulates its block, then combines it with the totals of the blocks before
    deal      the results go back to the nodes

The scan takes three supersteps.  The NumPy ufunc itself combines the values, in list order, so the operator need not
be commutative.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from smp import GlobalArray, Processor

from ..costs import Costs, costs_of, longest_block


def scan_ranked(
    proc: Processor, ranks: GlobalArray, values: GlobalArray, scanned: GlobalArray, op: np.ufunc = np.add
) -> None:
    """Scan ``values`` along a list (SPMD program).

    Parameters
    ----------
    proc : Processor
    ranks : GlobalArray of shape (n,), integer
        Distance of each node from the head.
    values : GlobalArray of shape (n,)
        One value for each node.
    scanned : GlobalArray of shape (n,), of the dtype that ``op.accumulate(values)`` has
        Receives the inclusive scan: for each node, ``op`` over the values from the head to that node.
    op : ufunc
        Associative ufunc of two arguments.

    Notes
    -----
    Supersteps: ``order`` (2n reads, n writes), ``scan`` (n reads, n writes), ``deal`` (n reads, n writes).
    """
    n = len(ranks)
    block = proc.block(n)
    in_order, scanned_in_order = proc.empty(n, values.dtype), proc.empty(n, scanned.dtype)
    with proc.superstep("order") as step:
        mine = step.copy_in(ranks, block)
        here = step.copy_in(values, block)
        step.compute()
        step.copy_out(in_order, mine, here)
    with proc.superstep("scan") as step:
        run = step.copy_in(in_order, block)
        step.compute()
        run = op.accumulate(run)
        before = [last for last in proc.gather(run[-1:])[: proc.rank] if len(last)]
        if before and len(run):
            run = op(reduce(op, before), run)
        step.copy_out(scanned_in_order, block, run)
    with proc.superstep("deal") as step:
        dealt = step.copy_in(scanned_in_order, mine)
        step.compute()
        step.copy_out(scanned, block, dealt)


def cost(n: int, p: int) -> Costs:
    """Return what the supersteps of `scan_ranked` access for n nodes on p processors, as an array of `COST`."""
    longest = longest_block(n, p)
    return costs_of(
        [
            ("order", 2 * longest, longest, 3 * n),
            ("scan", longest, longest, 2 * n),
            ("deal", longest, longest, 2 * n),
        ]
    )
