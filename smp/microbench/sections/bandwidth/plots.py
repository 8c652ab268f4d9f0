"""Figure of bandwidth: STREAM by processors, and what a load costs while others move data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.figure import Axis, Figure, Panel
from smp.microbench.output.curves import BAND, SPREAD, Samples, by, curve

from .kernels import KERNELS
from .rows import Bandwidth


def figures(found: Bandwidth, samples: Samples = None) -> Iterator[Figure]:
    """Describe GB/s by processors, and the loaded latency where there is one."""
    if not found.stream:
        return
    lines = by("kernel", found.stream, "processors", "GBps", str, values=KERNELS)
    hollow: dict[str, Any] = {"kind": "points", "hollow": True, "values": KERNELS}
    lines += by("kernel", found.stream, "processors", "median_GBps", lambda _: "", **hollow)
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
        legend_at="lower right",
    )
