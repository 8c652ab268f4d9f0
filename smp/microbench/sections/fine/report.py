"""The report's section on list ranking by streams: time per element by length and streams, and the serial loop."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, number, time
from smp._output.table import Bounded, Cell, Column, Marked, Table, counted, text
from smp.microbench.output.format import by_placement, by_streams, flagged, judged
from smp.microbench.output.tera import MACHINE, SERIAL_LIST
from smp.profiles.profile import Profile

from .rows import Fine, Ranked, RankedByStreams

TITLES = {
    "wyllie-cells": "Wyllie, one cell per node",
    "wyllie-streams": "Wyllie, two lists",
    "reid-miller-streams": "Reid-Miller",
}
COLUMNS = (
    *(text("algorithm"), counted("n"), counted("streams")),
    *(
        Column("median [minimum, maximum]", "ns"),
        Column("speed-up"),
        Column("set-up", "ms", scale=1e3),
        counted("retries"),
        counted("traps"),
    ),
)


def line(found: Fine) -> tuple[str, str] | None:
    """Return a heading and a sentence on the section for the first screen."""
    said = []
    for name, title in TITLES.items():
        row = best(found, name)
        if row:
            what = f"{title}, n = {count(row.n)}, {by_streams(row.streams)}"
            said.append(f"{what}: {number(row.ns_per_element)} ns ({number(row.speedup)} times the serial speed)")
    return ("List ranking by streams", "; ".join(said)) if said else None


def best(found: Fine, algorithm: str) -> RankedByStreams | None:
    """Return the row of an algorithm's fastest number of streams at its longest list; None if there is none."""
    rows = [row for row in found.rows if row.algorithm == algorithm]
    return min(rows, key=lambda row: (-row.n, row.ns_per_element), default=None)


def timed(found: Fine) -> str:
    """Return a name for the part of a run that is timed; in profiles of earlier versions it includes the set-up."""
    return "the whole run" if found.setup else "the ranking alone"


def tables(found: Fine, profile: Profile) -> Iterator[Table]:
    """Yield the table of a profile in which lists were ranked by streams."""
    order, rows = list(TITLES), []
    for serial in found.serial:
        rows.append([judged("serial", serial), serial.n, 1, _time(serial), 1.0, "", "", ""])
        mine = [row for row in found.rows if row.n == serial.n]
        for row in sorted(mine, key=lambda row: (order.index(row.algorithm), row.streams)):
            streams = Marked(row.streams, "*") if row.oversubscribed else row.streams
            name = judged(TITLES[row.algorithm], row)
            rows.append([name, row.n, streams, _time(row), row.speedup, row.setup_s, row.retries, row.traps])
    setup = [row.seconds for row in found.setup]
    yield Table(
        f"Time per element by streams of one processor (after figures 18 to 20; random lists, {timed(found)})",
        COLUMNS,
        rows,
        (
            "* more streams than CPUs: they take turns" * any(row.oversubscribed for row in found.rows),
            f"the times include the start of a run and of its streams: {time(min(setup))} to {time(max(setup))}"
            if setup
            else "set-up: the further time of a run, to make lists and cells and to start the streams",
            "retries, traps: in one run, at nodes and at the barrier",
            f"{MACHINE}: the serial loop takes {SERIAL_LIST.value:g} {SERIAL_LIST.unit} ({SERIAL_LIST.place})",
            flagged([*found.rows, *found.serial]),
        ),
    )
    longest = max((row.n for row in found.rows), default=0)
    mine = [row for row in found.rows if row.n == longest]
    named = [
        (f"{TITLES[row.algorithm]}, {by_streams(row.streams)}", row.ns_per_element, row.elsewhere_ns) for row in mine
    ]
    title = f"Time per element at n = {count(longest)}, by placement of the CPUs"
    yield from by_placement(title, "algorithm", named, found.placement)


def _time(row: Ranked) -> Cell:
    return Bounded(row.ns_per_element, row.minimum_ns, row.maximum_ns)
