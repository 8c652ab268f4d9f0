"""Figure of list ranking by streams: time per element (after figures 18 to 20 of the MTA evaluation)."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel
from smp._output.numbers import count
from smp.microbench.output.curves import Samples, by, column, curve, doubted, places, select
from smp.microbench.output.format import by_streams

from .report import TITLES, timed
from .rows import Fine, RankedByStreams

BARS = ("minimum_ns", "maximum_ns")
REFERENCE = {"reid-miller-streams": "wyllie-streams"}
"""For an algorithm's panel, another algorithm whose best is also drawn there, as in figure 20."""


def figures(found: Fine, samples: Samples = None) -> Iterator[Figure]:
    """Describe ns per element by n, with a line for each number of streams."""
    serial = select(found.serial, "n")
    counts = sorted({row.streams for row in found.rows})
    panels = []
    for name in [name for name in TITLES if select(found.rows, "n", algorithm=name)]:
        lines = [curve("serial", serial, "n", "ns_per_element", colour=BLACK, bold=True)]
        if best := fastest(found, REFERENCE.get(name, "")):
            lines.append(
                curve("the best of Wyllie\nwith two lists", best, "n", "ns_per_element", colour=GREY, bold=True)
            )
        mine = select(found.rows, "n", algorithm=name)
        lines += by("streams", mine, "n", "ns_per_element", by_streams, values=counts, between=BARS, spread="bars")
        x = Axis("elements of the list", scale="log", ticks=places(column(serial, "n"), apart=5))
        panels.append(Panel(x, Axis("time per element", "ns", "log"), lines, TITLES[name]))
    if panels:
        yield Figure(
            "fine-lists",
            _title(found),
            f"random lists, {timed(found)}, median; bars: the fastest to the slowest; ringed: not valid "
            "(after figures 18 to 20 of the MTA evaluation)",
            panels,
            share_y="all",
        )


def fastest(found: Fine, algorithm: str) -> list[RankedByStreams]:
    """Return the row of an algorithm's best number of streams at each length, in ascending order of length."""
    rows = select(found.rows, "n", algorithm=algorithm)
    lengths = sorted({row.n for row in rows})
    return [min((row for row in rows if row.n == n), key=lambda row: row.ns_per_element) for n in lengths]


def _title(found: Fine) -> str:
    said, against = [], list[RankedByStreams]()
    for name, title in TITLES.items():
        faster = [row for row in fastest(found, name) if row.speedup > 1]
        if faster:
            said.append(f"{title} at {', '.join(count(row.n) for row in faster)} elements")
            against += faster
    if not said:
        return doubted("No number of streams beats the serial loop", [*found.rows, *found.serial])
    return doubted(f"Streams beat the serial loop: {'; '.join(said)}", [*against, *found.serial])
