"""The report's section on instructions: clocks for each against the number of streams on one CPU."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, number
from smp._output.table import Column, Table, counted, text
from smp.microbench.output.format import cells, flagged
from smp.microbench.output.tera import MACHINE, STREAM_WAITS
from smp.profiles.profile import Profile

from .rows import Instruction

TITLES = {"add": "chain of additions", "clock": "read of the clock"}
COLUMNS = {
    "streams": counted("streams"),
    "clocks_mean": Column("clocks: mean"),
    "clocks_std": Column("clocks: deviation"),
    "total_clocks": Column("the CPU's clocks"),
    "ns": Column("median", "ns"),
    "minimum_ns": Column("min.", "ns"),
    "p95_ns": Column("p95", "ns"),
    "windows": counted("windows"),
}


def line(found: Instruction) -> tuple[str, str] | None:
    """Return a heading and a sentence on the section for the first screen."""
    rows = [row for row in found.rows if row.what == "add"]
    if not rows:
        return None
    alone, most = (choose(rows, key=lambda row: row.streams) for choose in (min, max))
    each = f"an addition takes {number(alone.clocks_mean)} clocks alone, {number(most.clocks_mean)} with"
    return "Instruction", f"{each} {most.streams} streams on one CPU, which take turns"


def tables(found: Instruction, profile: Profile) -> Iterator[Table]:
    """Yield the table of a profile in which instructions were timed."""
    done = "; ".join(f"{TITLES[what]} {count(many)}" for what, many in found.instructions.items())
    rows = [[*cells(TITLES[row.what], row, *COLUMNS), row.streams + STREAM_WAITS.value] for row in found.rows]
    yield Table(
        "Time of an instruction, from the common start of all streams to a stream's own last (after figure 4)",
        (text("instruction"), *COLUMNS.values(), counted("Tera MTA clocks")),
        rows,
        (
            f"instructions of each stream: {done}",
            "mean and deviation: over all streams of all visits that count; the CPU's clocks: for one instruction "
            "of any stream",
            f"{MACHINE}: streams + {STREAM_WAITS.value:g}, the rule of thumb of {STREAM_WAITS.place}",
            flagged(found.rows),
        ),
    )
