"""Predict the effect of a change of the machine on a program, and the cost of a program on another machine.

    profile ── prices ──┐
                        ├── Factored ── derivatives, impact of a change
    kernel ── amounts ──┘      └─ with Hybrid: the coefficients of measured runs

Source: Brewer, Portable High-Performance Supercomputing, section 8.1.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass

from smp.errors import ProfileError
from smp.kernels.costs import Costs
from smp.models.supersteps.factored import Change, Factored, between
from smp.models.supersteps.hybrid import TERMS, Hybrid, calibrate
from smp.profiles.charges import charged
from smp.profiles.profile import MEASURE, Profile, ProfileWarning

from .programs import Cost, Kernel, kernel_of

Source = Profile | str | os.PathLike[str]
"""A profile, or the path of a stored one."""
SPARE = 1
"""Number of runs, beyond the number of coefficients, that the calibration of a hybrid model needs."""


@dataclass(frozen=True)
class Prediction:
    """Predicted time of a program.

    Attributes
    ----------
    good, bad : float
        Seconds by the factored model at the ends of the interval; ``bad`` by the larger of the families bad and random.
    seconds : float
        Seconds by the hybrid model; NaN without one.
    notes : tuple of str
        Note on the numbers of processors from which p is predicted; empty if p itself was measured.
    """

    good: float
    bad: float
    seconds: float
    notes: tuple[str, ...] = ()


def opened(profile: Source) -> Profile:
    """Return a profile, loading it if a path is given; no warning is given for a profile of another machine."""
    if isinstance(profile, Profile):
        return profile
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProfileWarning)
        return Profile.load(profile)


def model_of(
    profile: Source,
    kernel: str | Kernel | Cost,
    n: int,
    p: int,
    *,
    loc: float = 1.0,
    hybrid: Hybrid | None = None,
) -> Factored:
    """Return a kernel's factored model on the machine of a profile.

    Parameters
    ----------
    profile : Profile or path_like
    kernel : str, Kernel or callable
        A name of `known_kernels`, or a cost function of n and p.
    n, p : int
        Size and number of processors.
    loc : float
        Place of the accesses between the bad end of the interval (0; the larger of bad and random) and the good end
        (1, the default).
    hybrid : Hybrid, optional
        Model calibrated with measured runs at the good end. It adds what the charges leave out, above all local
        computation.

    Raises
    ------
    ValueError
        The kernel does not exist, it has no supersteps for this n and p, or ``loc`` is out of range.
    ProfileError
        The access patterns were not measured.
    """
    if n < 0 or p < 1:
        raise ValueError(f"n must be 0 or more and p 1 or more, not n = {n}, p = {p}")
    chosen, known = kernel_of(kernel), opened(profile)
    supersteps = chosen.cost(n, p)
    if not len(supersteps):
        raise ValueError(f"{chosen.title} has no supersteps at n = {n}, p = {p}: there is nothing to predict")
    model = charged(known, supersteps, p, element_bytes=chosen.element_bytes)
    if loc != 1.0:
        model = between(model, charged(known, supersteps, p, worst_family(known, supersteps, p)), loc)
    return model if hybrid is None else hybrid.of(model, chosen.work(n, p))


def impact(
    profile: Source,
    kernel: str | Kernel | Cost,
    n: int,
    p: int,
    change: Change,
    *,
    loc: float = 1.0,
    hybrid: Hybrid | None = None,
) -> float:
    """Return a kernel's time after a change of the machine, divided by its time before.

    Parameters
    ----------
    profile, kernel, n, p, loc, hybrid
        As for `model_of`.
    change : mapping of str to float
        Factors of prices: ``{"barrier": 0.5}`` is a barrier that takes half as long; see `Factored.seconds`.

    Returns
    -------
    float
        Ratio of the times: 0.96 means that the program takes 4% less time.

    Raises
    ------
    FitError
        The model has no such price.
    ValueError
        As for `model_of`.
    ProfileError
        As for `model_of`, or the profile does not separate the barrier; the message then says what to measure.
    """
    model = model_of(profile, kernel, n, p, loc=loc, hybrid=hybrid)
    if "barrier" in change and "barrier" not in model.terms:
        raise ProfileError(
            "this profile does not separate the barrier from the rest of a superstep: measure both with "
            "python -m smp.microbench --only synchronisation,access"
        )
    return model.impact(change)


def cross(
    profile_there: Source, kernel: str | Kernel | Cost, n: int, p: int, hybrid: Hybrid | None = None
) -> Prediction:
    """Predict the time of a kernel on the machine of a profile, without running it there.

    Parameters
    ----------
    profile_there : Profile or path_like
        Profile of the other machine, measured or made up.
    kernel, n, p
        As for `model_of`.
    hybrid : Hybrid, optional
        Model calibrated with runs on a machine at hand; its coefficients are used unchanged.

    Raises
    ------
    ValueError, ProfileError
        As for `model_of`.
    """
    there, chosen = opened(profile_there), kernel_of(kernel)
    good, bad = (model_of(there, chosen, n, p, loc=loc).total() for loc in (1.0, 0.0))
    seconds = math.nan if hybrid is None else float(hybrid.predict(good, chosen.work(n, p)))
    notes = tuple(note for note in (there.basis(p),) if note)
    return Prediction(good, bad, seconds, notes)


def calibrated(profile: Source, kernel: str | Kernel, p: int) -> Hybrid:
    """Return the hybrid model of a kernel, calibrated with the runs that a profile holds.

    The runs on p processors are used if there are enough of them, else the runs on every number of processors.

    Raises
    ------
    ProfileError
        There are too few runs; the message says what to measure.
    """
    known, chosen = opened(profile), kernel_of(kernel)
    field, value = chosen.rows
    rows = [row for row in (known.data.get(chosen.section) or {}).get("rows", []) if row.get(field) == value]
    rows = [row for row in rows if row.get("measured_s")]
    own = [row for row in rows if row["p"] == p]
    enough = len(TERMS) + SPARE
    used = own if len(own) >= enough else rows
    if len(used) < enough:
        section = chosen.section or "programs"
        raise ProfileError(
            f"this profile has {len(used)} measured runs of {chosen.title}, and a hybrid model needs {enough}: "
            f"measure more with python -m smp.microbench --only access,{section}"
        )
    sizes = [(row.get("n") or row["rows"] * row["columns"], row["p"]) for row in used]
    return calibrate(
        [model_of(known, chosen, n, q).total() for n, q in sizes],
        [row["measured_s"] for row in used],
        [chosen.work(n, q) for n, q in sizes],
    )


def worst_family(profile: Profile, supersteps: Costs, p: int) -> str:
    """Return the family at the bad end of an interval: bad or random, whichever charges more.

    Raises
    ------
    ProfileError
        Neither family was measured.
    """
    measured = {row["family"] for row in profile.access["functions"]}
    ends = {family: charged(profile, supersteps, p, family) for family in ("bad", "random") if family in measured}
    if not ends:
        raise ProfileError(f"this profile has no cost functions of bad accesses; {MEASURE} measures all")
    return max(ends, key=lambda family: ends[family].total())
