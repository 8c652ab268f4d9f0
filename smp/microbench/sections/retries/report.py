"""The report's section on retries: the looks that a wait counts before it traps, and their time."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, number, time
from smp._output.table import Column, Table, counted
from smp.microbench.output.format import cells, flagged
from smp.microbench.output.tera import HOT_SPOT, LOOKS, MACHINE
from smp.profiles.profile import Profile

from .rows import Retries

COLUMNS = {
    "counted_least": counted("fewest counted"),
    "counted_most": counted("most counted"),
    "waits": counted("waits"),
    "equal": Column("as set", form="checked"),
    "ns": Column("until the trap: median", "us", scale=1e-3),
    "minimum_ns": Column("until the trap: min.", "us", scale=1e-3),
    "p95_ns": Column("until the trap: p95", "us", scale=1e-3),
    "windows": counted("waits timed"),
}


def looks_said(found: Retries) -> str:
    """Return a phrase that says if waits trap after the number of looks that was set."""
    limits = ", ".join(count(row.limit) for row in found.rows if not row.equal)
    return f"traps after another number of looks than set: {limits}" if limits else "traps after as many looks as set"


def line(found: Retries) -> tuple[str, str] | None:
    """Return the heading and text of this section for the first screen."""
    limits = ", ".join(count(row.limit) for row in found.rows if not row.equal)
    said = f"NOT as set for the limits {limits}" if limits else "as many as set"
    look = found.look_ns
    return "Retries", f"{said}; a look takes {number(look)} ns, 1,024 looks as on the Tera take {time(1024e-9 * look)}"


def tables(found: Retries, profile: Profile) -> Iterator[Table]:
    """Yield the table of a profile in which retries were counted."""
    rows = [
        [*cells(row.limit, row, *COLUMNS), LOOKS.value * HOT_SPOT.ns if row.limit == LOOKS.value else ""]
        for row in found.rows
    ]
    yield Table(
        "Retries that a waiting stream counts before it traps (after figure 7)",
        (counted("limit"), *COLUMNS.values(), Column("Tera MTA", "us", scale=1e-3)),
        rows,
        (
            "until the trap: timed from Python, withdrawing included",
            f"a look takes {number(found.look_ns)} ns: the further time of the largest limit, divided by its looks",
            f"{MACHINE}: {count(LOOKS.value)} looks ({LOOKS.place}) of {HOT_SPOT.value:g} clocks ({HOT_SPOT.place})",
            flagged(found.rows),
        ),
    )
