"""Measure points in rounds of short visits, in random order: the method that the microbenchmarks share.

A *point* is a compiled loop that does a given amount of work. It runs in windows of 0.2 to 2 ms. Each window is
stamped by the wall clock and by the thread's CPU time, and judged by the readings taken around it (`windows`).
A few windows make a *visit* (`visit`), and all clean windows make the point's statistics (`result`):

    round 1    visit C   visit A   visit B        every round visits all points in a new random order,
    round 2    visit A   visit B   visit C        so that no slow moment of the computer falls on one
    round 3    visit B   visit C   visit A        point alone; further rounds while there is time left

Points of two or more processors take their windows themselves: see `overlaps`.
"""

from collections.abc import Sequence

import numpy as np

from .others import Others
from .plan import Tick
from .result import Result, summarise, with_others_named
from .visit import Clock, Point, cost_from_outside, take_visit
from .windows import LIMITS, Flag, Limits, MeasurementError, Windows, flags

__all__ = ["Clock", "Flag", "Limits", "MeasurementError", "Point", "Result", "measure_points", "schedule"]


def schedule(points: Sequence[object], rounds: int, rng: np.random.Generator) -> list[list[int]]:
    """Return for each round the indices of all points in random order.

    Examples
    --------
    >>> sorted(schedule("abc", 2, np.random.default_rng(1))[1])
    [0, 1, 2]
    """
    return [rng.permutation(len(points)).tolist() for _ in range(rounds)]


def measure_points(
    points: Sequence[Point],
    budget_s: float,
    rng: np.random.Generator,
    clock: Clock,
    rounds: int = 3,
    tick: Tick | None = None,
    limits: Limits = LIMITS,
    others: Others | None = None,
) -> list[Result]:
    """Measure points in random order, round by round, while there is time.

    Parameters
    ----------
    points : sequence of Point
    budget_s : float
        Seconds to spend; exceeded if the requested rounds take longer.
    rng : numpy.random.Generator
        Orders the visits.
    clock : Clock
    rounds : int
        Smallest number of rounds.
    tick : callable, optional
        Called with the progress after each visit.
    limits : Limits
    others : Others, optional
        Gives the share of the CPUs that other processes took in each round. The rest becomes the ``overlap`` of the
        round's windows, for points that are `beyond`.

    Returns
    -------
    list of Result
        Results in the order of `points`, in ns per operation.

    Raises
    ------
    MeasurementError
        When the budget, the number of rounds or a point's operations are not above zero, when the budget is infinite,
        or when a point does no work.

    Notes
    -----
    Each visit takes 4 to 32 windows, as many as fit into its share of the budget.
    """
    if not 0 < budget_s < np.inf or rounds < 1:
        raise MeasurementError(f"a budget of {budget_s} s and {rounds} rounds: both must be above zero, and finite")
    for point in points:
        if point.operations < 1:
            raise MeasurementError(f"point {point.key!r} has {point.operations} operations, but needs one or more")
    if not points:
        return []
    start, budget_ns = clock.wall(), budget_s * 1e9
    outside_ns = cost_from_outside(clock)
    share_ns = budget_ns / (rounds * len(points))
    visits: list[list[Windows]] = [[] for _ in points]
    repeats = [1] * len(points)

    def elapsed() -> float:
        return clock.wall() - start

    done, note = 0, others.note if others else lambda: None
    note()
    while done < rounds or elapsed() * (done + 1) / done <= budget_ns:
        for place, index in enumerate(schedule(points, 1, rng)[0], 1):
            windows, repeats[index] = take_visit(points[index], clock, repeats[index], share_ns, outside_ns)
            windows["round"] = done
            visits[index].append(windows)
            if tick is not None:
                planned = (done + place / len(points)) / rounds
                tick(min(planned, elapsed() / budget_ns, 1.0), f"round {done + 1}: {points[index].key}")
        note()
        done += 1
    if tick is not None:
        tick(1.0, f"{done} rounds")

    for turn, share in enumerate(others.shares() if others else ()):
        for point, of_point in zip(points, visits, strict=True):
            if point.beyond:
                of_point[turn]["overlap"] = 1.0 - share
    measured = [np.concatenate(of_point) for of_point in visits]
    rates = np.concatenate([windows[name] for windows in measured for name in ("before_GHz", "after_GHz")])
    reference_GHz = float(np.median(rates[np.isfinite(rates)])) if np.isfinite(rates).any() else np.nan
    for windows in measured:
        windows["flags"] = flags(windows, reference_GHz, limits)
    return [
        with_others_named(summarise(point.key, windows, point.quote, point.ignore, limits), limits)
        for point, windows in zip(points, measured, strict=True)
    ]
