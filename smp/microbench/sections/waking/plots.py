"""Figure of streams that wait for cells: woken, after figures 8 and 9 of the MTA evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from smp._output.figure import Axis, Figure, Panel
from smp._output.numbers import time
from smp.microbench.output.curves import Samples, curve, nth, select

from .report import TITLES
from .rows import Waking

PARTS = {"total_ns": "in all", "ns": "per stream"}


def figures(found: Waking, samples: Samples = None) -> Iterator[Figure]:
    """Describe the time until all go on, in all and per stream, by the initial loop."""
    panels = []
    for how in [how for how in TITLES if select(found.rows, "streams", how=how)]:
        loops = sorted({row.initial_ns for row in found.rows if row.how == how})
        lines = [
            (time(ns / 1e9) if ns else "none", select(found.rows, "streams", how=how, initial_ns=ns), nth(k))
            for k, ns in enumerate(loops)
        ]
        panels += parts(lines, "streams that wait", f"{TITLES[how]}; ")
    yield Figure(
        "waking",
        "How long it takes until all who wait for a cell go on",
        f"from the fill to the last report, median of the visits; {found.cpus} CPUs; ringed: not valid "
        "(after figures 8 and 9 of the MTA evaluation)",
        panels,
        columns=2,
        share_x="all",
        share_y="col",
        legend="initial loop of\nthe main thread",
    )


def parts(lines: Iterable[tuple[str, list[Any], dict[str, Any]]], label: str, title: str = "") -> list[Panel]:
    """Return two panels, in all and per stream: a line of each name, rows and look by the number of streams."""
    return [
        Panel(
            Axis(label, scale="log"),
            Axis("time", "us", "log"),
            [curve(name, rows, "streams", field, scale=1e-3, **look) for name, rows, look in lines],
            (title if field == "total_ns" else "") + what,
        )
        for field, what in PARTS.items()
    ]
