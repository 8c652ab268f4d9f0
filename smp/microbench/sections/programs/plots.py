"""What the plots of whole programs share: time per element by length, a line for each algorithm and p."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from smp.microbench.output.axes import COLOURS, MARKERS, Rows, column

STYLES = ("-", "--", "-.", ":")


def by_length(rows: Rows) -> Rows:
    """Return rows with the shortest first."""
    return sorted(rows, key=lambda row: int(row["n"]))


def of(rows: Rows, algorithm: str, p: int) -> Rows:
    """Return the rows of an algorithm on p processors, the shortest first."""
    return by_length([row for row in rows if (row["algorithm"], row["p"]) == (algorithm, p)])


def measured(rows: Rows) -> NDArray[np.float64]:
    """Return the seconds of the supersteps of each run, computation included; of the whole run where none is stored."""
    supersteps, whole = column(rows, "measured_s"), column(rows, "seconds")
    return np.where(np.isnan(supersteps), whole, supersteps)


def per_element(rows: Rows, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return seconds as ns an element."""
    return seconds / column(rows, "n") * 1e9


def every_time(axes: Axes, rows: Rows, title_of: Callable[[str], str], samples: NDArray[Any] | None) -> None:
    """Draw ns an element by n, a colour for each algorithm, a style for each p; with samples, how far they spread."""
    counts = sorted({row["p"] for row in rows})
    for name, colour in zip(dict.fromkeys(row["algorithm"] for row in rows), COLOURS, strict=False):
        for k, p in enumerate(counts):
            mine = of(rows, name, p)
            axes.plot(
                *(column(mine, "n"), column(mine, "ns_per_element")),
                STYLES[(len(counts) - 1 - k) % len(STYLES)],
                color=colour,
                marker=MARKERS[k % len(MARKERS)],
                label=f"{title_of(name)}, p = {p}",
            )
            spread(axes, samples, name, p, colour)


def spread(axes: Axes, samples: NDArray[Any] | None, algorithm: str, p: int, colour: str) -> None:
    """Draw how far the repeats of each point spread, from the fastest to the slowest."""
    if samples is None:
        return
    mine = samples[(samples["algorithm"] == algorithm) & (samples["p"] == p)]
    for n in np.unique(mine["n"]):
        ns = mine["seconds"][mine["n"] == n] / n * 1e9
        axes.vlines(n, ns.min(), ns.max(), color=colour, linewidth=1.2, alpha=0.7)
