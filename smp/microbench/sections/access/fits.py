"""Turn measured access patterns into times, into fitted and validated functions, and into the profile's "access".

pieces that count           no processor off its CPU, the CPUs in the main state of their placement
a pattern's time            the sum over its pieces: for each, the mean of the middle half of its times that count
functions, validation       those of the SMP cost study, fitted and validated as there
forms, turns                those that predict: see `models.supersteps.forms`

Two pieces of a phase are alike if each processor copies the same number of words in both. A piece without times that
count is assumed to take the mean of those alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smp.microbench.method.placement import records
from smp.microbench.method.plan import Measurement, Plan
from smp.models.placement import Placement
from smp.models.supersteps import access
from smp.models.supersteps.cost import Others
from smp.models.supersteps.forms import FITTED_ON, Form, Turn, chosen, fit_forms, turns
from smp.models.supersteps.suites import T_MAX, sizes
from smp.profiles.access import Access, Error, Family, Function, Off, Tier
from smp.profiles.access import Form as FormRow
from smp.profiles.access import Pattern as Row
from smp.profiles.access import Turn as TurnRow
from smp.profiles.kept_apart import judge
from smp.profiles.profile import Profile
from smp.profiles.records import PlacementState

from .loops import FAMILIES, RANDOM
from .visits import Group

CLEAN_ENOUGH = 0.5  # fraction of undisturbed pieces below which a p is not valid

COPY_IN, COPY_OUT = 0, 1
SAMPLE = np.dtype(
    [
        ("family", np.int8),
        ("footprint", np.int64),
        ("p", np.int16),
        ("suite", np.int8),
        ("pattern", np.int32),
        ("round", np.int16),
        ("repeat", np.int16),
        ("phase", np.int8),
        ("piece", np.int16),
        ("alike", np.int16),
        ("ns", np.int64),
        ("off_cpu_ns", np.int64),
        ("overlap", np.float32),
        ("before_ns", np.float32),
        ("after_ns", np.float32),
        ("clean", np.bool_),
    ]
)
Samples = NDArray[np.void]


class Found:
    """Results measured and fitted so far, for one p after another."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.tiers = plan, tiers_of(plan)
        self.private = next((t.words for t in reversed(self.tiers) if t.words and not t.shared), None)
        self.functions: list[Function] = []
        self.validation: list[Error] = []
        self.forms: list[FormRow] = []
        self.turns: list[TurnRow] = []
        self.patterns: list[Row] = []
        self.samples: list[Samples] = []
        self.overheads: dict[str, list[float]] = {}
        self.placement: dict[str, list[PlacementState]] = {}
        self.why: list[str] = []

    def add(self, p: int, taken: Samples, groups: list[Group], overhead: list[float]) -> None:
        """Fit and validate the functions of every group for this p."""
        placement = self.plan.placement.placement(p)
        self.samples.append(taken)
        self.overheads[str(p)] = overhead
        if placement.states:
            self.placement[str(p)] = records(placement)
        for group in groups:
            measured, rows = _summary(taken, group, p, placement)
            self.patterns += rows
            self._fit(p, group, measured)
            lost = sum(row.clean == 0 for row in rows)
            if lost:
                left_out = f"{lost} of {len(rows)} patterns were disturbed every time and left out"
                self.why.append(f"p = {p}, {FAMILIES[group.family]}: {left_out}")
        clean = float(taken["clean"].mean())
        if clean < CLEAN_ENOUGH:
            self.why.append(f"p = {p}: only {clean:.0%} of the pieces were undisturbed")

    def _fit(self, p: int, group: Group, measured: dict[int, access.Measured]) -> None:
        family = FAMILIES[group.family]
        if group.family != RANDOM:
            paper = {number: part.where(part.h <= T_MAX) for number, part in measured.items()}
            made, checked = access.fit_family(family, p, paper, private=self.private)
            self.functions += [Function(**function) for function in made]
            self.validation += [Error(**errors) for errors in checked]
        forms = fit_forms(p, measured)
        best = chosen(forms, *forms[0].off) if forms and forms[0].off else None
        self.forms += [_form(form, form is best, family, p, group) for form in forms]
        self.turns += [_turn(turn, family, p, group) for turn in turns(forms)]

    def section(self) -> Measurement:
        """Return the profile's "access" and the samples."""
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
            forms=self.forms,
            turns=self.turns,
            placement=self.placement,
            clean_fraction=float(samples["clean"].mean()),
            valid=not self.why,
            why=self.why,
        )
        profile = Profile({"access": data.to_json()})
        judge(profile)
        return Measurement(Access(**profile.data["access"]), {"access": samples})


def tiers_of(plan: Plan) -> list[Tier]:
    """Return the tiers that can hold a processor's data: half of each cache, as the other half holds the local copies.

    Caches that the smallest pattern overflows are left out: no measurement could price them.
    """
    smallest = min(sizes(plan.mode))
    levels = [(cache, cache.bytes // (2 * plan.word_bytes)) for cache in sorted(plan.caches, key=lambda c: c.level)]
    found = [(cache, words) for cache, words in levels if words > smallest]
    ascending = [each for i, each in enumerate(found) if i == 0 or each[1] > found[i - 1][1]]
    tiers = [Tier(name=f"L{cache.level}", words=words, shared=cache.shared_by > 1) for cache, words in ascending]
    return [*tiers, Tier(name="beyond", words=None, shared=True)]


def counting(taken: Samples, placement: Placement) -> NDArray[np.bool_]:
    """Return a mask of the samples that count: undisturbed, and taken in the main state of the placement."""
    return np.asarray(taken["clean"] & placement.is_main(taken["before_ns"], taken["after_ns"]))


def middle(values: NDArray[np.int64]) -> float:
    """Return the mean of the middle half; if times scatter around two values, it is nearer to the more frequent one.

    Examples
    --------
    >>> middle(np.array([1, 2, 2, 4, 100]))
    2.6666666666666665
    """
    ordered = np.sort(values)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def _turn(turn: Turn, family: Family, p: int, group: Group) -> TurnRow:
    key = {"family": family, "p": p, "footprint": group.footprint or None}
    return TurnRow.model_validate(key | vars(turn))


def _form(form: Form, best: bool, family: Family, p: int, group: Group) -> FormRow:
    fit = form.fit
    return FormRow(
        family=family,
        p=p,
        footprint=group.footprint or None,
        name=form.name,
        fit_suite=FITTED_ON if FITTED_ON not in form.off else 3,
        terms=list(fit.terms),
        coefficients=fit.coefficients.tolist(),
        low=[_finite(v) for v in fit.low],
        high=[_finite(v) for v in fit.high],
        unidentified=list(fit.unidentified),
        condition=_finite(fit.condition),
        count=fit.count,
        h_range=list(form.h_range),
        knees=list(form.knees),
        off=[
            Off(suite=suite, average=float(off.mean()), maximum=float(off.max()), count=len(off))
            for suite, off in form.off.items()
        ],
        chosen=best,
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def alike(rows: Samples) -> Iterator[NDArray[np.bool_]]:
    """Yield a mask of a pattern's samples for each group of pieces that are alike."""
    which = rows["phase"].astype(np.int64) * (1 << 16) + rows["alike"]
    for one in np.unique(which):
        yield which == one


def least(rows: Samples, counts: NDArray[np.bool_]) -> int:
    """Return the number of a pattern's samples that count, in the group of alike pieces that has the fewest."""
    return min((int(counts[mine].sum()) for mine in alike(rows)), default=0)


def seconds_of(rows: Samples, counts: NDArray[np.bool_]) -> float:
    """Return the seconds of a pattern, from samples that count, or from all samples of alike pieces if none counts."""
    total = 0.0
    for mine in alike(rows):
        used = rows[mine & counts if (mine & counts).any() else mine]
        parts = [middle(used["ns"][used["piece"] == piece]) for piece in np.unique(used["piece"])]
        total += float(np.mean(parts)) * len(np.unique(rows["piece"][mine]))
    return total * 1e-9


def _elsewhere(rows: Samples, placement: Placement) -> list[float | None]:
    """Return the time of a pattern in each other state; None if a group of alike pieces was never clean in it."""
    labels = placement.between(rows["before_ns"], rows["after_ns"])
    inside = [rows["clean"] & (labels == k) for k in range(1, len(placement.states))]
    return [seconds_of(rows, mine) if least(rows, mine) else None for mine in inside]


def _summary(
    taken: Samples, group: Group, p: int, placement: Placement
) -> tuple[dict[int, access.Measured], list[Row]]:
    """Return the time of each pattern from the pieces that count, for the fit and for the report.

    A pattern is reported, but not fitted, if one of its groups of alike pieces has no sample that counts.
    """
    measured: dict[int, access.Measured] = {}
    rows: list[Row] = []
    mine = taken[(taken["family"] == group.family) & (taken["footprint"] == group.footprint)]
    for number, patterns in group.suites.items():
        seconds, fitted = np.zeros(len(patterns)), np.zeros(len(patterns), np.bool_)
        for index, pattern in enumerate(patterns):
            here = mine[group.rows(mine, number, index)]
            counts = counting(here, placement)
            enough = least(here, counts)
            seconds[index], fitted[index] = seconds_of(here, counts), enough > 0
            rows.append(
                Row(
                    family=FAMILIES[group.family],
                    p=p,
                    suite=number,
                    kind=pattern.kind,
                    x=pattern.x,
                    h=pattern.h,
                    hr=pattern.hr,
                    hw=pattern.hw,
                    m=pattern.m,
                    seconds=float(seconds[index]),
                    supersteps=int(((here["phase"] == COPY_IN) & (here["piece"] == 0)).sum()),
                    clean=enough,
                    reads=pattern.reads.tolist(),
                    writes=pattern.writes.tolist(),
                    footprint=group.footprint or None,
                    elsewhere_s=_elsewhere(here, placement) or None,
                )
            )
        hr, hw, m = (np.array([getattr(a, name) for a in patterns], float) for name in ("hr", "hw", "m"))
        others = Others.of([a.reads for a in patterns], [a.writes for a in patterns])
        measured[number] = access.Measured(hr, hw, m, seconds, others).where(fitted)
    return measured, rows
