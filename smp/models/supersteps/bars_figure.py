"""The figure of an interval: a bar from the good to the bad end of each superstep, and a point at the measured time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smp._output.figure import Axis, Figure, Panel, Series

from .._types import FloatArray

MOST = 40
"""Largest number of supersteps that are drawn: those that took the most time."""


def interval_figure(
    names: Sequence[str], measured: FloatArray, good: FloatArray, worst: FloatArray, samples: FloatArray | None
) -> Figure:
    """Describe the figure.

    Parameters
    ----------
    names : sequence of n str
        Names of the supersteps.
    measured, good, worst : ndarray (n,)
        Seconds: measured, and predicted at both ends.
    samples : ndarray (r, n) or None
        Seconds in each of r repeats.
    """
    shown = np.sort(np.argsort(-measured, kind="stable")[:MOST])
    rows = np.arange(len(shown))
    low, high = ([], []) if samples is None else np.quantile(samples[:, shown], (0.25, 0.75), axis=0)
    length, start = (worst - good)[shown], good[shown]
    predicted = Series("predicted, from good to bad", length, rows, "bar", low, high, start=start, colour=5)
    point = Series("measured", measured[shown], rows, "points", colour=1, marker=3)
    reading = "copy-in and copy-out; a point at the left end of its bar is the best time that the machine allows"
    if samples is not None:
        reading += "; a whisker joins the quartiles of the repeats"
    if len(names) > MOST:
        reading += f"; the {MOST} of {len(names)} supersteps that took the most time"
    panel = Panel(Axis("time", "s", "log"), Axis("superstep", names=[names[i] for i in shown]), [predicted, point])
    title = "Measured times of supersteps in their predicted intervals"
    return Figure("interval", title, reading, [panel], legend_at="below")
