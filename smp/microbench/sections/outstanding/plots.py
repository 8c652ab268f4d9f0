"""Plots of loads under way: bandwidth by depth and streams (after figure 14 of the MTA evaluation), and chains."""

from __future__ import annotations

from matplotlib.figure import Figure

from smp.microbench.output.axes import (
    COLOURS,
    GREY,
    MARKERS,
    Data,
    canvas,
    column,
    legend,
    log_plain,
    unsettled,
    whole_numbers,
)
from smp.microbench.output.format import size

from .report import misses

TITLES = {
    "far": ("Loads of lines anywhere in memory: depth hides latency, streams help where CPUs are free", "lines"),
    "near": ("Loads of the next word: as fast as the hardware fetches ahead", "words"),
}


def groups(profile: Data, order: str) -> Figure | None:
    """Draw bandwidth by depth, a line for each number of streams, a panel for each work and number of CPUs.

    Parameters
    ----------
    profile : mapping
    order : {"far", "near"}

    Returns
    -------
    Figure or None
        None where these loads were not measured.
    """
    rows = [row for row in (profile.get("outstanding") or {}).get("groups", []) if row["order"] == order]
    if not rows:
        return None
    works, places = (sorted({row[name] for row in rows}) for name in ("work", "cpus"))
    title, what = TITLES[order]
    figure, axes = canvas(
        title,
        f"{what} loaded by all streams together, median of the visits; ringed: not valid "
        "(after figure 14 of the MTA evaluation)",
        *(len(works), len(places)),
        right=0.87,
        sharex=True,
        sharey="row",
    )
    counts = sorted({row["streams"] for row in rows})
    for work, cpus in dict.fromkeys((row["work"], row["cpus"]) for row in rows):
        mine = [row for row in rows if (row["work"], row["cpus"]) == (work, cpus)]
        one = axes[works.index(work), places.index(cpus)]
        for k, streams in enumerate(counts):
            own = sorted((row for row in mine if row["streams"] == streams), key=lambda row: row["depth"])
            depth, rate = column(own, "depth"), column(own, "GBps")
            one.plot(
                *(depth, rate),
                marker=MARKERS[k % len(MARKERS)],
                color=COLOURS[k % len(COLOURS)],
                label=f"{streams} stream{'s' * (streams > 1)}",
            )
            unsettled(one, depth, rate, own)
        place = "one CPU, by turns" if cpus == 1 else f"{cpus} CPUs"
        one.set_title(f"{place}; {work or 'no'} operations on each word", fontsize=10.5, loc="left")
        whole_numbers(one.xaxis)
    for one in axes[:, 0]:  # the limits of a row are shared: set when all is drawn
        one.set_ylim(bottom=0)
        one.set_ylabel("bandwidth (GB/s)")
    for one in axes[-1]:
        one.set_xlabel("loads under way in a stream (depth)")
    legend(axes[0, -1])
    return figure


def chains(profile: Data) -> Figure | None:
    """Draw the time of a load by the number of chains in one thread; None where it was not measured."""
    data = profile.get("outstanding") or {}
    rows = data.get("chains") or []
    if not rows:
        return None
    found = data["sustained"]
    said = misses(found["misses"], found.get("flat"))
    figure, ((axes,),) = canvas(
        f"A core sustains {said}" + ": beyond, one more chain waits for a place" * bool(found.get("flat")),
        f"random cycle through {size(data['bytes'])}, one thread; band: minimum to 95th percentile; ringed: not valid",
        right=0.8,
    )
    count, ns = column(rows, "chains"), column(rows, "ns")
    axes.plot(count, ns, "o-", color=COLOURS[0], label="measured")
    axes.fill_between(
        count, column(rows, "minimum_ns"), column(rows, "p95_ns"), color=COLOURS[0], alpha=0.18, linewidth=0
    )
    axes.plot(count, found["latency_ns"] / count, "--", color=GREY, label="one chain's time\nover the chains")
    axes.axhline(found["best_ns"], color=COLOURS[1], linestyle=":", label="the best")
    axes.axvline(found["misses"], color=COLOURS[2], linestyle="-.", label=f"their ratio:\n{said}")
    unsettled(axes, count, ns, rows)
    axes.set_xscale("log", base=2)
    doubled = [k for k in count if k in {2**e for e in range(9)}]
    axes.set_xticks(doubled, [f"{k:.0f}" for k in doubled])
    axes.minorticks_off()
    log_plain(axes.yaxis)
    axes.set_xlabel("chains followed in turn")
    axes.set_ylabel("time per load (ns)")
    legend(axes)
    return figure
