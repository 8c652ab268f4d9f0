"""The report's section on instructions: clocks for each against the number of streams on one CPU."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import Data, count, flag, flagged, number, section, table

TITLES = {"add": "chain of additions", "clock": "read of the clock"}


def instruction(profile: Data) -> Group:
    """Return the section of a profile in which instructions were timed."""
    return section("Clocks per instruction", profile["instruction"], _parts(profile["instruction"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    rows = [row for row in data.get("rows", []) if row["what"] == "add"]
    if not rows:
        return None
    alone, most = (choose(rows, key=lambda row: row["streams"]) for choose in (min, max))
    each = f"{number(alone['clocks_mean'])} clocks an addition alone, {number(most['clocks_mean'])} with"
    return "Instruction", f"{each} {most['streams']} streams on one CPU: they take turns"


def _parts(data: Data) -> Iterator[RenderableType]:
    rows = data["rows"]
    cells = [
        [
            TITLES[row["what"]] + flag(row),
            str(row["streams"]),
            *(
                number(row[name])
                for name in ("clocks_mean", "clocks_std", "total_clocks", "ns", "minimum_ns", "p95_ns")
            ),
            str(row["windows"]),
        ]
        for row in rows
    ]
    done = "; ".join(f"{count(many)} of {TITLES[what]}" for what, many in data["instructions"].items())
    yield table(
        (
            "instruction",
            "streams",
            "clocks\nmean",
            "\ndeviation",
            "the CPU's\nclocks",
            "median\nns",
            "min.\nns",
            "p95\nns",
            "times",
        ),
        cells,
        title="An instruction of a stream, from when all are let go to its own last (after figure 4)",
        caption="\n".join(
            filter(
                None,
                (
                    f"each stream does {done}",
                    "mean and deviation over all streams of all visits; the CPU's: one instruction of any stream",
                    flagged(rows),
                ),
            )
        ),
    )
