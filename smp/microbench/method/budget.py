"""Share a budget of seconds out among sections, the most important first.

    usual seconds    access 78   synchronisation 10    latency 28    lists 30
    budget of 60     access 40   synchronisation 5.2   latency 14    lists are left out: a grid of sizes needs all 30

A section is complete with part of its usual time, down to `LEAST`.  A section that does not fit is left out, and a less
important section that fits takes its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

LEAST = {"quick": 1.0, "default": 0.5, "full": 0.5}
"""Smallest share of its usual time with which a section is complete, by mode; quick already has the fewest rounds."""


def share_out(
    usual: Mapping[str, float], budget_s: float, least: float, fixed: Collection[str] = ()
) -> tuple[list[str], float]:
    """Choose the sections that fit into a budget.

    Parameters
    ----------
    usual : mapping of str to float
        Seconds that each section usually takes, the most important section first.
    budget_s : float
    least : float
        Smallest share of its usual seconds that is enough for a section.
    fixed : collection of str
        Sections that need all of their usual seconds.

    Returns
    -------
    list of str
        Sections that fit, in that order.
    float
        Share of its usual seconds, at most 1, that each of them gets if it is not fixed.

    Examples
    --------
    >>> share_out({"access": 9, "latency": 5, "lists": 6}, 14, 0.5, ["lists"])
    (['access', 'latency', 'lists'], 0.5714285714285714)
    >>> share_out({"access": 9, "latency": 5, "lists": 6}, 11, 0.5, ["lists"])
    (['access', 'latency'], 0.7857142857142857)
    >>> share_out({"access": 9, "latency": 5, "lists": 6}, 4, 0.5, ["lists"])
    (['latency'], 0.8)
    """
    needed = {name: seconds * (1.0 if name in fixed else least) for name, seconds in usual.items()}
    fits: list[str] = []
    for name in usual:
        if sum(needed[each] for each in fits) + needed[name] <= budget_s:
            fits.append(name)
    scaled = sum(usual[name] for name in fits if name not in fixed)
    left = budget_s - sum(usual[name] for name in fits if name in fixed)
    return fits, min(1.0, left / scaled) if scaled else 1.0
