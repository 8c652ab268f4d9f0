"""Validation of the fitted cost functions on the suites kept apart, on which they were not fitted.

turns of the forms, or validation rows  ->  an average error for each family, p and suite
an average above `LIMIT`                ->  the section "access" is not valid, and says which function is off
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ProfileError


class Profile(Protocol):
    """The part of a profile that this module reads."""

    data: dict[str, Any]

    @property
    def access(self) -> dict[str, Any]: ...
    @property
    def processors(self) -> list[int]: ...
    def neighbours(self, p: int) -> dict[int, float]: ...
    def functions(
        self, family: str, p: int, h: NDArray[np.float64]
    ) -> Iterable[tuple[dict[str, Any], NDArray[np.float64]]]: ...


LIMIT = 0.25
"""The largest average error, relative to the measured times, with which cost functions are valid."""
ALL = "all"
FAMILIES = ("good", "bad", "random")


def errors_apart(profile: Profile, family: str, p: int) -> dict[int, float]:
    """Return the average error of the functions that predict a family, for each suite that was kept apart.

    Parameters
    ----------
    profile : Profile
        A profile with fitted cost functions.
    family : {"good", "bad", "random"}
    p : int
        Number of processors, one of those measured.

    Returns
    -------
    dict of int to float
        Average relative error over all patterns of each suite. Empty if the family was not fitted for this p, or if no
        suite was kept apart.
    """
    found: dict[int, list[tuple[float, int]]] = {}
    for row in _checks(profile, family, p):
        found.setdefault(row["suite"], []).append((row["average"], row["count"]))
    return {
        suite: sum(average * count for average, count in parts) / sum(count for _, count in parts)
        for suite, parts in sorted(found.items())
    }


def families_off(profile: Profile, p: int) -> list[str]:
    """Return the families whose functions for p do not hold on the suites that were kept apart from the fit."""
    nodes = profile.data.get("nodes")
    if nodes:
        return [row["family"] for row in nodes["functions"] if row["average"] > LIMIT]
    return [
        family
        for family in FAMILIES
        if any(max(errors_apart(profile, family, q).values(), default=0.0) > LIMIT for q in profile.neighbours(p))
    ]


def _checks(profile: Profile, family: str, p: int) -> list[dict[str, Any]]:
    """Return the rows of errors of the functions that predict a family, on data that neither fitted nor chose them."""
    turns = [row for row in profile.access.get("turns") or [] if (row["family"], row["p"]) == (family, p)]
    if turns:
        return turns
    chosen = {(family, p, part, name) for part, name in _chosen(profile, family, p)}
    rows = profile.access.get("validation") or []
    return [row for row in rows if (row["family"], row["p"], row["set"], row["name"]) in chosen]


def reasons(profile: Profile) -> list[str]:
    """Return a clause for each family and p whose functions are off by more than `LIMIT` on suites kept apart."""
    said = []
    for p in profile.processors:
        for family in FAMILIES:
            off = {suite: each for suite, each in errors_apart(profile, family, p).items() if each > LIMIT}
            if off:
                names = " and ".join(sorted({name for _, name in _chosen(profile, family, p)}))
                how = " and ".join(f"by {each:.0%} on suite {suite}" for suite, each in off.items())
                said.append(
                    f"p = {p}, {family}: {names} is off {how}, which it was not fitted on (valid to {LIMIT:.0%})"
                )
    return said


def judge(profile: Profile) -> None:
    """Mark a profile's section "access" as not valid if its functions are off, whichever version of smp wrote it."""
    access = profile.data.get("access") or {}
    if not access.get("functions"):
        return
    said = reasons(profile)
    if said:
        why = access.get("why") or []
        profile.data["access"] = access | {"valid": False, "why": [*(s for s in said if s not in why), *why]}


def _chosen(profile: Profile, family: str, p: int) -> set[tuple[str, str]]:
    """Return the set (such as "R0") and the name of each function that predicts a family, at any size."""
    try:
        functions = profile.functions(family, p, np.array([0.0, math.inf]))
        return {(function.get("set", ALL), function["name"]) for function, share in functions if share.any()}
    except ProfileError:
        return set()
