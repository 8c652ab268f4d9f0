"""Figures of list ranking: the interval of each algorithm (after figure 3 of the SMP paper), and the times of all
algorithms (after figure 17 of the MTA evaluation)."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import BLACK, GREY, Axis, Figure, Panel
from smp._output.numbers import count
from smp.microbench.output.curves import Samples, select

from ..programs.intervals import READING, curves, how_many_inside, remark
from ..programs.plots import BARS, TIME, every_time, fastest, timed, with_room
from .facts import title_of
from .rows import ListRun, Lists

MOST_ROWS = 3
"""Largest number of rows in the figure of intervals, which has a row for each of the largest p."""


def figures(found: Lists, samples: Samples = None) -> Iterator[Figure]:
    """Describe the intervals, if there are predictions, and all times."""
    placed = [row for row in found.rows if row.good_s is not None]
    if placed:
        yield intervals(placed)
    if found.rows:
        yield times(found, samples)


def intervals(rows: list[ListRun]) -> Figure:
    """Return a figure of measured times in their intervals, with a panel for each p and algorithm."""
    algorithms = list(dict.fromkeys(row.algorithm for row in rows))
    chosen = sorted({row.p for row in rows})[-MOST_ROWS:]
    rows = [row for row in rows if row.p in chosen]
    panels = [
        Panel(
            *(Axis("elements", scale="log"), TIME, curves(select(rows, "n", algorithm=name, p=p))),
            f"{title_of(name)}, p = {p}",
        )
        for p in chosen
        for name in algorithms
    ]
    return Figure(
        "lists-interval",
        f"List ranking: {how_many_inside(rows)} runs lie in their intervals",
        f"{READING} (after figure 3 of the SMP paper)",
        panels,
        columns=len(algorithms),
        share_x="all",
        share_y="col",
        remarks=remark(rows),
    )


def times(found: Lists, samples: Samples) -> Figure:
    """Return a figure of ns an element by n for every algorithm and p (figure 17), with bars if samples were kept."""
    lines = []
    if found.serial:
        lines.append(timed("serial", select(found.serial, "n"), samples, "serial", colour=BLACK, marker=0, bold=True))
    if found.fast:
        fast = select(found.fast, "n")
        lines.append(timed("fast form", fast, samples, "fast", colour=GREY, marker=1, dash="dashed", bold=True))
    lines += every_time(found.rows, title_of, samples)
    panel, cut = with_room(Axis("elements of the list", scale="log"), TIME, lines)
    longest = max(row.n for row in found.rows)
    programs = {f"{title_of(row.algorithm)}, p = {row.p}": row for row in found.rows if row.n == longest}
    serial = next((row for row in found.serial if row.n == longest), None)
    best = fastest("program", programs, "ns_per_element", serial, "the serial loop")
    return Figure(
        "lists-time",
        f"Ranking {count(longest)} nodes: {best}",
        f"random lists, median of the repeats{BARS if samples is not None else ''} "
        "(after figure 17 of the MTA evaluation)",
        [panel],
        remarks=cut,
    )
