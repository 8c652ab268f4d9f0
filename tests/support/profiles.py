"""Profiles with round coefficients, from which tests predict."""

import json
import math
from typing import Any

from smp._computer.description import hardware, machine
from smp.microbench.method.clocks import ClockRate
from smp.profiles.profile import Profile

from .machines import ROOT

MEASURED = "2026-01-01T00:00:00+00:00"
TIERS = [{"name": "L2", "words": 1000, "shared": False}, {"name": "beyond", "words": None, "shared": True}]


def function(family: str, name: str, part: str, **terms: float) -> dict[str, Any]:
    numbers = {"terms": list(terms), "coefficients": list(terms.values())}
    return {"family": family, "p": 2, "name": name, "set": part, "fit_suite": 1, **numbers}


def charging() -> Profile:
    """Return a profile of this machine with round coefficients for p = 2."""
    functions = [
        function("good", "HrHwM-c", "all", L=0.0, ghr1=1e-9, ghw1=1e-9, gM=0.0),
        function("bad", "HrHwM", "all", L=0.0, ghr=10e-9, ghw=20e-9, gM=1e-9),
        function("random", "HrHwM", "all", L=0.0, ghr=15e-9, ghw=10e-9, gM=0.0),
    ]
    tiers = [{"name": "beyond", "words": None, "shared": True}]
    access = {"word_bytes": 8, "tiers": tiers, "private_words": None, "functions": functions, "validation": []}
    described = machine(rate=ClockRate(math.nan, None)) | {"clock_GHz": 1.0}
    return Profile({"format": "smp-profile", "version": 1, "created": MEASURED, "machine": described, "access": access})


def whole() -> Profile:
    """Return a profile that was measured on another computer, as one of this machine."""
    data = json.loads((ROOT / "tests/data/profile/quick.json").read_text(encoding="utf-8"))
    return Profile(data | {"machine": data["machine"] | hardware() | {"kind": "host"}})


def _of_part(family: str, p: int, name: str, part: str, terms: dict[str, float]) -> dict[str, Any]:
    return {
        "family": family,
        "p": p,
        "name": name,
        "set": part,
        "fit_suite": 1,
        "terms": list(terms),
        "coefficients": list(terms.values()),
    }


def document() -> dict[str, Any]:
    """Return the data of a profile of this machine for p = 2 and 4, with round coefficients."""
    functions = []
    for p in (2, 4):
        scale = p * 1e-9
        functions += [
            _of_part("good", p, "HrHwM-c", "R0", {"L": 1e-6, "ghr1": scale, "ghw1": scale, "gM": 0.0}),
            _of_part(
                "good",
                p,
                "HrHwM-c",
                "R1",
                {"L": 0.0, "ghr1": scale, "ghw1": scale, "ghr2": 2 * scale, "ghw2": 2 * scale},
            ),
            _of_part("good", p, "HrHwM-c", "all", {"L": 5.0, "ghr1": scale, "ghw1": scale, "gM": 0.0}),
            _of_part("bad", p, "HrHwM", "all", {"L": 0.0, "ghr": 10 * scale, "ghw": 20 * scale, "gM": scale}),
            _of_part("random", p, "HrHwM", "all", {"L": 0.0, "ghr": 5 * scale, "ghw": 50 * scale, "gM": 0.0}),
        ]
    return {
        "format": "smp-profile",
        "version": 1,
        "created": "2026-01-01T00:00:00+00:00",
        "machine": machine(rate=ClockRate(math.nan, None)) | {"clock_GHz": 1.0},
        "access": {"word_bytes": 8, "tiers": TIERS, "private_words": 1000, "functions": functions, "validation": []},
    }


def linear(kind: str = "host") -> Profile:
    """Return a profile for p = 1 and 2 by which each of M words takes 1 ns in Good, and 10 ns in Bad and Random."""
    prices = {"good": 1e-9, "bad": 10e-9, "random": 10e-9}
    functions = [
        _of_part(family, p, "HM", "all", {"L": 0.0, "gM": price}) for family, price in prices.items() for p in (1, 2)
    ]
    return Profile({"machine": {"kind": kind}, "access": {"functions": functions, "tiers": TIERS, "word_bytes": 8}})
