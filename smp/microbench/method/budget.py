"""How a budget of seconds is shared out among sections, the most important first.

    usual seconds    access 9   synchronisation 2   latency 5   lists 6
    budget of 13     access 7.3 synchronisation 1.6 latency 4.1               lists are left out

A section is whole with part of its usual time, down to `LEAST`; one with a grid of sizes needs all of it.  What does
not fit is left out, and a less important section that does takes its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

LEAST = 0.5
"""The smallest share of its usual time with which a section is whole."""


def share_out(usual: Mapping[str, float], budget_s: float, fixed: Collection[str] = ()) -> tuple[list[str], float]:
    """Choose what a budget is enough for.

    Parameters
    ----------
    usual : mapping of str to float
        What is to be measured, the most important first, and how many seconds it usually takes.
    budget_s : float
    fixed : collection of str
        Those that cannot be measured in less.

    Returns
    -------
    list of str
        What fits, in that order.
    float
        The share of their usual seconds that those get which are not fixed, at most 1.

    Examples
    --------
    >>> share_out({"access": 9, "latency": 5, "lists": 6}, 14, ["lists"])
    (['access', 'latency'], 1.0)
    >>> share_out({"access": 9, "latency": 5, "lists": 6}, 13, ["lists"])
    (['access', 'lists'], 0.7777777777777778)
    >>> share_out({"access": 9, "latency": 5, "lists": 6}, 4, ["lists"])
    (['latency'], 0.8)
    """
    least = {name: seconds * (1.0 if name in fixed else LEAST) for name, seconds in usual.items()}
    fits: list[str] = []
    for name in usual:
        if sum(least[each] for each in fits) + least[name] <= budget_s:
            fits.append(name)
    scaled = sum(usual[name] for name in fits if name not in fixed)
    left = budget_s - sum(usual[name] for name in fits if name in fixed)
    return fits, min(1.0, left / scaled) if scaled else 1.0
