"""Break a kernel's time down by phase, from the measured runs that a profile holds, with intervals of the shares.

A phase is the copies, or the computation, of all supersteps with one label, and is fitted separately.  The time of the
copies is fitted relative to the good end of their predicted interval, and that of the computation relative to the
kernel's own count of local work.  At a size that was measured, the time is that of the run.

The intervals account for the scatter of repeated runs, and for the error of the line between measured sizes.  They also
account for the time that the runtime adds, from its least to its most, and for the intervals of the prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import ProfileError
from smp.kernels.costs import Costs
from smp.models.supersteps.factored import Factored
from smp.models.supersteps.locality import SMALL
from smp.models.supersteps.phases import Doubt, Trend, doubt
from smp.models.supersteps.shares import Machine, Parts, Share, share
from smp.profiles.charges import accesses, barrier_seconds, charged
from smp.profiles.profile import Profile

from ..method.samples import samples_of, select
from ..method.spreads import QUARTILES
from .changes import Source, opened, worst_family
from .programs import Cost, Kernel, kernel_of

NOISE, LEAST_NOISE = 0.1, 0.02
"""Relative standard deviation of a run's time: the one assumed if there are no repeats, and the least that is used."""
NANOSECOND = 1e-9
DRAWS, SEED = 1_000, 1

Floats = NDArray[np.float64]
Runs = dict[str, dict[int, tuple[float, float]]]
"""Seconds of the copies and of the computation of one superstep, by label and size."""


@dataclass(frozen=True, eq=False)
class ByPhase:
    """The parts of a program's time.

    Attributes
    ----------
    model : Factored
        Model of the accesses (as good or bad as in the runs), barriers, runtime and local computation. Its total is the
        time of the supersteps.
    parts : dict of str to Share
        Shares of "memory", "barrier", "runtime" and "local".
    prices : dict of str to Share
        Shares of the prices, by the terms of the model.
    measured : tuple of int
        Sizes of the runs.
    """

    model: Factored
    parts: dict[str, Share]
    prices: dict[str, Share]
    measured: tuple[int, ...]


def by_phase(profile: Source, kernel: str | Kernel | Cost, n: int, p: int) -> ByPhase:
    """Return the parts of a kernel's time, phase by phase.

    Parameters
    ----------
    profile : Profile or path_like
        Profile with measured runs of the kernel on p processors.
    kernel, n, p
        As for `smp.microbench.predictions.changes.model_of`.

    Raises
    ------
    ProfileError
        There are no such runs, or only runs of one other size, from which nothing follows for n; or the profile has no
        cost functions.
    """
    known, chosen = opened(profile), kernel_of(kernel)
    supersteps = chosen.cost(n, p)
    labels, runs = supersteps["label"].tolist(), _runs(known, chosen, p)
    if not labels or not {*labels} <= {*runs}:
        raise ProfileError(
            f"this profile has no run of {chosen.title} on {p} processors with the time of each superstep: "
            f"measure some with python -m smp.microbench --only access,{chosen.section or 'programs'} -p {p}"
        )
    trends = _trends(known, chosen, p, {label: runs[label] for label in labels})
    doubts = [doubt([*each.values()], log(n)) for each in trends]
    if any(each.error == inf for each in doubts):
        raise ProfileError(
            f"{chosen.title} on {p} processors was measured at one size only, which does not predict n = {n:,}: "
            f"measure more with python -m smp.microbench --only {chosen.section} -p {p}"
        )
    phases = [
        base * np.exp([trend[label].at(log(n)) for label in labels])
        for base, trend in zip((_base(known, chosen, supersteps, p), chosen.work(n, p)), trends, strict=True)
    ]
    family = worst_family(known, supersteps, p)
    machine = Machine(
        accesses(known, supersteps, p, "good", chosen.element_bytes),
        accesses(known, supersteps, p, family),
        barrier_seconds(known, p),
        (min(known.overhead(p)), max(known.overhead(p))),
        supersteps["m"] < SMALL,
    )
    parts = machine.split(*phases)
    drawn = _drawn(machine, labels, phases, doubts, _noise(known, chosen, p))
    total = float(parts.total)
    shares = {
        name: share(float(one.sum()), total, each.sum(axis=-1) / drawn.total)
        for name, one, each in zip(parts._fields, parts, drawn, strict=True)
    }
    prices = _prices(machine, parts, drawn, _price_errors(known, supersteps, p, family, chosen.element_bytes))
    prices |= {name: shares[name] for name in ("barrier", "runtime", "local")}
    sizes = sorted({size for each in runs.values() for size in each})
    return ByPhase(machine.model(parts, chosen.work(n, p)), shares, prices, tuple(sizes))


def _runs(profile: Profile, kernel: Kernel, p: int) -> Runs:
    """Return the times of one superstep of each label, by size; of the first ``blocks`` if a layout has several."""
    field, value = kernel.rows
    steps = (profile.data.get(kernel.section) or {}).get("steps", [])
    rows = [row for row in steps if row.get(field) == value and row["p"] == p]
    rows = [row for row in rows if row.get("blocks") == rows[0].get("blocks")]
    sums: dict[tuple[str, int], Floats] = {}
    for row in rows:
        if row.get("measured_s") is not None and row.get("compute_s") is not None:
            key = row["label"], row.get("n") or row["rows"] * row["columns"]
            one = np.array([row.get("times") or 1, row["measured_s"], row["compute_s"]])
            sums[key] = sums.get(key, np.zeros(3)) + one
    found: Runs = {}
    known = {size: {*kernel.cost(size, p)["label"].tolist()} for _, size in sums}
    for (label, size), (times, copies, compute) in sorted(sums.items()):
        if copies > 0.0 and compute > 0.0 and label in known[size]:
            found.setdefault(label, {})[size] = copies / times, compute / times
    return found


def _trends(profile: Profile, kernel: Kernel, p: int, runs: Runs) -> tuple[dict[str, Trend], dict[str, Trend]]:
    """Return, by label, the trends over n of two ratios: copies to the good end, and computation to local work."""
    modelled: dict[int, dict[str, float]] = {}
    for size in {size for each in runs.values() for size in each}:
        supersteps = kernel.cost(size, p)
        seconds = _base(profile, kernel, supersteps, p)
        modelled[size] = {
            label: float(seconds[supersteps["label"] == label].mean()) for label in {*supersteps["label"]}
        }
    copying, computing = dict[str, Trend](), dict[str, Trend]()
    for label, each in runs.items():
        sizes = sorted(each)
        copies, compute = np.array([each[size] for size in sizes]).reshape(-1, 2).T
        copying[label] = Trend(np.log(sizes), np.log(copies / [modelled[size][label] for size in sizes]))
        computing[label] = Trend(np.log(sizes), np.log(compute / [kernel.work(size, p) for size in sizes]))
    return copying, computing


def _base(profile: Profile, kernel: Kernel, supersteps: Costs, p: int) -> Floats:
    """Return the seconds that the copies of supersteps are charged at the good end, kept above zero."""
    charges = charged(profile, supersteps, p, element_bytes=kernel.element_bytes)
    return np.maximum(charges.seconds(), NANOSECOND)


def _noise(profile: Profile, kernel: Kernel, p: int) -> float:
    """Return the relative standard deviation of a run's time, from the repeats at each size."""
    field, value = kernel.rows
    key: dict[str, Any] = {field: value, "p": p}
    taken = select(samples_of(profile), kernel.section, None, **key)
    if taken is None:
        return NOISE
    sizes = taken["n"] if "n" in (taken.dtype.names or ()) else taken["rows"].astype(np.int64) * taken["columns"]
    spreads = [np.diff(np.percentile(np.log(taken["seconds"][sizes == size]), [25, 75])) for size in np.unique(sizes)]
    return max(float(np.median(spreads)) / QUARTILES, LEAST_NOISE)


def _drawn(
    machine: Machine, labels: Sequence[str], phases: Sequence[Floats], doubts: Sequence[Doubt], noise: float
) -> Parts:
    """Return random draws of the parts, within the doubts about them, of shape (draws, supersteps).

    ``noise`` is that of a whole run, the sum of its phases.  If all phases have the same relative noise, independent of
    each other, the noise of a phase is larger by the square root of the number of phases, or of those that matter.
    """
    rng, named = np.random.default_rng(SEED), np.array(labels)
    sums = np.array([phase[named == label].sum() for phase in phases for label in dict.fromkeys(labels)])
    of_phase = Doubt(noise * float(sums.sum() / np.sqrt(np.square(sums).sum())), inf)
    copies, compute = (
        phase * np.exp(_errors(rng, labels, of_phase) + _errors(rng, labels, each))
        for phase, each in zip(phases, doubts, strict=True)
    )
    return machine.split(copies, compute, rng.uniform(*machine.added, (DRAWS, 1)), rng.uniform(0.0, 1.0, (DRAWS, 1)))


def _errors(rng: np.random.Generator, labels: Sequence[str], each: Doubt) -> Floats:
    """Draw errors of the logarithm, one for each label."""
    names = list(dict.fromkeys(labels))
    shape = DRAWS, len(names)
    drawn = rng.standard_t(each.freedom, shape) if each.freedom < inf else rng.normal(size=shape)
    return each.error * drawn[:, [names.index(label) for label in labels]]


def _price_errors(profile: Profile, supersteps: Costs, p: int, family: str, element_bytes: int) -> dict[str, float]:
    """Return the relative standard errors of the prices; infinite for a price that the measurements leave open."""
    found: dict[str, float] = {}
    words = np.maximum(supersteps["hr"], supersteps["hw"]).astype(np.float64)
    for name, scale in (("good", element_bytes / profile.access["word_bytes"]), (family, 1.0)):
        prefix = "" if name == "good" else f"{name} "
        for q in profile.neighbours(p):
            for function, rows in profile.functions(name, q, words * scale):
                if rows.any():
                    for k, term in enumerate(function["terms"]):
                        error = _price_error(function, k)
                        found[prefix + term] = max(found.get(prefix + term, 0.0), error)
    return found


def _price_error(function: Mapping[str, Any], k: int) -> float:
    price, high = function["coefficients"][k], function["high"][k] if function.get("high") else None
    if function["terms"][k] in (function.get("unidentified") or ()):
        return inf
    if not function.get("high") or price <= 0.0:
        return 0.0
    return inf if high is None else (high - price) / price / 1.96


def _prices(machine: Machine, parts: Parts, drawn: Parts, errors: Mapping[str, float]) -> dict[str, Share]:
    """Return the shares of the prices of accesses; each open price may have as much as all open prices together."""
    rng = np.random.default_rng(SEED)
    known = {term: error for term, error in errors.items() if 0.0 < error < inf}
    factors = {term: np.maximum(rng.normal(1.0, error, (DRAWS, 1)), 0.0) for term, error in known.items()}
    total, seconds, may_be = float(parts.total), machine.by_price(parts.memory), machine.by_price(drawn.memory, factors)
    found = {term: share(float(seconds[term]), total, may_be[term] / drawn.total) for term in seconds}
    left_open = [term for term in found if errors.get(term) == inf]
    together = share(0.0, total, np.sum([may_be[term] for term in left_open], axis=0) / drawn.total)
    return found | {term: Share(found[term].value, 0.0, together.high) for term in left_open}
