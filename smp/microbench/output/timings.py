"""The histogram of the timings of a measurement, which shows its disturbances.

Most timings of a point lie close together.  An interrupt makes a timing longer by the time that it takes, and a slice
of another process by much more.  So there are clumps to the right, and the median of three timings is hardly ever in
one.

Source: Brewer, Portable High-Performance Supercomputing, section 3.4.1 and figure 3-6.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp._output.figure import GREY, Axis, Figure, Panel, Series

CLOSE = 0.02
"""A timing is right if it differs from the median of its point by at most this share."""
BOUNDS = (0.0, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 20.0, np.inf)
"""Bounds of the classes of timings, as multiples of the median of their point."""
BINS = 60
SHOWN = 1.5
"""Multiple of the median up to which the panel of one point reaches; longer timings would press the others together."""
FEWEST = 30
"""Fewest timings that are worth a histogram, and fewest of one point."""
Times = Sequence[NDArray[np.float64]]


def timings_figure(
    id: str, what: str, times: Sequence[ArrayLike], clean: Sequence[ArrayLike] | None = None, unit: str = "ns"
) -> Figure | None:
    """Describe the histogram of all timings, relative to the median of their point, and that of one point.

    Parameters
    ----------
    id, what : str
        Id of the figure, and name of the measurement.
    times : sequence of array_like
        Timings of each point, in the order in which they were taken.
    clean : sequence of array_like of bool, optional
        True for timings that nothing disturbed; by default this is not known.
    unit : {"ns", "s"}
        Unit of the timings.

    Returns
    -------
    Figure or None
        None if there are too few timings.
    """
    points = [np.asarray(each, np.float64) for each in times]
    kept = [k for k, each in enumerate(points) if len(each) > 2 and np.median(each) > 0]
    points = [points[k] for k in kept]
    if sum(map(len, points)) < FEWEST:
        return None
    quiet = [np.ones(np.size(times[k]), bool) if clean is None else np.asarray(clean[k], bool) for k in kept]
    relative = [each / np.median(each) for each in points]
    of_all, of_three = right(points)
    panels = [_classes(np.concatenate(relative), np.concatenate(quiet), clean is not None)]
    longest = max(points, key=len)
    if len(longest) >= FEWEST:
        panels.append(_one(longest, unit))
    return Figure(
        id,
        f"{what}: {of_all:.1%} of the timings are within {CLOSE:.0%} of the median of their point",
        f"{sum(map(len, points)):,} timings of {len(points):,} points; of the medians of three timings in a row, "
        f"{of_three:.1%} are within {CLOSE:.0%}",
        panels,
        legend_at="below",
    )


def right(points: Times) -> tuple[float, float]:
    """Return the share of timings, and of medians of three in a row, that are close to the median of their point.

    Examples
    --------
    >>> right([np.array([10.0, 10.0, 13.0, 10.0, 10.1, 10.0])])
    (0.8333333333333334, 1.0)
    """
    single, triples = [], []
    for each in points:
        middle = np.median(each)
        single.append(np.abs(each / middle - 1) <= CLOSE)
        whole = len(each) // 3 * 3
        triples.append(np.abs(np.median(each[:whole].reshape(-1, 3), axis=1) / middle - 1) <= CLOSE)
    return float(np.concatenate(single).mean()), float(np.concatenate(triples).mean())


def _classes(relative: NDArray[np.float64], quiet: NDArray[np.bool_], judged: bool) -> Panel:
    """Return bars of the numbers of timings by class, and of those that nothing disturbed."""
    names = [f"{low:g} to {high:g}" for low, high in pairwise(BOUNDS)]
    names[0], names[-1] = f"below {BOUNDS[1]:g}", f"above {BOUNDS[-2]:g}"
    places = np.arange(len(names), dtype=np.float64)
    counts = np.histogram(relative, BOUNDS)[0]
    series = [Series("all timings" if judged else "", counts, places, "bar", colour=GREY if judged else 0)]
    if judged:
        series.append(Series("those that nothing disturbed", np.histogram(relative[quiet], BOUNDS)[0], places, "bar"))
    x = Axis("timings", scale="symlog", low=0.0)
    return Panel(x, Axis("multiple of the median", names=names), series, "all points")


def _one(times: NDArray[np.float64], unit: str) -> Panel:
    """Return the histogram of the point with the most timings."""
    shown = times[times <= SHOWN * np.median(times)]
    counts, edges = np.histogram(shown, min(BINS, max(5, len(shown) // 5)))
    middles = (edges[1:] + edges[:-1]) / 2
    beyond = f"; {len(times) - len(shown):,} beyond" if len(shown) < len(times) else ""
    title = f"the point with the most: {len(times):,} timings{beyond}"
    x = Axis("time", unit, low=0.999 * float(edges[0]), high=1.001 * float(edges[-1]))
    return Panel(x, Axis("timings", scale="symlog", low=0.0), [Series("", middles, counts, bold=True)], title)
