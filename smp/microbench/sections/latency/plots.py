"""Plots of memory latency: by stride (after figure 3 of the MTA evaluation), as a map, and in random order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, GREY, Data, canvas, column, legend, log_bytes, log_plain, unsettled
from smp.microbench.output.format import size

CURVES = {
    "random": "random order, 4 KiB pages",
    "page_local": "random within a page, 4 KiB pages",
    "huge": "random order, huge pages",
}
MOST_NUMBERS, LARGE_NUMBERS = 500, 100
"""Cells of a map up to which each says its number, and up to which it does so in larger letters."""
BAND = "band: minimum to 95th percentile; ringed: not valid"


def strides(profile: Data) -> Figure | None:
    """Draw ns of a load by stride, a line for each array; None where that was not measured."""
    rows = (profile.get("latency") or {}).get("stride")
    if not rows:
        return None
    figure, ((axes,),) = canvas(
        "Latency by stride: a plateau for each level, a drop where few nodes are left",
        f"a load that waits for the one before, every s-th byte in order, 4 KiB pages; {BAND}",
        right=0.85,
    )
    arrays = sorted({row["bytes"] for row in rows})
    colours = colormaps["viridis_r"](np.linspace(0.05, 1, len(arrays)))
    for nbytes, colour in zip(arrays, colours, strict=True):
        mine = sorted((row for row in rows if row["bytes"] == nbytes), key=lambda row: row["stride"])
        x, y = column(mine, "stride"), column(mine, "ns")
        axes.plot(x, y, color=colour, marker=".", linewidth=1.5, label=size(nbytes))
        axes.fill_between(x, column(mine, "minimum_ns"), column(mine, "p95_ns"), color=colour, alpha=0.2, linewidth=0)
        unsettled(axes, x, y, mine)
    log_bytes(axes.xaxis, 8)
    log_plain(axes.yaxis)
    axes.set_xlabel("stride (bytes)")
    axes.set_ylabel("time of a load (ns)")
    legend(axes, "array", reverse=True)
    return figure


def stride_map(profile: Data) -> Figure | None:
    """Draw ns of a load by array and stride as a map; None where that was not measured."""
    rows = (profile.get("latency") or {}).get("stride")
    if not rows:
        return None
    # a stride that one array alone has is its size: a single node
    met = Counter(row["stride"] for row in rows)
    steps = sorted(stride for stride, arrays in met.items() if arrays > 1 or len(met) == len(rows))
    arrays = sorted({row["bytes"] for row in rows})
    ns = np.full((len(steps), len(arrays)), np.nan)
    for row in rows:
        if row["stride"] in steps:
            ns[steps.index(row["stride"]), arrays.index(row["bytes"])] = row["ns"]
    figure, ((axes,),) = canvas(
        "Latency by array and stride: the darker, the slower",
        "ns of a load that waits for the one before, every s-th byte in order, 4 KiB pages",
        right=1.03,
        bottom=0.13,
    )
    axes.grid(False)
    drawn = axes.pcolormesh(ns, norm=LogNorm(), cmap="viridis_r")
    axes.set_xticks(np.arange(len(arrays)) + 0.5, [size(n) for n in arrays], rotation=45, ha="right")
    axes.set_yticks(np.arange(len(steps)) + 0.5, [size(n) for n in steps])
    if np.isfinite(ns).sum() <= MOST_NUMBERS:
        letters = 7.5 if ns.size > LARGE_NUMBERS else 10
        middle = float(np.exp(np.nanmean(np.log(ns))))
        for (i, j), value in np.ndenumerate(ns):
            if np.isfinite(value):
                colour = "white" if value > middle else "black"
                text = f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
                axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=letters, color=colour)
    axes.set_xlabel("array (bytes)")
    axes.set_ylabel("stride (bytes)")
    bar = figure.colorbar(drawn, ax=axes, pad=0.015, label="time of a load (ns)")
    log_plain(bar.ax.yaxis)
    return figure


def random_order(profile: Data) -> Figure | None:
    """Draw ns of a load in random order by array, for each kind of page; None where that was not measured."""
    data = profile.get("latency") or {}
    curves = {name: label for name, label in CURVES.items() if data.get(name)}
    if not curves:
        return None
    figure, ((axes,),) = canvas(
        "Latency in random order: the caches' ends, and what page walks add beyond them",
        f"a load that waits for the one before, one node a line; {BAND}",
        top=0.82,
    )
    for (name, label), colour in zip(curves.items(), COLOURS, strict=False):
        rows = sorted(data[name], key=lambda row: row["bytes"])
        x, y = column(rows, "bytes"), column(rows, "ns")
        axes.plot(x, y, color=colour, marker="o", markersize=4.5, label=label)
        axes.fill_between(x, column(rows, "minimum_ns"), column(rows, "p95_ns"), color=colour, alpha=0.18, linewidth=0)
        unsettled(axes, x, y, rows)
    log_bytes(axes.xaxis, 4)
    log_plain(axes.yaxis)
    axes.set_xlabel("array (bytes)")
    axes.set_ylabel("time of a load (ns)")
    _knees(axes, data)
    axes.legend(loc="upper left", framealpha=1, edgecolor="none")
    return figure


def _knees(axes: Axes, data: Data) -> None:
    """Mark where each level ends: as found in the curve, and as the system reports."""
    low, high = axes.get_xlim()
    styles = {"found_bytes": ("found:", "-", "black", 1.015), "reported_bytes": ("system:", "--", GREY, 1.05)}
    for name, (title, style, colour, y) in styles.items():
        place: dict[str, Any] = {
            "transform": axes.get_xaxis_transform(),
            "va": "bottom",
            "color": colour,
            "fontsize": 9.5,
        }
        marked = [level for level in data.get("levels", []) if level.get(name)]
        if marked:
            axes.text(low, y, title, ha="left", **place)
        for level in marked:
            text = f"{level['name']} {size(level[name])}"
            if level[name] <= high:
                axes.axvline(level[name], color=colour, linestyle=style, linewidth=1, zorder=1)
                axes.text(level[name], y, text, ha="center", **place)
            else:
                axes.text(high, y, f"{text} >", ha="right", **place)
    axes.set_xlim(low, high)
