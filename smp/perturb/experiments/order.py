"""Order in which trials are run: random, fresh for each replication, in blocks against drift.

    replication 1          replication 2
    block 0   7 1 4 2      block 1   6 5 0 3
    block 1   3 0 6 5      block 0   1 7 2 4

All trials of a block are run, in random order, before the next block begins. A machine that becomes slower adds to
whole blocks, and the analysis removes that from each block.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from smp.models._types import IntArray

from ..designs.design import Design

_CANDIDATES = 16  # number of contrasts that blocks are chosen from


class Schedule(NamedTuple):
    """Trials in the order in which they are run; three arrays (replications * trials,) int64."""

    replication: IntArray
    block: IntArray
    """Block of the trial within its replication."""
    trial: IntArray
    """Row of the design."""


def schedule(trials: int, replications: int = 1, seed: int = 0, blocks: IntArray | None = None) -> Schedule:
    """Return a random order of the trials.

    Parameters
    ----------
    trials : int
    replications : int
        Number of replications, each in a fresh order.
    seed : int
    blocks : ndarray (trials,) int64, optional
        The block of each trial, from `blocked` or `Design.blocks`. Blocks come in random order, too.

    Examples
    --------
    >>> order = schedule(4, replications=2, seed=1)
    >>> sorted(order.trial[:4].tolist()), sorted(order.trial[4:].tolist())
    ([0, 1, 2, 3], [0, 1, 2, 3])
    """
    if trials < 1 or replications < 1:
        raise ValueError(f"{trials} trials in {replications} replications: there must be at least one of each")
    block = np.zeros(trials, np.int64) if blocks is None else np.asarray(blocks, np.int64)
    if block.shape != (trials,):
        raise ValueError(f"blocks of shape {block.shape} do not fit {trials} trials: give one block for each trial")
    rng = np.random.default_rng(seed)
    orders = []
    for _ in range(replications):
        place = rng.permutation(block.max() + 1)[block]  # the position of each trial's block in the run order
        orders.append(np.lexsort((rng.random(trials), place)))
    trial = np.concatenate(orders)
    return Schedule(np.repeat(np.arange(replications), trials), block[trial], trial)


def blocked(design: Design, count: int) -> tuple[IntArray, tuple[int, ...]]:
    """Divide the trials of a regular design into blocks that are run one after another.

    Differences between blocks are confounded with one contrast, or several. Contrasts are chosen that hold no main
    effect and, if possible, no two-factor interaction.

    Parameters
    ----------
    design : Design
    count : int
        Number of blocks: 2, 4, 8, ..., a power of two, at most half the number of trials.

    Returns
    -------
    block : ndarray (trials,) int64
    contrasts : tuple of int
        Contrasts that the blocks take. `analyse`, given the blocks, does not treat them as effects.

    Raises
    ------
    ValueError
        For another count, a design that is not regular, or if main effects would be lost.

    Examples
    --------
    >>> from smp.perturb.designs.by_name import fractional
    >>> design = fractional("2^3")
    >>> block, (contrast,) = blocked(design, 2)
    >>> block.tolist(), design.sources()[contrast - 1][0]
    ([0, 1, 1, 0, 1, 0, 0, 1], 'abc')
    """
    bits = count.bit_length() - 1
    if count < 2 or count != 1 << bits or 2 * count > design.trials:
        raise ValueError(
            f"{design.trials} trials cannot be divided into {count} blocks: take 2, 4, ... up to half the trials"
        )
    if not design.regular:
        raise ValueError(
            f"{design.name} has no contrasts of interactions for the blocks: make each replication a block"
        )
    sets = design.alias_sets(3)
    sizes = {contrast: len(effects[0][0]) for contrast, effects in sets.items()}
    best: tuple[list[int], tuple[int, ...], tuple[int, ...]] | None = None
    largest = sorted(range(1, design.trials), key=lambda contrast: (-sizes.get(contrast, 4), contrast))[:_CANDIDATES]
    for basis in combinations(largest, bits):
        group = [0]
        for contrast in basis:
            group += [contrast ^ other for other in group]
        taken = tuple(sorted(set(group) - {0}))
        lost = sorted(sizes.get(contrast, 4) for contrast in taken)
        if len(taken) == count - 1 and (best is None or lost > best[0]):
            best = (lost, basis, taken)
    if best is None or best[0][0] < 2:
        raise ValueError(f"{count} blocks of {design.name} would hide a main effect: take fewer blocks")
    sides = design.matrix[:, best[1]] > 0
    block = sides @ (1 << np.arange(bits))
    order = {int(place): i for i, place in enumerate(dict.fromkeys(block.tolist()))}
    return np.array([order[place] for place in block.tolist()]), best[2]
