"""Quantities by which supersteps are charged: the footprint of scattered accesses, and the size of an element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]


def footprints(supersteps: NDArray[np.void], word_bytes: int) -> Seconds | None:
    """Return the size in words of each superstep's arrays, infinite if not known; None if no size is recorded."""
    if "footprint" not in (supersteps.dtype.names or ()):
        return None
    nbytes = supersteps["footprint"]
    return np.where(nbytes > 0, nbytes / word_bytes, np.inf)


def element_bytes(nbytes: NDArray[Any], count: NDArray[Any]) -> Seconds:
    """Return the average bytes of an element in each superstep."""
    return np.asarray(nbytes / np.maximum(count, 1), np.float64)


def shares(chosen: list[dict[str, Any]], n: int, footprint: Seconds | None) -> list[Seconds]:
    """Return each function's share in n supersteps, linear in log footprint; without footprints, the last has it all.

    ``chosen`` is in ascending order of the functions' footprints.
    """
    if len(chosen) == 1 or footprint is None:
        return [np.zeros(n)] * (len(chosen) - 1) + [np.ones(n)]
    known = np.log([row["footprint"] for row in chosen])
    at = np.log(np.maximum(footprint, 1.0))
    return [np.interp(at, known, one) for one in np.eye(len(chosen))]
