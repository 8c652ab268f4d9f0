"""Figure of bandwidth: STREAM by processors, and what a load costs while others move data."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import Axis, Figure, Panel
from smp.microbench.output.curves import BAND, SPREAD, Samples, curve, nth, select

from .rows import Bandwidth

KERNELS = ("copy", "scale", "add", "triad")


def figures(found: Bandwidth, samples: Samples = None) -> Iterator[Figure]:
    """Describe GB/s by processors, and the loaded latency where there is one."""
    if not found.stream:
        return
    lines = []
    for k, kernel in enumerate(KERNELS):
        rows = select(found.stream, "processors", kernel=kernel)
        lines.append(curve(kernel, rows, "processors", "GBps", **nth(k)))
        lines.append(curve("", rows, "processors", "median_GBps", kind="points", hollow=True, **nth(k)))
    panels = [Panel(Axis("processors"), Axis("bandwidth", "GB/s", low=0), lines)]
    if found.loaded_latency:
        notes = [f"{row.loading_processors} loading" for row in found.loaded_latency]
        loaded = curve("", found.loaded_latency, "load_GBps", between=SPREAD, marker=0, notes=notes)
        x, y = Axis("what the loading processors move", "GB/s"), Axis("time of a random load", "ns", low=0)
        panels.append(Panel(x, y, [loaded], f"Latency under load; {BAND}"))
    yield Figure(
        "bandwidth",
        "Bandwidth by processors: where the lines bend, the memory is busy",
        "STREAM: filled, the best repeat; hollow, the median; ringed: not valid (GB = 10^9 bytes)",
        panels,
        columns=len(panels),
        legend_at="lower right",
    )
