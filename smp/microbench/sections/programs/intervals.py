"""Figures of programs and supersteps in their intervals: curves by n, or a bar from good to bad for each.

A prediction is marked as not valid if its cost function does not hold on the suites that were kept apart from the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import BLACK, GREY, Axis, Panel, Series
from smp.microbench.output.curves import column, reasons

from .plots import TIME, UNSTEADY, measured, per_element

READING = "supersteps with their computation: measured, and predicted from accesses"
OFF = "the cost function does not hold on the suites that were kept apart"
PREDICTED = "Red rings around predictions, and hollow bars: predicted by cost functions that are not valid."
ROOM = 1.3
"""Ratio by which an axis reaches beyond its bars at both ends."""
FloatArray = NDArray[np.float64]


def how_many_inside(rows: Sequence[Any]) -> str:
    """Return in words how many of the rows lie in their intervals."""
    return f"{sum(bool(row.inside) for row in rows)} of {len(rows)}"


def remark(rows: Sequence[Any]) -> str:
    """Return the meaning of the marks on measurements and predictions, if there are any."""
    unsteady = UNSTEADY * any(reasons(rows))
    return " ".join(said for said in (unsteady, PREDICTED * any(row.off for row in rows)) if said)


def invalid(rows: Sequence[Any], *families: str) -> list[str]:
    """Return for each row why the predictions of some families are not valid; empty if they are valid."""
    return [OFF if set(families) & set(row.off or ()) else "" for row in rows]


def bad_end(rows: Sequence[Any]) -> FloatArray:
    """Return the larger of bad and random, in seconds."""
    return np.fmax(column(rows, "bad_s"), column(rows, "random_s"))


def curves(rows: Sequence[Any]) -> list[Series]:
    """Return the interval and the measured time of each row by n, in ns an element."""
    at, good, bad, random = (column(rows, name) for name in ("n", "good_s", "bad_s", "random_s"))
    good, bad, random, end = (per_element(rows, seconds) for seconds in (good, bad, random, bad_end(rows)))
    return [
        Series("interval", at, kind="band", low=good, high=end, colour=5),
        Series("bad", at, bad, colour=1, dash="dashed", invalid=invalid(rows, "bad")),
        Series("random", at, random, colour=GREY, dash="dotted", invalid=invalid(rows, "random")),
        Series("good", at, good, colour=2, dash="dashed", invalid=invalid(rows, "good")),
        Series("measured", at, measured(rows), invalid=reasons(rows), colour=BLACK, marker=0),
    ]


def bars(rows: Sequence[Any], names: Sequence[str], times: FloatArray, work: FloatArray, title: str) -> Panel:
    """Return a panel with a bar from good to bad for each row, and a point at the measured time.

    Parameters
    ----------
    rows : sequence of Placed
    names : sequence of str
        Name of each row.
    times : ndarray
        Measured seconds of each row.
    work : ndarray
        Units of work of each row; its times are drawn in ns a unit.
    title : str
    """
    places = np.arange(len(rows))
    good, end, took = (1e9 * seconds / work for seconds in (column(rows, "good_s"), bad_end(rows), times))
    why = invalid(rows, "good", "bad", "random")
    series = [
        Series("good to the larger of bad and random", end - good, places, "bar", start=good, invalid=why, colour=5),
        Series("measured", took, places, "points", invalid=reasons(rows), colour=BLACK),
    ]
    return Panel(TIME, Axis(names=names), series, title)


def side_by_side(panels: Sequence[Panel], x: Axis) -> list[Panel]:
    """Return panels of bars with the same logarithmic axis, which has room for all of them."""
    every = [one for panel in panels for one in panel.series]
    edges = np.concatenate([np.add(one.x, one.start if one.kind == "bar" else 0.0) for one in every])
    starts = np.concatenate([np.asarray(one.start if one.kind == "bar" else one.x, float) for one in every])
    shared = replace(x, low=np.nanmin(starts[starts > 0]) / ROOM, high=np.nanmax(edges) * ROOM)
    return [replace(panel, x=shared) for panel in panels]
