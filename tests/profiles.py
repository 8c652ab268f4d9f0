"""A profile to predict with: of this machine, with round coefficients, for p = 2."""

import math
from typing import Any

from smp.microbench.conditions import machine
from smp.microbench.hostclock import ClockRate
from smp.microbench.profile import Profile

MEASURED = "2026-01-01T00:00:00+00:00"


def function(family: str, name: str, part: str, **terms: float) -> dict[str, Any]:
    numbers = {"terms": list(terms), "coefficients": list(terms.values())}
    return {"family": family, "p": 2, "name": name, "set": part, "fit_suite": 1, **numbers}


def charging() -> Profile:
    """A profile of this machine with round coefficients."""
    functions = [
        function("good", "HrHwM-c", "all", L=0.0, ghr1=1e-9, ghw1=1e-9, gM=0.0),
        function("bad", "HrHwM", "all", L=0.0, ghr=10e-9, ghw=20e-9, gM=1e-9),
        function("random", "HrHwM", "all", L=0.0, ghr=15e-9, ghw=10e-9, gM=0.0),
    ]
    tiers = [{"name": "beyond", "words": None, "shared": True}]
    access = {"word_bytes": 8, "tiers": tiers, "private_words": None, "functions": functions, "validation": []}
    described = machine(rate=ClockRate(math.nan, None)) | {"clock_GHz": 1.0}
    return Profile({"format": "smp-profile", "version": 1, "created": MEASURED, "machine": described, "access": access})
