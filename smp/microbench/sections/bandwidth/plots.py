"""Figures of bandwidth: STREAM by processors, the time of a load while others move data, and the nodes of memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from smp._output.figure import GREY, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import fixed, number
from smp.microbench.output.curves import BAND, SPREAD, Samples, by, curve, select
from smp.microbench.output.maps import heat_map

from .kernels import KERNELS
from .report import stream_row, under_load
from .rows import Bandwidth

VALID_BAND = f"{BAND} of valid points"
LATENCY = Axis("time of a random load", "ns", low=0)


def figures(found: Bandwidth, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figures of GB/s by processors, of the latency under load, and of the nodes, as far as measured."""
    if found.stream:
        yield stream(found)
    if found.load_curve:
        yield load(found)
    if found.nodes:
        yield of_nodes(found)


def stream(found: Bandwidth) -> Figure:
    """Return the figure of GB/s by processors, and of the latency while other processors run triad."""
    lines = by("kernel", found.stream, "processors", "GBps", str, values=KERNELS)
    hollow: dict[str, Any] = {"kind": "points", "hollow": True, "values": KERNELS}
    lines += by("kernel", found.stream, "processors", "median_GBps", lambda _: "", **hollow)
    panels = [Panel(Axis("processors"), Axis("bandwidth", "GB/s", low=0), lines)]
    if found.loaded_latency:
        notes = [f"{row.loading_processors} loading" for row in found.loaded_latency]
        loaded = steady(curve("", found.loaded_latency, "load_GBps", between=SPREAD, marker=0, notes=notes))
        x = Axis("traffic of the loading processors, by triad", "GB/s")
        panels.append(Panel(x, LATENCY, [loaded], f"Latency under load; {VALID_BAND}"))
    counts = [min(row.processors for row in found.stream), max(row.processors for row in found.stream)]
    one, most = (stream_row(found, p, "triad") for p in counts)
    title = "How does bandwidth grow with processors?"
    if one and most and one is not most and one.valid is not False and most.valid is not False:
        times = f"{fixed(most.GBps / one.GBps)} times as much as one"
        title = f"Triad: {most.processors} processors move {number(most.GBps)} GB/s, {times}"
    return Figure(
        "bandwidth",
        title,
        "STREAM in global arrays: filled, the best repeat; hollow, the median; ringed: not valid (GB = 10^9 bytes)",
        panels,
        legend_at="lower right",
    )


def load(found: Bandwidth) -> Figure:
    """Return the figure of latency by the GB/s of the other processors, with a line for each share of writes."""
    lines = [
        steady(line) for line in by("write_share", found.load_curve, "load_GBps", "ns", share_written, between=SPREAD)
    ]
    idle = select(found.loaded_latency, "ns", loading_processors=0)
    marks = [Mark(idle[0].ns, text="no load", axis="y", colour=GREY, dash="dashed")] if idle else []
    said = [sentence[0].upper() + sentence[1:] for sentence in under_load(found)]
    return Figure(
        "bandwidth-loaded",
        said[0] if said else "What does a load cost while other processors move data?",
        f"points differ in the delay after each line that the others read or write; {VALID_BAND}; ringed: not valid",
        [Panel(Axis("traffic of the other processors", "GB/s", "log"), LATENCY, lines, marks=marks)],
    )


def share_written(share: float) -> str:
    """Return the name of a share of lines that are written."""
    return f"{100 * share:.0f}% of the lines written" if share else "lines read only"


def steady(line: Series) -> Series:
    """Return a line without bands at the points that are not valid: one such band would flatten all others."""
    bad = [bool(why) for why in line.invalid]
    low, high = (np.where(bad, math.nan, np.asarray(end, np.float64)) for end in (line.low, line.high))
    return replace(line, low=low, high=high)


def of_nodes(found: Bandwidth) -> Figure:
    """Return the figure of ns of a load and GB/s of reading, by the node of the memory and that of the CPUs."""
    nodes = sorted({row.cpus_of_node for row in found.nodes})
    x, y = (Axis(label, "node", names=[str(node) for node in nodes]) for label in ("memory", "CPUs"))
    places = [(nodes.index(row.memory_of_node), nodes.index(row.cpus_of_node)) for row in found.nodes]
    local = [row.ns for row in found.nodes if row.memory_of_node == row.cpus_of_node]
    remote = [row.ns for row in found.nodes if row.memory_of_node != row.cpus_of_node]
    title = "What does memory of another node cost?"
    if local and remote:
        title = (
            f"Memory of another node takes up to {fixed(max(remote) / min(local))} times as long as that of one's own"
        )
    return Figure(
        "bandwidth-nodes",
        title,
        "left: random loads of one CPU, each waiting for the one before; right: all CPUs of a node; ringed: not valid",
        [
            heat_map(found.nodes, places, x, y, "time of a load", "ns"),
            heat_map(found.nodes, places, x, y, "reading", "GB/s", "GBps"),
        ],
    )
