"""Plot of bandwidth: STREAM by processors, and what a load costs while others move data."""

from __future__ import annotations

from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, MARKERS, Data, canvas, column, unsettled, whole_numbers

from .facts import KERNELS


def bandwidth(profile: Data) -> Figure | None:
    """Draw GB/s by processors, and the loaded latency where there is one; None where that was not measured."""
    data = profile.get("bandwidth") or {}
    stream, loaded = data.get("stream") or [], data.get("loaded_latency") or []
    if not stream:
        return None
    figure, ((axes, *beside),) = canvas(
        "Bandwidth by processors: where the lines bend, the memory is busy",
        "STREAM: filled, the best repeat; hollow, the median; ringed: not valid (GB = 10^9 bytes)",
        columns=2 if loaded else 1,
        gap=0.22,
    )
    for kernel, colour, marker in zip(KERNELS, COLOURS, MARKERS, strict=False):
        rows = sorted((row for row in stream if row["kernel"] == kernel), key=lambda row: row["processors"])
        p, best = column(rows, "processors"), column(rows, "GBps")
        axes.plot(p, best, marker=marker, color=colour, label=kernel)
        axes.plot(p, column(rows, "median_GBps"), marker, color=colour, markerfacecolor="none")
        unsettled(axes, p, best, rows)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.1)
    whole_numbers(axes.xaxis)
    axes.set_xlabel("processors")
    axes.set_ylabel("bandwidth (GB/s)")
    axes.legend(loc="lower right", framealpha=1, edgecolor="none")
    for one in beside:
        x, y = column(loaded, "load_GBps"), column(loaded, "ns")
        one.plot(x, y, "o-", color=COLOURS[0])
        one.fill_between(
            x, column(loaded, "minimum_ns"), column(loaded, "p95_ns"), color=COLOURS[0], alpha=0.18, linewidth=0
        )
        unsettled(one, x, y, loaded)
        for row in loaded:
            one.annotate(f"  {row['loading_processors']} loading", (row["load_GBps"], row["ns"]), va="bottom")
        one.set_ylim(bottom=0)
        one.margins(x=0.2)
        one.set_xlabel("what the loading processors move (GB/s)")
        one.set_ylabel("time of a random load (ns)")
        one.set_title("Latency under load; band: minimum to 95th percentile", fontsize=10.5, loc="left")
    return figure
