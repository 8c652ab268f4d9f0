"""The report's section on waking streams that wait for one cell, all at once or one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import Group, RenderableType

from smp.microbench.output.format import NONE, Data, Rows, flag, flagged, number, percent, section, table, time

TITLES = {"many": "All at once: the cell stays full", "one": "One at a time: each empties the cell and fills it"}
FIGURES = {"many": 8, "one": 9}
SHOWN = 3
"""Lengths of the initial loop in a table; the profile has all."""


def waking(profile: Data) -> Group:
    """Return the section of a profile in which streams were woken."""
    return section("Waking streams", profile["waking"], _parts(profile["waking"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    said = []
    for how, name in (("many", "at once"), ("one", "one by one")):
        rows = [row for row in data.get("rows", []) if row["how"] == how]
        if rows:
            most = max(rows, key=lambda row: (row["streams"], row["initial_ns"]))
            said.append(
                f"{most['streams']} streams {name} in {time(most['total_ns'] / 1e9)}, {time(most['ns'] / 1e9)} each"
            )
    return ("Waking", "; ".join(said)) if said else None


def loops_of(rows: Rows) -> list[int]:
    """Return the lengths of the initial loop that a table shows, in ns: the shortest, the longest, one between."""
    loops = sorted({row["initial_ns"] for row in rows})
    if len(loops) <= SHOWN:
        return loops
    return [loops[i] for i in np.linspace(0, len(loops) - 1, SHOWN).round().astype(int)]


def trapped(row: Data) -> str:
    """Return what part of the streams had trapped, in per cent."""
    return percent(row["traps"] / row["streams"])


def _parts(data: Data) -> Iterator[RenderableType]:
    for how, title in TITLES.items():
        rows = [row for row in data["rows"] if row["how"] == how]
        if not rows:
            continue
        loops = loops_of(rows)
        cells = []
        for streams in sorted({row["streams"] for row in rows}):
            found = {row["initial_ns"]: row for row in rows if row["streams"] == streams}
            cells.append([str(streams), *(text for loop in loops for text in _three(found.get(loop)))])
        headers = [name for loop in loops for name in (f"{loop / 1e3:,.0f} us\ntotal us", "\neach us", "trap-\nped %")]
        counts = {row["windows"] for row in rows}
        visits = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
        yield table(
            ("streams", *headers),
            cells,
            title=f"{title} (after figure {FIGURES[how]}; medians of {visits} visits)",
            caption="\n".join(
                filter(
                    None,
                    (
                        "above: how long the main thread spins before it fills the cell",
                        f"a wait traps after {data['limit']:,} looks; {data['cpus']} CPUs, more streams take turns",
                        flagged(rows),
                    ),
                )
            ),
        )


def _three(row: Data | None) -> list[str]:
    if row is None:
        return [NONE] * 3
    return [number(row["total_ns"] / 1e3) + flag(row), number(row["ns"] / 1e3), trapped(row)]
