"""The report's section on polling: the slow-down of a bandwidth-bound stream while other streams poll an empty cell."""

from __future__ import annotations

import math
from collections.abc import Iterator

from smp._output.numbers import count, fixed, number, size, time
from smp._output.table import Bounded, Column, Table, counted
from smp.microbench.output.format import cells, flagged
from smp.profiles.profile import Profile

from .rows import Poll, Polling

PLACES = {"apart": "on other CPUs", "beside": "on its own CPU"}
COLUMNS = (
    *(counted("pollers"), counted("looks until trap"), Column("triad", "GB/s"), Column("median", "ns")),
    *(Column("times as long", form="fixed", digits=3), Column("looks of all"), Column("traps"), counted("visits")),
)


def line(found: Polling) -> tuple[str, str] | None:
    """Return the heading and text of this section for the first screen."""
    ever = {place: most_pollers(found, place, None) for place in PLACES}
    said = [
        f"{_times(row)} next to {row.pollers} streams that poll for ever {PLACES[place]}"
        for place, row in ever.items()
        if row
    ]
    if not said:
        return None
    trapped = most_pollers(found, "beside", 1024)
    if trapped:
        said.append(f"{_times(trapped)} next to {trapped.pollers} streams there that trap after 1,024 looks")
    return "Polling", f"triad takes {', '.join(said)}"


def _times(row: Poll) -> str:
    against = "not valid" if row.valid is False else "" if told_apart(row) else "not different from alone"
    return f"{fixed(row.slowdown)} times as long{f' ({against})' * bool(against)}"


def told_apart(row: Poll) -> bool:
    """Return True if triad takes a different time next to pollers than alone: the quartiles do not overlap."""
    low, high = row.slowdown_low, row.slowdown_high
    return low is None or high is None or not low <= 1.0 <= high


def most_pollers(found: Polling, place: str, limit: int | None) -> Poll | None:
    """Return the row with the most pollers in a place, for one limit; None if there is none."""
    rows = [row for row in found.rows if row.pollers and (row.place, row.limit) == (place, limit)]
    return max(rows, key=lambda row: row.pollers, default=None)


def title_of(limit: int | None) -> str:
    """Return a limit in words.

    Examples
    --------
    >>> [title_of(limit) for limit in (0, 1024, None)]
    ['0', '1,024', 'for ever']
    """
    return "for ever" if limit is None else count(limit)


def tables(found: Polling, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which the cost of polling was measured."""
    for place, where in PLACES.items():
        rows = [row for row in found.rows if row.place == place]
        if not rows:
            continue
        shown = []
        for row in sorted(rows, key=lambda row: (row.pollers, math.inf if row.limit is None else row.limit)):
            pollers, *times = cells(row.pollers, row, "GBps", "ns")
            limit = "for ever" if row.limit is None else row.limit
            long = Bounded(row.slowdown, row.slowdown_low, row.slowdown_high) if row.slowdown_low else row.slowdown
            counts = (row.retries, row.traps, row.windows)
            shown.append([pollers, limit if row.pollers else None, *times, long if row.pollers else None, *counts])
        cpus = found.poller_cpus
        shared = f" ({cpus} CPU{'s' * (cpus > 1)}, shared in turn if there are more)" if place == "apart" else ""
        yield Table(
            f"Triad on one CPU while other streams wait for an empty cell {where}{shared}",
            COLUMNS,
            shown,
            (
                f"three arrays of {size(found.array_bytes)}; times as long: over triad without pollers, "
                "in brackets the bounds by the quartiles of both",
                flagged(rows),
            ),
        )
    if found.look_ns:
        held = time(1024 * found.look_ns / 1e9)
        yield Table(
            notes=(
                f"A look takes about {number(found.look_ns)} ns: a wait that traps after 1,024 holds its CPU for "
                f"{held}, and then leaves it.",
                "All waits begin before triad does, so the times show the cost of the streams that still poll.",
            )
        )
