"""The report's section on memory latency: the levels found, the curves in random order, and the strides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from rich.console import Group, RenderableType

from smp.microbench.output.format import NONE, Data, Rows, flag, flagged, number, section, size, table

LEVEL_HEADERS = ("level", "ns", "cycles", "ends at", "reported")
RANDOM = {"random": "random,\n4 KiB pages", "page_local": "page-local,\n4 KiB pages", "huge": "random,\nhuge pages"}
STRIDES = 8
"""Strides of the table, of those that half of the arrays have; the plot has all."""


def latency(profile: Data) -> Group:
    """Return the section of a profile whose memory latency was measured."""
    return section("Memory latency", profile["latency"], _parts(profile["latency"]))


def level_rows(data: Data) -> list[list[str]]:
    """Return the cells of `LEVEL_HEADERS` for each level."""
    return [
        [level["name"], number(level["ns"]), number(level.get("cycles"))]
        + [size(level.get(name)) for name in ("found_bytes", "reported_bytes")]
        for level in data.get("levels", [])
    ]


def page_walk(data: Data) -> tuple[list[str], Data]:
    """Return the cells of `LEVEL_HEADERS` for the page walk, without its name, and its row; none not measured."""
    if data.get("page_walk_ns") is None:
        return [], {}
    walks = (row for row in data.get("page_walk", []) if row["bytes"] == data.get("page_walk_bytes"))
    row = dict(next(walks, {}))
    same = [point for name in RANDOM for point in data.get(name, []) if point["bytes"] == row.get("bytes")]
    row.setdefault("why", [reason for point in same for reason in point.get("why") or []])
    return [number(data["page_walk_ns"]), number(row.get("cycles")), NONE, NONE], row


def remarks(data: Data) -> list[str]:
    """Return what a reader of the levels has to know, a sentence each."""
    said = []
    if data.get("levels_from"):
        pages = "huge pages" if data["levels_from"] == "huge" else "small pages, page walks included"
        said.append(f"levels: from random order in {pages}")
    if data.get("levels_missing"):
        said.append(f"no level of its own was found for {', '.join(data['levels_missing'])}")
    if data.get("page_walk_ns") is not None:
        base = "huge pages" if data.get("page_walk_from") == "huge" else "page-local order"
        said.append(f"page walk: random order in 4 KiB pages less {base}, at {size(data.get('page_walk_bytes'))}")
    huge = data.get("huge_pages") or {}
    if huge.get("granted") is False:
        said.append(f"no huge pages: {huge.get('why')}")
    if data.get("capped"):
        said.append(str(data["capped"]))
    return said


def _parts(data: Data) -> Iterator[RenderableType]:
    levels = level_rows(data)
    walk, row = page_walk(data)
    if walk:
        levels.append([f"page walk{flag(row)}", *walk])
    if levels:
        yield table(LEVEL_HEADERS, levels, title="Levels", caption=".\n".join([*remarks(data), ""]).rstrip("\n"))
    curves = {name: header for name, header in RANDOM.items() if data.get(name)}
    if curves:
        yield _random(data, curves)
    if data.get("stride"):
        yield _strides(data["stride"])


def _random(data: Data, curves: dict[str, str]) -> RenderableType:
    """ns of a load by size, a column for each curve."""
    points = {(name, row["bytes"]): row for name in curves for row in data[name]}
    walks = {row["bytes"]: row for row in data.get("page_walk", [])}
    last = list(curves)[-1]
    headers = [
        "array",
        *(f"{header}\nns" for header in curves.values()),
        f"{last.replace('_', ' ')}:\nmin. to p95\nns",
        "page walk\nns",
    ]
    rows = []
    for nbytes in sorted({nbytes for _, nbytes in points}):
        found = [points.get((name, nbytes), {}) for name in curves]
        band = points.get((last, nbytes), {})
        spread = f"{number(band.get('minimum_ns'))}-{number(band.get('p95_ns'))}" if band else NONE
        cells = [number(row.get("ns")) + (flag(row) or "  ") for row in found]
        rows.append(
            [size(nbytes), *cells, spread, f"{round(walks[nbytes]['ns'], 1) + 0.0:.1f}" if nbytes in walks else NONE]
        )
    caption = flagged([row for name in curves for row in data[name]])
    return table(headers, rows, title="A load that waits for the one before, in random order", caption=caption)


def _strides(rows: Rows) -> RenderableType:
    """ns of a load by size and stride, for a few of the strides."""
    arrays = {row["bytes"] for row in rows}
    met = Counter(row["stride"] for row in rows)
    strides = sorted(stride for stride, times in met.items() if 2 * times >= len(arrays))
    if len(strides) > STRIDES:
        strides = [strides[i] for i in np.linspace(0, len(strides) - 1, STRIDES).round().astype(int)]
    points = {(row["bytes"], row["stride"]): row for row in rows}
    cells = [
        [size(nbytes)]
        + [
            number(row["ns"]) + (flag(row) or "  ") if (row := points.get((nbytes, stride))) else ""
            for stride in strides
        ]
        for nbytes in sorted(arrays)
    ]
    headers = ["array", *(f"{size(stride)}  \nns  " for stride in strides)]
    return table(headers, cells, title="A load, by array and stride (after figure 3)", caption=flagged(rows))
