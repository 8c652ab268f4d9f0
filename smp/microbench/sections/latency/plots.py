"""Figures of memory latency: by stride (after figure 3 of the MTA evaluation), as a map, and in random order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from smp._output.figure import GREY, Axis, Figure, Mark, Panel
from smp._output.numbers import number, size
from smp.microbench.output.curves import BAND, SPREAD, Samples, curve, select
from smp.microbench.output.maps import heat_map

from .report import page_walk
from .rows import Latency

CURVES = {
    "random": "random order, 4 KiB pages",
    "page_local": "random within a page, 4 KiB pages",
    "huge": "random order, huge pages",
    "shared": "random order, global arrays",
}
TIME = Axis("time of a load", "ns", "log")
ALONE = "a load that waits for the one before"


def figures(found: Latency, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figures of the curves that were measured."""
    if found.stride:
        yield strides(found)
        yield stride_map(found)
    if any(getattr(found, name) for name in CURVES):
        yield random_order(found)


def strides(found: Latency) -> Figure:
    """Return a figure of ns a load by stride, with a line for each array."""
    arrays = sorted({row.bytes for row in found.stride}, reverse=True)
    shades = np.linspace(1, 0, len(arrays)).tolist()
    lines = [
        curve(
            size(nbytes), select(found.stride, "stride", bytes=nbytes), "stride", between=SPREAD, shade=shade, marker=0
        )
        for nbytes, shade in zip(arrays, shades, strict=True)
    ]
    valid = [row for row in found.stride if row.valid is not False]
    slowest = max(valid or found.stride, key=lambda row: row.ns)
    return Figure(
        "latency-strides",
        f"In order, a load takes up to {number(slowest.ns)} ns ({size(slowest.bytes)}, stride {size(slowest.stride)})",
        f"{ALONE}, every s-th byte in order, 4 KiB pages; {BAND}; ringed: not valid",
        [Panel(Axis("stride", "bytes", "log", ticks=[8.0**k for k in range(1, 12)]), TIME, lines)],
        legend="array",
    )


def stride_map(found: Latency) -> Figure:
    """Return a heat map of ns a load by array and stride."""
    rows = found.stride
    # a stride that only one array has is the size of that array, so its cycle has a single node
    met = Counter(row.stride for row in rows)
    steps = sorted(stride for stride, arrays in met.items() if arrays > 1 or len(met) == len(rows))
    arrays = sorted({row.bytes for row in rows})
    shown = [row for row in rows if row.stride in steps]
    places = [(arrays.index(row.bytes), steps.index(row.stride)) for row in shown]
    x, y = (
        Axis(label, "bytes", names=[size(n) for n in each]) for label, each in (("array", arrays), ("stride", steps))
    )
    return Figure(
        "latency-map",
        "How long does a load take, by array and stride?",
        f"ns of {ALONE}, every s-th byte in order, 4 KiB pages; the darker, the slower; ringed: not valid",
        [heat_map(shown, places, x, y, "time of a load", "ns")],
    )


def random_order(found: Latency) -> Figure:
    """Return a figure of ns a load in random order by array, for each kind of page, with the end of each level."""
    kinds = [name for name in CURVES if getattr(found, name)]
    lines = [
        curve(CURVES[name], select(getattr(found, name), "bytes"), "bytes", between=SPREAD, colour=k, marker=0)
        for k, name in enumerate(kinds)
    ]
    ends: dict[str, dict[str, Any]] = {
        "found_bytes": {"group": "found:"},
        "reported_bytes": {"group": "system:", "colour": GREY, "dash": "dashed"},
    }
    marks = [
        Mark(getattr(level, name), text=f"{level.name} {size(getattr(level, name))}", **look)
        for name, look in ends.items()
        for level in found.levels
        if getattr(level, name)
    ]
    said = [f"{level.name} {number(level.ns)} ns" for level in found.levels if level.valid is not False]
    walk = page_walk(found)
    if walk and walk.valid is not False and not walk.why:
        said.append(f"a page walk {number(walk.ns)} ns")
    return Figure(
        "latency-random",
        f"In random order: {', '.join(said)}" if said else "How long does a load take in random order?",
        f"{ALONE}, one node in each line; {BAND}; ringed: not valid",
        [Panel(Axis("array", "bytes", "log"), TIME, lines, marks=marks)],
        legend_at="lower right",
    )
