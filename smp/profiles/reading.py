"""Good end of supersteps whose loops read words without storing them: a sum, a search, a count.

    copy_in(array)             each word is read, and written to local memory      Good, of the runtime's own copies
    copy_in_by(loop, array)    a loop may store nothing                            memory's rate of reading

Most loops do store the words that they read, so Good is normally the price of a loop's reads. If a superstep took less
time, its loops did not store them. Its good end is then charged the rate at which the sum of an array reads memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.supersteps.cost import Others

Seconds = NDArray[np.float64]
Charge = Callable[[Seconds, Seconds, Seconds, Others | None], Seconds]

KERNEL = "read"
"""Name of the kernel, in the section ``bandwidth``, that only reads memory."""


def good_end(
    good: Charge,
    data: Mapping[str, Any],
    supersteps: NDArray[np.void],
    p: int,
    others: Others | None,
    least: float,
) -> Seconds:
    """Return the least seconds of copy-in and copy-out that the machine charges for each superstep.

    Parameters
    ----------
    good : callable
        Predicts Good from h_r, h_w, and M in words, and the words of the processors other than the busiest.
    data : mapping
        Document of a profile.
    supersteps : structured array
        Summary of a run, as `Run.summary` returns it.
    p : int
        Number of processors.
    others : Others or None
        Words of the processors other than the busiest.
    least : float
        Least seconds that the runtime adds to a superstep.

    Returns
    -------
    ndarray (n,) float64
        Good plus the least time that the runtime adds. If a superstep took less, the bytes that its loops read are
        charged the rate of reading instead, provided that this is cheaper.
    """
    size = data["access"]["word_bytes"]
    hr, hw, m = (supersteps[name] / size for name in ("hr_bytes", "hw_bytes", "m_bytes"))
    copied = good(hr, hw, m, others) + least
    seconds = seconds_of_loops(data, supersteps, p)
    if seconds is None:
        return copied
    rest = hr - supersteps["loop_bytes"] / size
    if others is not None:
        part = rest / np.maximum(hr, 1)
        others = others._replace(next_reads=others.next_reads * part, other_reads=others.other_reads * part)
    left = np.maximum(m - supersteps["m_loop_bytes"] / size, 0)
    read = good(rest, hw, left, others) + seconds + least
    quicker = supersteps["copy_in"] + supersteps["copy_out"] < copied
    return np.where(quicker, np.minimum(copied, read), copied)


def seconds_of_loops(data: Mapping[str, Any], supersteps: NDArray[np.void], p: int) -> Seconds | None:
    """Return the seconds that the bytes of loops take at the rate of reading.

    Parameters
    ----------
    data : mapping
        The document of a profile.
    supersteps : structured array
        Supersteps as in `Run.summary`.
    p : int
        Number of processors.

    Returns
    -------
    ndarray (n,) float64, or None
        The larger of two times: the busiest processor's bytes at the rate of one processor, and the bytes of all at the
        rate of p processors. None if the profile has no valid rate of reading, or if the supersteps do not record the
        bytes that loops read.
    """
    rows = (data.get("bandwidth") or {}).get("stream") or []
    known = sorted(
        (row["processors"], row["GBps"]) for row in rows if row["kernel"] == KERNEL and row.get("valid") is not False
    )
    if not known or "loop_bytes" not in (supersteps.dtype.names or ()):
        return None
    processors, GBps = zip(*known, strict=True)
    one, all_of_them = np.interp((1, p), processors, GBps)
    ns = np.maximum(supersteps["loop_bytes"] / one, supersteps["m_loop_bytes"] / all_of_them)
    return np.asarray(ns * 1e-9, np.float64)
