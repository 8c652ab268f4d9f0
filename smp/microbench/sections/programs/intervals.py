"""Figures of programs and supersteps in their intervals: curves by n, or a bar from good to bad for each.

A prediction by a cost function that does not hold on the suites that were kept apart is marked as not valid.
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
OFF = "the cost function is off on the suites that were kept apart"
PREDICTED = "Red rings around predictions, and hollow bars: by cost functions that are not valid."
ROOM = 1.3
"""How many times farther than the longest bar its axis reaches."""
FloatArray = NDArray[np.float64]


def how_many_inside(rows: Sequence[Any]) -> str:
    """Return how many of some rows lie in their intervals, in words."""
    return f"{sum(bool(row.inside) for row in rows)} of {len(rows)}"


def remark(rows: Sequence[Any]) -> str:
    """Return what the marks of measurements and predictions mean, if there are any."""
    unsteady = UNSTEADY * any(reasons(rows))
    return " ".join(said for said in (unsteady, PREDICTED * any(row.off for row in rows)) if said)


def invalid(rows: Sequence[Any], *families: str) -> list[str]:
    """Return why the predictions of some families are not valid, for each row; empty where they are."""
    return [OFF if set(families) & set(row.off or ()) else "" for row in rows]


def bad_end(rows: Sequence[Any]) -> FloatArray:
    """Return the larger of bad and random, in seconds."""
    return np.fmax(column(rows, "bad_s"), column(rows, "random_s"))


def curves(rows: Sequence[Any]) -> list[Series]:
    """Return the interval of each row by n, and the time measured, in ns an element."""
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
    """Return a panel with a bar from good to bad for each row, and where in it the time measured lies.

    Parameters
    ----------
    rows : sequence of Placed
    names : sequence of str
        Of the rows.
    times : ndarray
        Seconds measured of each row.
    work : ndarray
        Units of work of each row; its times are drawn for one of them, in ns.
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
    """Return panels of bars with one logarithmic axis, which has room for all of them."""
    every = [one for panel in panels for one in panel.series]
    edges = np.concatenate([np.add(one.x, one.start if one.kind == "bar" else 0.0) for one in every])
    starts = np.concatenate([np.asarray(one.start if one.kind == "bar" else one.x, float) for one in every])
    shared = replace(x, low=np.nanmin(starts[starts > 0]) / ROOM, high=np.nanmax(edges) * ROOM)
    return [replace(panel, x=shared) for panel in panels]
