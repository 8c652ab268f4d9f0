"""Dependent reads, each of which waits for the one before and is charged the latency of memory.

    a program         a run records          charged
    x = next[x]       chain: the number of   the chain by latency, at the footprint of the superstep;
    y = other[k]      dependent reads        all other accesses by Random, whose reads overlap

The latency is the measured one of a walk through a global array. If a profile has no valid latency, dependent reads are
charged like all other accesses, and a note of the interval says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]


def chains(supersteps: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the number of dependent reads in each superstep; 0 if they were not counted."""
    named = "chain" in (supersteps.dtype.names or ())
    return np.asarray(supersteps["chain"], np.int64) if named else np.zeros(len(supersteps), np.int64)


def latencies(data: Mapping[str, Any], supersteps: NDArray[np.void]) -> Seconds | None:
    """Return the seconds that one dependent read takes in each superstep, given the size of its arrays.

    Parameters
    ----------
    data : mapping
        The document of a profile.
    supersteps : structured array
        Supersteps as in `Run.summary`. The latency is that of their footprint, the size of their arrays. If the size
        is not known, it is the latency of the largest array that was measured.

    Returns
    -------
    ndarray (n,) float64, or None
        Seconds, interpolated between the measured sizes linearly in the logarithm of the size. None if the section
        ``latency`` has no valid rows.
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
    """Return a note if a profile has no price for the dependent reads of some supersteps; otherwise an empty text."""
    waiting = chains(supersteps) > 0
    if not waiting.any() or latencies(data, supersteps) is not None:
        return ""
    labels = ", ".join(repr(str(label)) for label in dict.fromkeys(supersteps["label"][waiting].tolist()))
    return (
        f"reads of {labels} depend on one another, but this profile has no latency to charge for them: measure it too"
    )
