"""Figure of waking streams that wait for a cell, after figures 8 and 9 of the MTA evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from smp._output.figure import Axis, Figure, Panel
from smp._output.numbers import time
from smp.microbench.output.curves import Samples, curve, nth, places, select

from .report import TITLES
from .rows import Waking

PARTS = {"total_ns": "total time", "ns": "time per stream"}
Lines = Iterable[tuple[str, list[Any], dict[str, Any]]]
"""The name, rows and look of each line."""


def figures(found: Waking, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figure of the time until all streams go on, in all and per stream, a line per initial loop."""
    panels = []
    for how in [how for how in TITLES if select(found.rows, "streams", how=how)]:
        loops = sorted({row.initial_ns for row in found.rows if row.how == how})
        lines = [
            (time(ns / 1e9) if ns else "none", select(found.rows, "streams", how=how, initial_ns=ns), nth(k))
            for k, ns in enumerate(loops)
        ]
        panels += [part(field, lines, "streams that wait", TITLES[how]) for field in PARTS]
    yield Figure(
        "waking",
        "How long does it take until all streams that wait for a cell go on?",
        f"from the fill to the last report, median of the visits; {found.cpus} CPUs; ringed: not valid "
        "(after figures 8 and 9 of the MTA evaluation)",
        panels,
        columns=2,
        share_x="all",
        share_y="col",
        legend="initial loop of\nthe main thread",
    )


def part(field: str, lines: Lines, label: str, title: str) -> Panel:
    """Return a panel of one of the `PARTS` by the number of streams, with ticks at the measured numbers."""
    measured = places(row.streams for _, rows, _ in lines for row in rows)
    series = [curve(name, rows, "streams", field, scale=1e-3, **look) for name, rows, look in lines]
    return Panel(Axis(label, scale="log", ticks=measured), Axis(PARTS[field], "us", "log"), series, title)
