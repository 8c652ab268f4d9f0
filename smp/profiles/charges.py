"""Times that the machine of a profile charges for supersteps, price by price.

A superstep is charged as `Profile.interval` charges it: its accesses by the cost function of the family, and the time
that the runtime adds. Measured computation is added if it is given. If barriers were measured, they are separated from
the time that the runtime adds. Copy-in and copy-out end with a barrier each, and these two are part of that time; the
compute phase ends with a third barrier, which is not. (The cost functions come from compiled loops, whose own barriers
are in L, the constant of the function. A program's supersteps go through Python, so their barriers are charged the time
that a barrier takes from Python.)

    price        for
    L ghr1 ...   accesses of the good family; prices of other families begin with its name: "bad ghr"
    latency      dependent reads, in the random family: their amount is in seconds, their price is 1
    barrier      one barrier from Python; there are three in a superstep
    runtime      the rest of the time that the runtime adds to a superstep
    local        measured computation, if it is given: the amount is in seconds, the price is 1
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
"""Number of barriers in a superstep; two of them are in the time that the runtime adds."""


def charged(
    profile: Profile, supersteps: NDArray[np.void], p: int, family: str = "good", element_bytes: int = 8
) -> Factored:
    """Return the factored model of supersteps at one end of their interval.

    Parameters
    ----------
    profile : Profile
    supersteps : structured array
        Supersteps as in `Run.summary`, whose measured computation is then charged as "local"; or an array of the dtype
        `smp.kernels.costs.COST`, which holds counts of elements alone.
    p : int
        Number of processors.
    family : {"good", "bad", "random"}
        Good is charged by the bytes, with the least time that the runtime adds. The others are charged by the accesses,
        with the most time that it adds.
    element_bytes : int
        Bytes that one element occupies, used if the supersteps do not record their bytes.

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
    """Return the factored model of the accesses of supersteps, without the time that the runtime adds; see `charged`.

    Its sum is the time that `Profile.interval` predicts, apart from that added time and, for Good, from loops that are
    charged at the rate of reading.
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
    """Return the seconds that a barrier takes in a Python program, interpolated in p; 0 if none was measured.

    It is at most half of the least time that the runtime adds to a superstep, because two barriers are part of it.
    """
    known = (profile.data.get("synchronisation") or {}).get("barrier_us") or {}
    measured = sorted((int(q), us["python"] * 1e-6) for q, us in known.items() if us.get("python") is not None)
    if not measured:
        return 0.0
    processors, seconds = zip(*measured, strict=True)
    return min(float(np.interp(p, processors, seconds)), profile.overhead(p)[0] / (BARRIERS - 1))
