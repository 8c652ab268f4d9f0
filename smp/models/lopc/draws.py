"""The random numbers of a simulated machine: for each thread and purpose a stream of its own.

So two settings that are simulated from one seed meet the same luck: the i-th cycle of a thread has the same work, the
same handlers and the same turns of its route in both (common random numbers), and their difference is theirs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from enum import IntEnum
from itertools import repeat

import numpy as np

from .._types import FloatArray

BLOCK = 512
"""Numbers drawn at once."""
EXACT = 1e-9
"""A sum of visits is taken as a whole number where it is one to so much."""


class Purpose(IntEnum):
    """What a stream of random numbers is for."""

    WORK = 0
    HANDLERS = 1
    HOPS = 2
    ROUTE = 3


def times(seed: int, thread: int, purpose: Purpose, variation: float) -> Callable[[], float]:
    """Return what draws times of mean 1 and the given C²: constant for 0, exponential for 1, else of a gamma law."""
    if variation == 0.0:
        return repeat(1.0).__next__
    generator = _generator(seed, thread, purpose)
    shape = 1.0 / variation
    return _drawn(lambda: generator.gamma(shape, variation, BLOCK).tolist()).__next__


class Route:
    """Where a thread's requests go.

    Attributes
    ----------
    hops : callable
        Returns how many hops the next request makes.
    node : callable
        Returns the node of the next hop.

    Parameters
    ----------
    visits : ndarray (P,)
        The thread's row of V.
    seed, thread : int
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
