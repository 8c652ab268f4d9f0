"""The report's section on passing a value on through one cell or along a chain of cells."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, time
from smp._output.table import Column, Table, counted
from smp.microbench.output.format import by_placement, by_streams, field, flagged
from smp.microbench.output.tera import ACCESSES_PASSED_ON, LATENCY, MACHINE
from smp.profiles.profile import Profile

from .rows import Chain

TITLES = {"mass": "one cell", "chained": "chain", "packed": "packed chain"}


def line(found: Chain) -> tuple[str, str] | None:
    """Return a heading and a sentence on the section for the first screen."""
    rows = [row for row in found.rows if row.work == 0]
    if not rows:
        return None
    most = max(row.streams for row in rows)
    said = ", ".join(f"{TITLES[row.how]} {time(row.ns / 1e9)}" for row in rows if row.streams == most)
    return "Passing on", f"{by_streams(most)}, each: {said}"


def tables(found: Chain, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which a value was passed on."""
    places = list(dict.fromkeys((row.how, row.work) for row in found.rows))
    known = {(row.streams, row.how, row.work): row for row in found.rows}
    columns = (
        counted("streams"),
        *(Column(f"{TITLES[how]} {work}", "us", scale=1e-3) for how, work in places),
        *(counted("fewest traps"), counted("most traps")),
    )
    visits = min(row.windows for row in found.rows)
    notes = (
        "chain: each cell on a line of its own; packed chain: four cells on a line",
        f"an iteration of work is {found.operations} dependent operations",
        f"a wait traps after {count(found.limit)} looks; {found.cpus} CPUs; more streams than CPUs take turns",
        f"{MACHINE}: without work a stream takes about {ACCESSES_PASSED_ON.value:g} memory accesses of "
        f"{LATENCY.value:g} clocks, {time(ACCESSES_PASSED_ON.value * LATENCY.ns / 1e9)}, and some retries "
        f"({ACCESSES_PASSED_ON.place})",
        flagged(found.rows),
    )
    for name, what in (("ns", "Time per stream"), ("total_ns", "Total time")):
        rows = []
        for streams in sorted({row.streams for row in found.rows}):
            of_it = [known.get((streams, *place)) for place in places]
            traps = [row.traps for row in of_it if row]
            shown = [field(row, name) for row in of_it]
            rows.append([streams, *shown, min(traps), max(traps)])
        title = f"{what} by iterations of work (after figures 10 and 11; medians of {visits} visits)"
        yield Table(title, columns, rows, notes if name == "total_ns" else ())
    idle = [row for row in found.rows if row.work == 0]
    named = [(f"{TITLES[row.how]}, {by_streams(row.streams)}", row.ns, row.elsewhere_ns) for row in idle]
    yield from by_placement("Time per stream without work, by placement of the CPUs", "cells", named, found.placement)
