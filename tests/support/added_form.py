"""A program that ranks a list on processor 0 alone, written as a user would add it to the kernels."""

import numpy as np

import smp
from smp.kernels.costs import Costs, costs_of
from smp.kernels.lists.serial import rank_here


def rank_alone(
    proc: smp.Processor, successor: smp.GlobalArray, ranks: smp.GlobalArray, *, from_tail: bool = False
) -> None:
    with proc.superstep("alone") as step:
        mine = step.copy_in(successor, slice(None) if proc.rank == 0 else slice(0, 0))
        step.compute()
        found = rank_here(mine, from_tail) if proc.rank == 0 else np.zeros(0, ranks.dtype)
        step.copy_out(ranks, slice(0, len(mine)), found)


def cost(n: int, p: int) -> Costs:
    return costs_of([("alone", n, n, 2 * n)])
