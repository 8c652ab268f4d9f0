"""Figure of list ranking by streams: time per element (after figures 18 to 20 of the MTA evaluation)."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel, Series
from smp.microbench.output.curves import Samples, by, column, curve, select
from smp.microbench.output.format import by_streams

from .report import TITLES
from .rows import Fine

BARS = ("minimum_ns", "maximum_ns")


def figures(found: Fine, samples: Samples = None) -> Iterator[Figure]:
    """Describe ns an element by n, a line for each number of streams."""
    serial = select(found.serial, "n")
    n, counts = column(serial, "n"), sorted({row.streams for row in found.rows})
    panels = []
    for name in [name for name in TITLES if select(found.rows, "n", algorithm=name)]:
        lines = [curve("serial", serial, "n", "ns_per_element", colour=BLACK, bold=True)]
        mine = select(found.rows, "n", algorithm=name)
        lines += by("streams", mine, "n", "ns_per_element", by_streams, values=counts, between=BARS, spread="bars")
        setup = [row.seconds for row in found.setup if row.algorithm == name]
        if setup:
            start = "start of a run\nwith 1 stream"
            lines.append(Series(start, n, min(setup) / n * 1e9, colour=GREY, dash="dotted"))
        x, y = Axis("elements of the list", scale="log"), Axis("time per element", "ns", "log")
        panels.append(Panel(x, y, lines, TITLES[name]))
    if panels:
        yield Figure(
            "fine-lists",
            "List ranking by streams: below the black line, streams beat the serial loop",
            "random lists, median; bars: the fastest to the slowest; ringed: not valid (after figures 18 to 20 of the "
            "MTA evaluation)",
            panels,
            share_y="all",
        )
