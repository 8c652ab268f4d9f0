"""Plot of list ranking by streams: time per element (after figures 18 to 20 of the MTA evaluation)."""

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
    log_powers,
    unsettled,
)

from .report import TITLES


def times(profile: Data) -> Figure | None:
    """Draw ns an element by n, a line for each number of streams; None where it was not measured."""
    data = profile.get("fine") or {}
    rows = data.get("rows") or []
    if not rows:
        return None
    algorithms = [name for name in TITLES if any(row["algorithm"] == name for row in rows)]
    figure, axes = canvas(
        "List ranking by streams: below the black line, streams beat the serial loop",
        "random lists, median; bars: the fastest to the slowest; ringed: not valid (after figures 18 to 20 of the MTA "
        "evaluation)",
        columns=len(algorithms),
        right=0.865,
        gap=0.06,
        sharey=True,
    )
    serial = sorted(data.get("serial", []), key=lambda row: row["n"])
    counts = sorted({row["streams"] for row in rows})
    for one, name in zip(axes[0], algorithms, strict=True):
        n = column(serial, "n")
        one.plot(n, column(serial, "ns_per_element"), "-", color="black", linewidth=2.5, label="serial")
        for k, streams in enumerate(counts):
            mine = [row for row in rows if (row["algorithm"], row["streams"]) == (name, streams)]
            mine.sort(key=lambda row: row["n"])
            n, ns = column(mine, "n"), column(mine, "ns_per_element")
            colour = COLOURS[k % (len(COLOURS) - 1)]  # black is the serial loop's
            label = f"{streams} stream{'s' * (streams > 1)}"
            one.plot(n, ns, marker=MARKERS[k % len(MARKERS)], color=colour, label=label)
            one.vlines(
                n, column(mine, "minimum_ns"), column(mine, "maximum_ns"), color=colour, linewidth=1.2, alpha=0.7
            )
            unsettled(one, n, ns, mine)
        setup = [row["seconds"] for row in data.get("setup", []) if row["algorithm"] == name]
        if setup:
            n = column(serial, "n")
            one.plot(n, min(setup) / n * 1e9, ":", color=GREY, label="start of a run\nwith 1 stream")
        log_powers(one.xaxis)
        log_plain(one.yaxis)
        one.set_title(TITLES[name], fontsize=10.5, loc="left")
        one.set_xlabel("elements of the list")
    axes[0, 0].set_ylabel("time per element (ns)")
    legend(axes[0, -1])
    return figure
