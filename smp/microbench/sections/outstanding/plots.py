"""Figures of loads under way: bandwidth by depth and streams (after figure 14 of the MTA evaluation), and chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from smp._output.figure import GREY, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import fixed, size
from smp.microbench.output.curves import BAND, SPREAD, Samples, by, column, curve, select
from smp.microbench.output.format import by_streams

from .report import misses
from .rows import Loads, Outstanding

ORDERS = {"far": ("Lines anywhere in memory", "lines"), "near": ("The next word", "words")}
Against = Literal["depth", "streams"]
AGAINST: dict[Against, tuple[Against, Any, Axis]] = {
    "depth": ("streams", by_streams, Axis("loads under way in a stream", "depth")),
    "streams": ("depth", lambda depth: f"depth {depth}", Axis("streams")),
}
"""For each quantity along the x axis: the quantity with a line for each value, the name of a line, and the axis."""


def figures(found: Outstanding, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figures of groups of loads in each order, and of the chains."""
    for order in ORDERS:
        rows = select(found.groups, "depth", order=order)
        if rows:
            yield from (groups(order, rows, against) for against in AGAINST)
    yield chains(found)


def groups(order: str, rows: list[Loads], against: Against = "depth") -> Figure:
    """Return a figure of bandwidth by depth or by streams, with a line for each value of the other.

    There is a panel for each amount of work and number of CPUs.
    """
    other, name, x = AGAINST[against]
    works, places, counts = (sorted({getattr(row, what) for row in rows}) for what in ("work", "cpus", other))
    target, what = ORDERS[order]
    panels = []
    for work in works:
        for cpus in places:
            mine = select(rows, against, work=work, cpus=cpus)
            lines = by(other, mine, against, "GBps", name, values=counts, marker=0)
            place = "one CPU, in turn" if cpus == 1 else f"{cpus} CPUs"
            panels.append(
                Panel(x, Axis("bandwidth", "GB/s", low=0), lines, f"{place}; {work or 'no'} operations on each word")
            )
    return Figure(
        f"outstanding-{order}" if against == "depth" else f"outstanding-{order}-streams",
        f"{target}: {gains(rows)}",
        f"{what} loaded by all streams together, median of the visits; ringed: not valid "
        "(after figure 14 of the MTA evaluation)",
        panels,
        columns=len(places),
        share_x="all",
        share_y="row",
    )


def gains(rows: list[Loads]) -> str:
    """Return a phrase on the gain of depth in one stream, and of streams on all CPUs, without work on the words."""
    cpus, deepest = max(row.cpus for row in rows), max(row.depth for row in rows)
    plain = [row for row in rows if row.valid is not False and row.work == 0]
    one = {row.depth: row.GBps for row in plain if (row.cpus, row.streams) == (min(r.cpus for r in rows), 1)}
    all_cpus = [row for row in plain if row.cpus == cpus and row.depth == deepest]
    said = []
    if deepest > 1 and {1, deepest} <= one.keys():
        said.append(f"{deepest} loads in a group gain a factor of {fixed(one[deepest] / one[1])}")
    if deepest in one and all_cpus:
        best = max(all_cpus, key=lambda row: row.GBps)
        if best.streams > 1:
            said.append(f"{best.streams} streams on {cpus} CPU{'s' * (cpus > 1)} {fixed(best.GBps / one[deepest])}")
    return ", ".join(said) or "what do depth and streams gain?"


def chains(found: Outstanding) -> Figure:
    """Return a figure of the time of a load by the number of chains in one thread."""
    count, sustained = column(found.chains, "chains"), found.sustained
    said = misses(sustained.misses, sustained.flat)
    lines = [
        curve("measured", found.chains, "chains", "ns", SPREAD, marker=0),
        Series("one chain's time\nover the chains", count, sustained.latency_ns / count, colour=GREY, dash="dashed"),
    ]
    title = f"A core sustains {said}" + ": any further chain waits for a place" * bool(sustained.flat)
    marks = [
        Mark(sustained.best_ns, text="the best", axis="y", colour=1, dash="dotted"),
        Mark(sustained.misses, text=f"their ratio:\n{said}", colour=2, dash="dashdot"),
    ]
    doubled = [k for k in count if k in {2**e for e in range(9)}]
    x = Axis("chains followed in turn", scale="log", ticks=doubled)
    return Figure(
        "outstanding-chains",
        "How many misses does a core sustain?" if sustained.valid is False else title,
        f"random cycle through {size(found.bytes)}, one thread; {BAND}; ringed: not valid",
        [Panel(x, Axis("time per load", "ns", "log"), lines, marks=marks)],
    )
