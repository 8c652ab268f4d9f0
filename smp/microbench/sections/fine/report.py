"""The report's section on list ranking by streams: time an element by length and streams, over the serial loop."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import Data, count, flag, flagged, number, section, table, time

TITLES = {
    "wyllie-cells": "Wyllie, a cell a node",
    "wyllie-streams": "Wyllie, two lists",
    "reid-miller-streams": "Reid-Miller",
}


def fine_lists(profile: Data) -> Group:
    """Return the section of a profile in which lists were ranked by streams."""
    return section("List ranking by streams", profile["fine"], _parts(profile["fine"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    said = []
    for name, title in TITLES.items():
        row = best(data, name)
        if row:
            streams = f"{row['streams']} stream{'s' * (row['streams'] > 1)}"
            what = f"{title}, n = {count(row['n'])}, {streams}"
            said.append(f"{what}: {number(row['ns_per_element'])} ns ({number(row['speedup'])} times the serial speed)")
    return ("List ranking by streams", "; ".join(said)) if said else None


def best(data: Data, algorithm: str) -> Data | None:
    """Return the row of an algorithm's fastest number of streams at its longest list; None where there is none."""
    rows = [row for row in data.get("rows", []) if row["algorithm"] == algorithm]
    return min(rows, key=lambda row: (-row["n"], row["ns_per_element"]), default=None)


def _parts(data: Data) -> Iterator[RenderableType]:
    cells = []
    order = list(TITLES)
    for serial in data["serial"]:
        cells.append([f"serial{flag(serial)}", count(serial["n"]), "1", *_times(serial), "1.00", "", ""])
        mine = [row for row in data["rows"] if row["n"] == serial["n"]]
        for row in sorted(mine, key=lambda row: (order.index(row["algorithm"]), row["streams"])):
            streams = f"{row['streams']}{'*' if row['oversubscribed'] else ' '}"
            counted = [number(row[name]) for name in ("retries", "traps")]
            speedup = number(row["speedup"])
            cells.append(
                [TITLES[row["algorithm"]] + flag(row), count(row["n"]), streams, *_times(row), speedup, *counted]
            )
    remarks = (
        ["* more streams than CPUs: they take turns"] if any(row["oversubscribed"] for row in data["rows"]) else []
    )
    setup = [row["seconds"] for row in data.get("setup", [])]
    if setup:
        remarks.append(f"the start of a run and of its streams is part of it: {time(min(setup))} to {time(max(setup))}")
    remarks.append(
        "retries, traps: in one run, at nodes, at the barrier, and of the program that waits for its streams"
    )
    remarks.append(flagged([*data["rows"], *data["serial"]]))
    yield table(
        ("algorithm", "n", "streams ", "median\nns", "minimum\nns", "maximum\nns", "speed-\nup", "retries", "traps"),
        cells,
        title="Time per element by streams of one processor (random lists, all of the run included)",
        caption="\n".join(filter(None, remarks)),
    )


def _times(row: Data) -> list[str]:
    return [number(row[name]) for name in ("ns_per_element", "minimum_ns", "maximum_ns")]
