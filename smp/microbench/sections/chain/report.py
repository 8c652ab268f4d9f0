"""The report's section on passing a value on through one cell or along a chain of cells."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import NONE, Data, flag, flagged, number, section, table, time

TITLES = {"mass": "one cell", "chained": "chain", "packed": "chain, packed"}


def chain(profile: Data) -> Group:
    """Return the section of a profile in which a value was passed on."""
    return section("One cell against a chain", profile["chain"], _parts(profile["chain"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    rows = [row for row in data.get("rows", []) if row["work"] == 0]
    if not rows:
        return None
    most = max(row["streams"] for row in rows)
    found = {row["how"]: row["ns"] for row in rows if row["streams"] == most}
    said = ", ".join(f"{TITLES[how]} {time(ns / 1e9)}" for how, ns in found.items())
    return "Passing on", f"by {most} streams, each: {said}"


def _parts(data: Data) -> Iterator[RenderableType]:
    rows = data["rows"]
    places = list(dict.fromkeys((row["how"], row["work"]) for row in rows))
    for name, title in (("ns", "a stream"), ("total_ns", "in all")):
        cells = []
        for streams in sorted({row["streams"] for row in rows}):
            found = {(row["how"], row["work"]): row for row in rows if row["streams"] == streams}
            shown = [
                number(found[place][name] / 1e3) + flag(found[place]) if place in found else NONE for place in places
            ]
            traps = [row["traps"] for row in found.values()]
            cells.append([str(streams), *shown, f"{min(traps):.0f}-{max(traps):.0f}"])
        remarks = [
            "chain: each cell on a line of its own; packed: four cells on a line",
            f"an iteration of work is {data['operations']} dependent operations",
            f"a wait traps after {data['limit']:,} looks; {data['cpus']} CPUs, more streams take turns",
        ]
        counts = sorted({row["windows"] for row in rows})
        yield table(
            ("streams", *(f"{TITLES[how].replace(', ', chr(10))}\n{work}" for how, work in places), "traps"),
            cells,
            title=f"Time {title} by iterations of work (us; after figures 10 and 11; medians of {counts[0]} visits)",
            caption="\n".join(filter(None, (*remarks, flagged(rows)))) if name == "total_ns" else "",
        )
