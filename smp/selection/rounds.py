"""Calls compared in rounds: each round is one timing of every call, in random order, until it is clear which is fast.

    round 1    a 5.1   b 5.0   c 9.0
    round 2    b 8.3   c 9.1   a 8.4      a slow moment: it hits both, and their ratio stays
    round 3    a 5.0   b 4.9              c is left far behind, and is not timed again

Two calls are compared by the median, over the rounds, of the ratio of their times.  Rounds are added, to `MOST`, while
the interval of a ratio lies on both sides of 2%, so noise alone decides little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .._runtime.host.looking import Looker
from .timings import timed

TOLERANCE = 0.02
"""How much longer one may take than another and still be called as fast."""
FEWEST, MOST = 3, 21
SURE, FAR = 2, 1.3
"""From so many rounds on, a call that took so many times the chosen one's time in each of them is not timed again."""
Name = TypeVar("Name", bound=Hashable)


def in_rounds(
    calls: Mapping[Name, Callable[[], Any]], chosen: Name, rng: np.random.Generator, looker: Looker | None = None
) -> dict[Name, list[float]]:
    """Time calls in rounds until it is clear whether another is more than 2% faster than the chosen one.

    Parameters
    ----------
    calls : mapping of name to callable
    chosen : name
    rng : numpy.random.Generator
        Of the order within the rounds.
    looker : Looker, optional
        A round in which the CPUs did not lie as they mostly do is taken again, while there is time for that.

    Returns
    -------
    dict of name to list of float
        Seconds in each round; NaN in those that it was left out of.
    """
    times: dict[Name, list[float]] = {name: [] for name in calls}
    running, rounds = list(calls), 0

    def taken() -> dict[Name, float]:
        return {running[k]: timed(calls[running[k]]) for k in rng.permutation(len(running)).tolist()}

    while rounds < FEWEST or (rounds < MOST and _open(times, chosen, running)):
        for name, seconds in (looker.time(taken) if looker else taken()).items():
            times[name].append(seconds)
        rounds += 1
        if rounds >= SURE:
            running = [name for name in running if min(ratios(times, name, chosen)) < FAR]
    return {name: taken + [math.nan] * (rounds - len(taken)) for name, taken in times.items()}


def ratios(times: Mapping[Name, Sequence[float]], one: Name, other: Name) -> list[float]:
    """Return one's time over the other's in each round that both took part in."""
    return [a / b for a, b in zip(times[one], times[other], strict=False) if not math.isnan(a + b)]


def ratio(times: Mapping[Name, Sequence[float]], one: Name, other: Name) -> float:
    """Return the median of `ratios`."""
    return float(np.median(ratios(times, one, other)))


def interval(times: Mapping[Name, Sequence[float]], one: Name, other: Name) -> tuple[float, float]:
    """Return an interval of that median by order statistics: 75% confidence for 3 rounds, 92% and more from 5."""
    ordered = sorted(ratios(times, one, other))
    count = len(ordered)
    out = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
    return ordered[out], ordered[count - 1 - out]


def _open(times: Mapping[Name, Sequence[float]], chosen: Name, running: Iterable[Name]) -> bool:
    """Whether the interval of some ratio has 2% within, and none is clearly above."""
    ends = [interval(times, chosen, name) for name in running if name != chosen]
    return not any(low > 1 + TOLERANCE for low, _ in ends) and any(high > 1 + TOLERANCE for _, high in ends)
