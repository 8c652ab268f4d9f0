"""Figures of messages, next to their floors, and of collectives by the words of their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from smp._output.figure import BLACK, GREY, Axis, Dash, Figure, Mark, Panel, Series
from smp._output.numbers import fixed
from smp.microbench.output import cm5
from smp.microbench.output.curves import BAND, SPREAD, Samples, column, curve, doubted, nth, reasons, select

from .bursts import VECTORS
from .report import FLOORS, OPERATIONS, THERE, name_of
from .rows import ByMpi, Cost, Messages

AROUND = 1.5
"""Factor of the axis' ends beyond the points."""


def figures(found: Messages, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figure of single operations, and that of vectors if there is one with a size."""
    yield costs(found)
    if any(row.what in VECTORS for row in found.rows):
        yield collectives(found)


def costs(found: Messages) -> Figure:
    """Return a figure of the time of each operation, its floor, MPI's time and that of the CM-5."""
    rows = sorted((row for row in found.rows if not row.words), key=lambda row: list(OPERATIONS).index(row.what))
    at = np.arange(len(rows))
    low, high = (column(rows, name) for name in SPREAD)
    by_mpi = {(row.what, row.processors): row for row in found.mpi}
    mpi = [by_mpi.get((row.what, row.processors)) for row in rows]
    there = [THERE[row.what].ns if row.what in THERE else np.nan for row in rows]
    series = [
        Series("", high - low, at, "bar", start=low, colour=5),
        Series("measured", column(rows, "ns"), at, "points", invalid=reasons(rows), colour=0, marker=0),
        Series("its floor", column(rows, "floor_ns"), at, "points", colour=1, marker=1, hollow=True),
        Series("CM-5", there, at, "points", colour=3, marker=3, hollow=True),
    ]
    if any(mpi):
        ns = [row.ns if row else np.nan for row in mpi]
        series.insert(2, Series("by MPI", ns, at, "points", colour=2, marker=2, invalid=[_why(row) for row in mpi]))
    every = np.concatenate([np.asarray(ends, float) for ends in (low, high, *(one.x for one in series[1:]))])
    x = Axis("time of one operation", "ns", "log", low=np.nanmin(every) / AROUND, high=np.nanmax(every) * AROUND)
    trip = next((row for row in rows if row.what == "trip"), None)
    title = "What do messages and barriers cost?"
    if trip:
        title = doubted(f"A packet goes there and back in {fixed(trip.ratio)} times the time of a cache line", [trip])
    several = len({row.processors for row in rows}) > 1
    names = [f"{name_of(row)}{f', p = {row.processors}' * several}\nover {FLOORS[row.floor]}" for row in rows]
    return Figure(
        "messages-costs",
        title,
        f"median; bar: minimum to 95th percentile; below each name its floor; ringed: not valid; {cm5.MACHINE}",
        [Panel(x, Axis(names=names), series)],
    )


def collectives(found: Messages) -> Figure:
    """Return a figure of the time of collectives by words, with their floors; below, over MPI's if it was measured."""
    vectors = [row for row in found.rows if row.what in VECTORS]
    panels, measured = [], sorted({row.processors for row in vectors})
    for p in measured:
        panels.append(_times(p, [row for row in vectors if row.processors == p]))
    for p in measured if found.mpi else ():
        panels.append(_over_mpi([row for row in vectors if row.processors == p and row.over_mpi]))
    longest = max(row.words or 0 for row in vectors)
    most = [
        row for row in found.rows if row.words == longest and row.what == "reduce" and row.processors == measured[-1]
    ]
    title = "What does a collective cost, by the words of its vectors?"
    if most:
        said = f"A reduce of {longest:,} words takes {fixed(most[0].ratio)} times as long as a {FLOORS[most[0].floor]}"
        title = doubted(said, most)
    return Figure(
        "messages-collectives",
        title,
        f"words of float64 on each processor; {BAND}; ringed: not valid",
        panels,
        columns=len(measured),
        share_x="all",
        share_y="row",
    )


def _times(p: int, rows: Sequence[Cost]) -> Panel:
    lines = [
        curve(OPERATIONS[what], select(rows, "words", what=what), "words", scale=1e-3, between=SPREAD, **nth(k))
        for k, what in enumerate(dict.fromkeys(row.what for row in rows))
    ]
    floors: dict[str, Dash] = {"barrier": "dashed", "copy": "dotted"}
    for name, dash in floors.items():
        sizes = sorted({row.words or 0 for row in rows if row.floor == name})
        below = [np.median([row.floor_ns for row in rows if row.words == size]) / 1e3 for size in sizes]
        lines.append(Series(f"floor: {FLOORS[name]}", sizes, below, colour=BLACK, dash=dash, marker=6))
    return Panel(Axis("words", scale="log"), Axis("time of a call", "us", "log"), lines, f"p = {p}")


def _over_mpi(rows: Sequence[Cost]) -> Panel:
    lines = [
        curve("", select(rows, "words", what=what), "words", "over_mpi", **nth(k))
        for k, what in enumerate(dict.fromkeys(row.what for row in rows))
    ]
    mark = Mark(1.0, text="as fast as MPI", axis="y", colour=GREY, dash="dotted")
    return Panel(Axis("words", scale="log"), Axis("time over that by MPI", "times", "log"), lines, marks=[mark])


def _why(row: ByMpi | None) -> str:
    return reasons([row])[0] if row else ""
