"""What the figures of whole programs share: time per element by length, a line for each algorithm and p."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import COLOURS, MARKERS, Axis, Series
from smp.microbench.output.curves import Samples, column, curve, select

DASHES = ("solid", "dashed", "dashdot", "dotted")
BARS = "; bars: the fastest to the slowest"
TIME = Axis("time per element", "ns", "log")


def measured(rows: Sequence[Any]) -> NDArray[np.float64]:
    """Return ns an element of each run's supersteps, computation included; of the whole run where none is stored."""
    supersteps, whole = column(rows, "measured_s"), column(rows, "seconds")
    return per_element(rows, np.where(np.isnan(supersteps), whole, supersteps))


def per_element(rows: Sequence[Any], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return seconds as ns an element."""
    return seconds / column(rows, "n") * 1e9


def every_time(rows: Sequence[Any], title_of: Callable[[str], str], samples: Samples) -> list[Series]:
    """Return ns an element by n, a colour for each algorithm, a dash for each p."""
    counts = sorted({row.p for row in rows})
    return [
        timed(
            f"{title_of(name)}, p = {p}",
            select(rows, "n", algorithm=name, p=p),
            *(samples, name, p),
            colour=i % COLOURS,
            marker=k % MARKERS,
            dash=DASHES[(len(counts) - 1 - k) % len(DASHES)],
        )
        for i, name in enumerate(dict.fromkeys(row.algorithm for row in rows))
        for k, p in enumerate(counts)
    ]


def timed(name: str, rows: Sequence[Any], samples: Samples, algorithm: str, p: int, **look: Any) -> Series:
    """Return ns an element by n, and how far the repeats of each point spread, from the fastest to the slowest."""
    if samples is not None:
        mine = samples[(samples["algorithm"] == algorithm) & (samples["p"] == p)]
        repeats = [mine["seconds"][mine["n"] == row.n] / row.n * 1e9 for row in rows]
        for side, end in (("low", np.min), ("high", np.max)):
            look[side] = [end(ns) if ns.size else np.nan for ns in repeats]
    return curve(name, rows, "n", "ns_per_element", spread="bars", **look)
