"""Reads that wait for one another: each costs the latency of memory, as a walk through a global array measured it.

    a program         a run records          charged
    x = next[x]       chain: of the reads    the chain by latency, at the footprint of the superstep;
    y = other[k]      that each wait         all other accesses by Random, whose reads overlap

Where a profile has no latency that is valid, they are charged as the others, and a note of the interval says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]


def chains(supersteps: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the reads of each superstep that wait for one another; 0 where they were not counted."""
    named = "chain" in (supersteps.dtype.names or ())
    return np.asarray(supersteps["chain"], np.int64) if named else np.zeros(len(supersteps), np.int64)


def latencies(data: Mapping[str, Any], supersteps: NDArray[np.void]) -> Seconds | None:
    """Return the seconds of a read that waits, from the arrays of each superstep.

    Parameters
    ----------
    data : mapping
        The document of a profile.
    supersteps : structured array
        Of `Run.summary`.  The latency is that of their footprint; where that is not known, of the largest array that
        was measured.

    Returns
    -------
    ndarray (n,) float64, or None
        Between the measured sizes linear in the logarithm.  None where the section ``latency`` has nothing valid.
    """
    section = data.get("latency") or {}
    rows = [row for row in section.get("shared") or section.get("random") or [] if row.get("valid") is not False]
    if not rows:
        return None
    nbytes, ns = zip(*sorted((row["bytes"], row["ns"]) for row in rows), strict=True)
    spans = supersteps["footprint"] if "footprint" in (supersteps.dtype.names or ()) else np.zeros(len(supersteps))
    known = np.where(spans > 0, spans, nbytes[-1])
    return np.asarray(np.interp(np.log(known), np.log(nbytes), ns) * 1e-9, np.float64)


def no_latency(data: Mapping[str, Any], supersteps: NDArray[np.void]) -> str:
    """Say that reads wait for one another which a profile has no price for; else nothing."""
    waiting = chains(supersteps) > 0
    if not waiting.any() or latencies(data, supersteps) is not None:
        return ""
    labels = ", ".join(repr(str(label)) for label in dict.fromkeys(supersteps["label"][waiting].tolist()))
    return f"reads of {labels} wait for one another, and this profile has no latency to charge them: measure it too"
