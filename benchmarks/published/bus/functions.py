"""The cost functions of both families, fitted to an emulated machine as the study fitted them to its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from smp.machines import MachineFile
from smp.models.supersteps.access import fit_family
from smp.models.supersteps.cost import predict
from smp.models.supersteps.published import CACHE_WORDS
from smp.models.supersteps.suites import sizes

from .patterns import Family, measured

TIERS = (CACHE_WORDS, np.inf)
BEST = {"good": "HrHwM-c", "bad": "HrHwM"}
"""The most accurate function of each family, which gives its end of the interval."""
BAD_SIZES, QUICK_BAD = (5_000, 20_000, 50_000, 150_000, 300_000), (5_000, 20_000, 50_000)
QUICK_GOOD = (5_000, 50_000, 300_000, 550_000, 1_000_000, 1_900_000)


class Fitted:
    """Measured patterns on p processors, and the functions fitted to them.

    Attributes
    ----------
    suites : dict of str to dict of int to Measured
        For each family, its three suites.
    functions, errors : dict of str to list of dict
        For each family, the rows of `fit_family`.
    """

    def __init__(self, machine: MachineFile, p: int, quick: bool) -> None:
        self.p = p
        by_family: dict[Family, tuple[int, ...]] = {
            "good": QUICK_GOOD if quick else sizes("default"),
            "bad": QUICK_BAD if quick else BAD_SIZES,
        }
        self.suites = {family: measured(machine, family, p, chosen) for family, chosen in by_family.items()}
        fits = {family: fit_family(family, p, suites, TIERS) for family, suites in self.suites.items()}
        self.functions = {family: functions for family, (functions, _) in fits.items()}
        self.errors = {family: errors for family, (_, errors) in fits.items()}

    def function(self, family: Family, name: str, label: str) -> dict[str, Any]:
        """Return a fitted function."""
        found = (row for row in self.functions[family] if (row["name"], row["set"]) == (name, label))
        return next(found)

    def average(self, family: Family, name: str, label: str, suite: int) -> float:
        """Return the average error of a function on a suite that it was not fitted on."""
        key = (name, label, suite)
        errors = (row for row in self.errors[family] if (row["name"], row["set"], row["suite"]) == key)
        return float(next(errors)["average"])

    def predicted(self, family: Family, hr: Any, hw: Any, m: Any) -> Any:
        """Return the seconds that the best function of a family predicts, with the sets R0 and R1 for the good one."""
        if family == "bad":
            return predict(self.function("bad", BEST["bad"], "all"), hr, hw, m)
        small, large = (predict(self.function("good", BEST["good"], label), hr, hw, m, TIERS) for label in ("R0", "R1"))
        return np.where(np.maximum(hr, hw) <= CACHE_WORDS, small, large)
