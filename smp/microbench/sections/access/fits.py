"""What becomes of measured access patterns: medians, fitted and validated functions, the profile's "access"."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smp.microbench.method.plan import Measurement, Plan
from smp.models.supersteps import access
from smp.models.supersteps.suites import Pattern, sizes
from smp.profiles.access import Access, Error, Function, Tier
from smp.profiles.access import Pattern as Row
from smp.profiles.kept_apart import judge
from smp.profiles.profile import Profile

from .loops import FAMILIES

CLEAN_ENOUGH = 0.5  # fraction of undisturbed supersteps below which a p is said not to be valid

SAMPLE = np.dtype(
    [
        ("family", np.int8),
        ("p", np.int16),
        ("suite", np.int8),
        ("pattern", np.int32),
        ("round", np.int16),
        ("copy_in_ns", np.int64),
        ("copy_out_ns", np.int64),
        ("off_cpu_ns", np.int64),
        ("overlap", np.float32),
        ("clean", np.bool_),
    ]
)


class Found:
    """What has been measured and fitted so far, p by p."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.tiers = plan, tiers_of(plan)
        self.private = next((t.words for t in reversed(self.tiers) if t.words and not t.shared), None)
        self.functions: list[Function] = []
        self.validation: list[Error] = []
        self.patterns: list[Row] = []
        self.samples: list[NDArray[np.void]] = []
        self.overheads: dict[str, list[float]] = {}
        self.why: list[str] = []

    def add(self, p: int, taken: NDArray[np.void], chosen: dict[int, list[Pattern]], overhead: list[float]) -> None:
        """Fit and validate the functions of every family for this p."""
        capacities = [math.inf if tier.words is None else tier.words for tier in self.tiers]
        self.samples.append(taken)
        self.overheads[str(p)] = overhead
        for family in range(len(FAMILIES)):
            measured, rows = _summary(taken, chosen, family, p)
            self.patterns += rows
            lost = sum(row.clean == 0 for row in rows)
            if lost:
                left_out = f"{lost} of {len(rows)} patterns were disturbed every time and left out"
                self.why.append(f"p = {p}, {FAMILIES[family]}: {left_out}")
            made, checked = access.fit_family(FAMILIES[family], p, measured, capacities, private=self.private)
            self.functions += [Function(**function) for function in made]
            self.validation += [Error(**errors) for errors in checked]
        clean = float(taken["clean"].mean())
        if clean < CLEAN_ENOUGH:
            self.why.append(f"p = {p}: only {clean:.0%} of the supersteps were undisturbed")

    def section(self) -> Measurement:
        """The profile's "access" and the samples."""
        samples = np.concatenate(self.samples)
        data = Access(
            word_bytes=self.plan.word_bytes,
            line_words=self.plan.line_bytes // self.plan.word_bytes,
            tiers=self.tiers,
            private_words=self.private,
            processors=[int(p) for p in self.overheads],
            overhead_s=self.overheads,
            functions=self.functions,
            validation=self.validation,
            patterns=self.patterns,
            clean_fraction=float(samples["clean"].mean()),
            valid=not self.why,
            why=self.why,
        )
        profile = Profile({"access": data.to_json()})
        judge(profile)
        return Measurement(Access(**profile.data["access"]), {"access": samples})


def tiers_of(plan: Plan) -> list[Tier]:
    """The tiers that a processor's data can sit in: half of each cache, since each word has its local copy beside it.

    Caches that the smallest pattern overflows are left out: no measurement could price them.
    """
    smallest = min(sizes(plan.mode))
    levels = [(cache, cache.bytes // (2 * plan.word_bytes)) for cache in sorted(plan.caches, key=lambda c: c.level)]
    found = [(cache, words) for cache, words in levels if words > smallest]
    ascending = [each for i, each in enumerate(found) if i == 0 or each[1] > found[i - 1][1]]
    tiers = [Tier(name=f"L{cache.level}", words=words, shared=cache.shared_by > 1) for cache, words in ascending]
    return [*tiers, Tier(name="beyond", words=None, shared=True)]


def of_pattern(rows: NDArray[np.void], family: int, number: int, index: int) -> NDArray[np.bool_]:
    chosen = (rows["family"] == family) & (rows["suite"] == number) & (rows["pattern"] == index)
    return np.asarray(chosen, np.bool_)


def _summary(
    taken: NDArray[np.void], chosen: dict[int, list[Pattern]], family: int, p: int
) -> tuple[dict[int, access.Measured], list[Row]]:
    """The median of each pattern's clean supersteps, for the fit and for the report.

    A pattern without a clean superstep is reported, by all its supersteps, but not fitted.
    """
    measured: dict[int, access.Measured] = {}
    rows: list[Row] = []
    mine = taken[taken["family"] == family]
    for number, patterns in chosen.items():
        seconds, fitted = np.zeros(len(patterns)), np.zeros(len(patterns), np.bool_)
        for index, pattern in enumerate(patterns):
            here = mine[of_pattern(mine, family, number, index)]
            clean = here[here["clean"]]
            used = clean if len(clean) else here
            fitted[index] = len(clean) > 0
            seconds[index] = np.median(used["copy_in_ns"] + used["copy_out_ns"]) * 1e-9
            rows.append(
                Row(
                    family=FAMILIES[family],
                    p=p,
                    suite=number,
                    kind=pattern.kind,
                    x=pattern.x,
                    h=pattern.h,
                    hr=pattern.hr,
                    hw=pattern.hw,
                    m=pattern.m,
                    seconds=float(seconds[index]),
                    supersteps=len(here),
                    clean=len(clean),
                )
            )
        hr, hw, m = (np.array([getattr(a, name) for a in patterns], float) for name in ("hr", "hw", "m"))
        measured[number] = access.Measured(hr, hw, m, seconds).where(fitted)
    return measured, rows
