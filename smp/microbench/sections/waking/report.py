"""The report's section on waking streams that wait for one cell, all at once or one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, time
from smp._output.table import Cell, Column, Table, counted, share
from smp.microbench.output.format import by_placement, by_streams, few, flagged, judged
from smp.microbench.output.tera import ACCESSES_ONE_BY_ONE, FIFTY_AT_ONCE, LATENCY, MACHINE
from smp.profiles.profile import Profile

from .rows import Waking, Woken

TITLES = {"many": "All at once: the cell stays full", "one": "One by one: each empties the cell and fills it again"}
WAYS = {"many": "at once", "one": "one by one"}
FIGURES = {"many": 8, "one": 9}
THERE = {
    "many": f"50 streams that have trapped take {FIFTY_AT_ONCE.value:g} clocks each, {time(FIFTY_AT_ONCE.ns / 1e9)} "
    f"({FIFTY_AT_ONCE.place}), which its authors call impossibly low",
    "one": f"a stream takes about {ACCESSES_ONE_BY_ONE.value:g} memory accesses of {LATENCY.value:g} clocks, "
    f"{time(ACCESSES_ONE_BY_ONE.value * LATENCY.ns / 1e9)} ({ACCESSES_ONE_BY_ONE.place})",
}
"""Published times on the Tera MTA, for each way."""


def line(found: Waking) -> tuple[str, str] | None:
    """Return the heading and text of this section for the first screen."""
    said = []
    for how, name in WAYS.items():
        rows = [row for row in found.rows if row.how == how]
        if rows:
            most = max(rows, key=lambda row: (row.streams, row.initial_ns))
            said.append(f"{most.streams} streams {name} in {time(most.total_ns / 1e9)}, {time(most.ns / 1e9)} each")
    return ("Waking", "; ".join(said)) if said else None


def tables(found: Waking, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which streams were woken, for a few of the measured initial loops."""
    for how, title in TITLES.items():
        rows = [row for row in found.rows if row.how == how]
        if not rows:
            continue
        known = {(row.streams, row.initial_ns): row for row in rows}
        loops = few(sorted({row.initial_ns for row in rows}))
        shown = [
            [streams, *(cell for loop in loops for cell in _three(known.get((streams, loop))))]
            for streams in sorted({row.streams for row in rows})
        ]
        columns = [counted("streams")]
        for after in (f"{count(loop / 1e3)} us" for loop in loops):
            columns += [Column(f"{after}: {name}", "us", scale=1e-3) for name in ("total", "each")]
            columns.append(share(f"{after}: trapped"))
        counts = sorted({row.windows for row in rows})
        visits = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        yield Table(
            f"{title} (after figure {FIGURES[how]}; medians of {visits} visits)",
            columns,
            shown,
            (
                "column heads: how long the main thread spins before it fills the cell",
                f"a wait traps after {count(found.limit)} looks; {found.cpus} CPUs; more streams than CPUs take turns",
                f"{MACHINE}: {THERE[how]}",
                flagged(rows),
            ),
        )
    longest = max((row.initial_ns for row in found.rows), default=0)
    asleep = [row for row in found.rows if row.initial_ns == longest]
    named = [(f"{WAYS[row.how]}, {by_streams(row.streams)}", row.ns, row.elsewhere_ns) for row in asleep]
    title = f"Time per stream by placement of the CPUs, after {count(longest / 1e3)} us"
    yield from by_placement(title, "woken", named, found.placement)


def _three(row: Woken | None) -> list[Cell]:
    return [judged(row.total_ns, row), row.ns, row.traps / row.streams] if row else [None] * 3
