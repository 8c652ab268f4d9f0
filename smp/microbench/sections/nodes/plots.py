"""Figures of a machine of MPI: measured and predicted times of patterns that were kept apart from the fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from smp._output.figure import GREY, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import percent
from smp.microbench.output.curves import Samples, column
from smp.profiles.kept_apart import LIMIT

from .patterns import APART
from .report import shape
from .rows import Nodes, Pattern

SHARES = (("all near", 0.0, 0.05), ("up to half far", 0.05, 0.5), ("more than half far", 0.5, 1.01))


def figures(found: Nodes, samples: Samples = None) -> Iterator[Figure]:
    """Describe how the predictions of patterns that were not fitted compare with their measured times."""
    panels = [
        _panel(function.family, [row for row in found.patterns if (row.family, row.suite) == (function.family, APART)])
        for function in found.functions
    ]
    if not panels:
        return
    errors = ", ".join(f"{function.family.title()} {percent(function.average)}%" for function in found.functions)
    yield Figure(
        "nodes-predictions",
        f"Predictions for {shape(found)} are off by, on average: {errors}",
        f"each point: a pattern of suite {APART}, which was not fitted; dashed: off by {LIMIT:.0%}",
        panels,
        share_y="all",
    )


def _panel(family: str, rows: list[Pattern]) -> Panel:
    far = column(rows, "m_far") / np.maximum(column(rows, "m"), 1.0)
    ratio = column(rows, "predicted_s") / column(rows, "seconds")
    took = column(rows, "seconds")
    series = [
        Series(name, took[mine], ratio[mine], "points", colour=k, marker=k)
        for k, (name, low, high) in enumerate(SHARES)
        if (mine := (far >= low) & (far < high)).any()
    ]
    marks = [Mark(edge, axis="y", colour=GREY, dash="dashed") for edge in (1 - LIMIT, 1 + LIMIT)]
    x, y = (
        Axis("measured time of copy-in and copy-out", "s", "log"),
        Axis("predicted over measured", scale="log", ticks=(0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0)),
    )
    return Panel(x, y, series, family.title(), [Mark(1.0, axis="y", colour=GREY), *marks])
