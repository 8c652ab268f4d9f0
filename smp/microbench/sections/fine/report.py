"""The report's section on list ranking by streams: time an element by length and streams, over the serial loop."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, number, time
from smp._output.table import Cell, Column, Marked, Table, counted, text
from smp.microbench.output.format import by_streams, flagged, judged
from smp.profiles.profile import Profile

from .rows import Fine, Ranked, RankedByStreams

TITLES = {
    "wyllie-cells": "Wyllie, a cell a node",
    "wyllie-streams": "Wyllie, two lists",
    "reid-miller-streams": "Reid-Miller",
}
COLUMNS = (
    *(text("algorithm"), counted("n"), counted("streams")),
    *(Column(name, "ns") for name in ("median", "minimum", "maximum")),
    *(Column("speed-up"), Column("retries"), Column("traps")),
)


def line(found: Fine) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    said = []
    for name, title in TITLES.items():
        row = best(found, name)
        if row:
            what = f"{title}, n = {count(row.n)}, {by_streams(row.streams)}"
            said.append(f"{what}: {number(row.ns_per_element)} ns ({number(row.speedup)} times the serial speed)")
    return ("List ranking by streams", "; ".join(said)) if said else None


def best(found: Fine, algorithm: str) -> RankedByStreams | None:
    """Return the row of an algorithm's fastest number of streams at its longest list; None where there is none."""
    rows = [row for row in found.rows if row.algorithm == algorithm]
    return min(rows, key=lambda row: (-row.n, row.ns_per_element), default=None)


def tables(found: Fine, profile: Profile) -> Iterator[Table]:
    """Yield the table of a profile in which lists were ranked by streams."""
    order, rows = list(TITLES), []
    for serial in found.serial:
        rows.append([judged("serial", serial), serial.n, 1, *_times(serial), 1.0, "", ""])
        mine = [row for row in found.rows if row.n == serial.n]
        for row in sorted(mine, key=lambda row: (order.index(row.algorithm), row.streams)):
            streams = Marked(row.streams, "*") if row.oversubscribed else row.streams
            name = judged(TITLES[row.algorithm], row)
            rows.append([name, row.n, streams, *_times(row), row.speedup, row.retries, row.traps])
    setup = [row.seconds for row in found.setup]
    yield Table(
        "Time per element by streams of one processor (random lists, all of the run included)",
        COLUMNS,
        rows,
        (
            "* more streams than CPUs: they take turns" * any(row.oversubscribed for row in found.rows),
            f"the start of a run and of its streams is part of it: {time(min(setup))} to {time(max(setup))}"
            if setup
            else "",
            "retries, traps: in one run, at nodes, at the barrier, and of the program that waits for its streams",
            flagged([*found.rows, *found.serial]),
        ),
    )


def _times(row: Ranked) -> list[Cell]:
    return [row.ns_per_element, row.minimum_ns, row.maximum_ns]
