"""Random numbers of a simulated machine, with a separate stream for each thread and purpose.

So two settings that are simulated from the same seed see common random numbers: the i-th cycle of a thread draws the
same work, the same handlers and the same route in both. A difference in the results then comes from the settings.

All times are multiples of 2^-30. So if the mean is a multiple of 2^30 units, each time is a whole number of units, and
a machine that counts whole units can repeat a simulation exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from enum import IntEnum
from itertools import repeat

import numpy as np

from .._types import FloatArray

BLOCK = 512
"""Count of random numbers drawn at once."""
GRID = 1 << 30
"""Number of multiples of the smallest time in a mean time of 1."""
EXACT = 1e-9
"""Relative distance up to which a sum of visits is taken as a whole number."""


class Purpose(IntEnum):
    """Purpose of a stream of random numbers."""

    WORK = 0
    HANDLERS = 1
    HOPS = 2
    ROUTE = 3


def times(seed: int, thread: int, purpose: Purpose, variation: float) -> Callable[[], float]:
    """Return a function that draws times of mean 1 and squared coefficient of variation C².

    The times are constant for C² = 0, exponential for 1, and otherwise follow a gamma distribution. They are rounded up
    to the next multiple of 1 / `GRID`, so that none of them is 0.
    """
    if variation == 0.0:
        return repeat(1.0).__next__
    generator = _generator(seed, thread, purpose)
    shape = 1.0 / variation
    return _drawn(lambda: (np.ceil(generator.gamma(shape, variation, BLOCK) * GRID) / GRID).tolist()).__next__


class Route:
    """Route of a thread's requests through the nodes.

    Attributes
    ----------
    hops : callable
        Returns the number of hops that the next request makes.
    node : callable
        Returns the node of the next hop.

    Parameters
    ----------
    visits : ndarray (P,)
        The thread's row of V: the average visits of its request at each node.
    seed, thread : int
        Seed of the simulation and number of the thread.
    """

    def __init__(self, visits: FloatArray, seed: int, thread: int) -> None:
        total = float(visits.sum())
        whole = round(total) if abs(total - round(total)) <= EXACT * total else int(total)
        part, reached = total - whole, np.flatnonzero(visits).tolist()
        self.hops: Callable[[], int] = repeat(whole).__next__
        self.node: Callable[[], int] = repeat(reached[0] if reached else thread).__next__
        if part > EXACT * total:
            more = _uniform(seed, thread, Purpose.HOPS)
            self.hops = lambda: whole + (more() < part)
        if len(reached) > 1:
            up_to = (np.cumsum(visits[reached]) / total)[:-1].tolist()
            turn = _uniform(seed, thread, Purpose.ROUTE)
            self.node = lambda: reached[bisect_right(up_to, turn())]


def _uniform(seed: int, thread: int, purpose: Purpose) -> Callable[[], float]:
    generator = _generator(seed, thread, purpose)
    return _drawn(lambda: generator.random(BLOCK).tolist()).__next__


def _generator(seed: int, thread: int, purpose: Purpose) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(thread, purpose))))


def _drawn(block: Callable[[], list[float]]) -> Iterator[float]:
    while True:
        yield from block()
