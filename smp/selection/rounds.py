"""Times calls in rounds until it is clear which are fast. A round is one timing of every call, in random order.

    round 1    a 5.1   b 5.0   c 9.0
    round 2    b 8.3   c 9.1   a 8.4      a slow moment: it affects a and b, and their ratio stays the same
    round 3    a 5.0   b 4.9              c is far slower, and is not timed again

Two calls are compared by the median, over the rounds, of the ratio of their times.  Rounds are added, up to `MOST`,
while it is open whether another call is more than 2% faster than the chosen one, because the confidence interval of a
ratio lies on both sides of that limit.  So noise alone decides little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .._runtime.host.looking import Looker
from .timings import timed

TOLERANCE = 0.02
"""Fraction by which one call may take longer than another and still count as equally fast."""
FEWEST, MOST = 3, 21
SURE, FAR = 2, 1.3
"""After SURE rounds, a call that took at least FAR times the chosen call's time in every round is not timed again."""
Name = TypeVar("Name", bound=Hashable)


def in_rounds(
    calls: Mapping[Name, Callable[[], Any]], chosen: Name, rng: np.random.Generator, looker: Looker | None = None
) -> dict[Name, list[float]]:
    """Time calls in rounds until it is clear whether another call is more than 2% faster than the chosen one.

    Parameters
    ----------
    calls : mapping of name to callable
    chosen : name
    rng : numpy.random.Generator
        Generator for the order within the rounds.
    looker : Looker, optional
        Repeats a round during which the CPUs were not placed as they mostly are, as long as there is time for that.

    Returns
    -------
    dict of name to list of float
        Seconds of each call in each round; NaN in rounds in which the call was not timed.
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
    """Return one call's time divided by the other's, for each round in which both were timed."""
    return [a / b for a, b in zip(times[one], times[other], strict=False) if not math.isnan(a + b)]


def ratio(times: Mapping[Name, Sequence[float]], one: Name, other: Name) -> float:
    """Return the median of `ratios`."""
    return float(np.median(ratios(times, one, other)))


def interval(times: Mapping[Name, Sequence[float]], one: Name, other: Name) -> tuple[float, float]:
    """Return a confidence interval of `ratio` by order statistics: of 75% for 3 rounds, and of 92% or more from 5."""
    ordered = sorted(ratios(times, one, other))
    count = len(ordered)
    out = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
    return ordered[out], ordered[count - 1 - out]


def _open(times: Mapping[Name, Sequence[float]], chosen: Name, running: Iterable[Name]) -> bool:
    """Return True if the interval of some ratio contains 1 + `TOLERANCE`, and no interval lies completely above it."""
    ends = [interval(times, chosen, name) for name in running if name != chosen]
    return not any(low > 1 + TOLERANCE for low, _ in ends) and any(high > 1 + TOLERANCE for _, high in ends)
