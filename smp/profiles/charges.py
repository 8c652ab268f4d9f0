"""What the machine of a profile charges for some supersteps, price by price.

A superstep is charged as `Profile.interval` charges it: accesses by the cost function of the family, and what the
runtime adds.  Measured computation is added where it is given.  The runtime's share is told apart further where
barriers were measured: copy-in and copy-out end with a barrier each, which are in it, and the compute phase with a
third, which is not.  (The cost functions come from compiled loops, whose own barriers are in L; a program's supersteps
go through Python, and their barriers cost what it pays there.)

    price        of what
    L ghr1 ...   accesses of the good family; those of others begin with its name: "bad ghr"
    latency      reads that wait for one another, of random: seconds themselves
    barrier      one barrier from Python, three a superstep
    runtime      the rest of what the runtime adds to a superstep
    local        measured computation, where it is given: seconds themselves
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..models.supersteps.cost import others_of
from ..models.supersteps.factored import Charge, Factored
from .profile import RANDOM, Profile
from .waiting import chains, latencies
from .words import footprints

BARRIERS = 3
"""Of a superstep; two of them are in what the runtime adds."""


def charged(
    profile: Profile, supersteps: NDArray[np.void], p: int, family: str = "good", element_bytes: int = 8
) -> Factored:
    """Return the factored model of some supersteps at one end of their interval.

    Parameters
    ----------
    profile : Profile
    supersteps : structured array
        Of `Run.summary`, whose measured computation is then charged as "local"; or counts of elements, of
        `smp.kernels.costs.COST`.
    p : int
        Processors.
    family : {"good", "bad", "random"}
        Good is charged by the bytes and the least that the runtime adds, the others by accesses and the most.
    element_bytes : int
        Of the elements, where the supersteps do not tell their bytes.

    Raises
    ------
    ProfileError
        Cost functions of the family were not measured.
    """
    each = np.ones(len(supersteps))
    barrier, added = barrier_seconds(profile, p), profile.overhead(p)[0 if family == "good" else 1]
    charges = [Charge.flat("runtime", added - (BARRIERS - 1) * barrier, each)]
    if barrier:
        charges.append(Charge.flat("barrier", barrier, BARRIERS * each))
    if "compute" in (supersteps.dtype.names or ()):
        charges.append(Charge.flat("local", 1.0, np.maximum(supersteps["compute"] - barrier, 0.0)))
    return accesses(profile, supersteps, p, family, element_bytes) + Factored(charges)


def accesses(
    profile: Profile, supersteps: NDArray[np.void], p: int, family: str = "good", element_bytes: int = 8
) -> Factored:
    """Return what the accesses of some supersteps are charged, without what the runtime adds; see `charged`.

    Its sum is what `Profile.interval` predicts.
    """
    good, size = family == "good", profile.access["word_bytes"]
    hr, hw, m = (np.asarray(supersteps[name], np.float64) for name in ("hr", "hw", "m"))
    if good and "compute" in (supersteps.dtype.names or ()):
        hr, hw, m = (supersteps[name + "_bytes"] / size for name in ("hr", "hw", "m"))
    elif good:
        hr, hw, m = (words * (element_bytes / size) for words in (hr, hw, m))
    prefix, others = "" if good else f"{family} ", others_of(supersteps)
    if good and others is not None:
        others = others.times(m / np.maximum(supersteps["m"], 1))
    spans, chain = footprints(supersteps, size), chains(supersteps)
    seconds = latencies(profile.data, supersteps) if family == RANDOM and chain.any() else None
    if seconds is not None:
        hr, m = hr - chain, m - chain
    charges = [
        Charge.accesses(function, hr, hw, m, profile.tiers, others, weights=share * rows, prefix=prefix)
        for q, share in profile.neighbours(p).items()
        for function, rows in profile.functions(family, q, np.maximum(hr, hw), spans)
    ]
    if seconds is not None:
        charges.append(Charge.flat(prefix + "latency", 1.0, chain * seconds))
    return Factored(charges)


def barrier_seconds(profile: Profile, p: int) -> float:
    """Return what a barrier takes a Python program, interpolated in p; 0 where none was measured.

    At most half of the least that the runtime adds to a superstep, which two of them are part of.
    """
    known = (profile.data.get("synchronisation") or {}).get("barrier_us") or {}
    measured = sorted((int(q), us["python"] * 1e-6) for q, us in known.items() if us.get("python") is not None)
    if not measured:
        return 0.0
    processors, seconds = zip(*measured, strict=True)
    return min(float(np.interp(p, processors, seconds)), profile.overhead(p)[0] / (BARRIERS - 1))
