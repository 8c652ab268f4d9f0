"""The report's section on instructions: clocks for each against the number of streams on one CPU."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count, number
from smp._output.table import Column, Table, counted, text
from smp.microbench.output.format import cells, flagged
from smp.profiles.profile import Profile

from .rows import Instruction

TITLES = {"add": "chain of additions", "clock": "read of the clock"}
COLUMNS = (
    *(text("instruction"), counted("streams"), Column("clocks mean"), Column("clocks deviation")),
    *(Column("the CPU's clocks"), Column("median", "ns"), Column("min.", "ns"), Column("p95", "ns"), counted("times")),
)
FIELDS = ("streams", "clocks_mean", "clocks_std", "total_clocks", "ns", "minimum_ns", "p95_ns", "windows")


def line(found: Instruction) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    rows = [row for row in found.rows if row.what == "add"]
    if not rows:
        return None
    alone, most = (choose(rows, key=lambda row: row.streams) for choose in (min, max))
    each = f"{number(alone.clocks_mean)} clocks an addition alone, {number(most.clocks_mean)} with"
    return "Instruction", f"{each} {most.streams} streams on one CPU: they take turns"


def tables(found: Instruction, profile: Profile) -> Iterator[Table]:
    """Yield the table of a profile in which instructions were timed."""
    done = "; ".join(f"{count(many)} of {TITLES[what]}" for what, many in found.instructions.items())
    yield Table(
        "An instruction of a stream, from when all are let go to its own last (after figure 4)",
        COLUMNS,
        [cells(TITLES[row.what], row, *FIELDS) for row in found.rows],
        (
            f"each stream does {done}",
            "mean and deviation over all streams of all visits; the CPU's: one instruction of any stream",
            flagged(found.rows),
        ),
    )
