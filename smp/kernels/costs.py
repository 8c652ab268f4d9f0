"""Counts of what a kernel's supersteps access, in closed form and as recorded by a run.

    label    h_r, h_w: the most reads, writes of any processor      M: reads and writes of all

Every program with supersteps has a function ``cost`` that returns its counts in closed form.  Tests compare them with
the recorded counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import Run

COST = np.dtype([("label", "U32"), ("hr", "i8"), ("hw", "i8"), ("m", "i8")])
"""Counts of one superstep, in elements."""
Costs = NDArray[Any]  # dtype COST, one row for each superstep


def costs_of(supersteps: Iterable[tuple[str, int, int, int]]) -> Costs:
    """Return (label, h_r, h_w, M) of supersteps as an array of `COST`."""
    return np.array(list(supersteps), COST)


def recorded(run: Run) -> Costs:
    """Return what the supersteps of a run accessed, as an array of `COST`."""
    summary = run.summary()
    return costs_of(zip(*(summary[name].tolist() for name in COST.names or ()), strict=True))


def longest_block(n: int, p: int) -> int:
    """Return the length of the longest block of ``range(n)`` that a processor gets; see `smp.Processor.block`."""
    return -(-n // p)
