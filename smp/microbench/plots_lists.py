"""Plots of list ranking: the interval of each algorithm (after figure 3 of the SMP paper), and the time of all
(after figure 17 of the MTA evaluation)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .plots_axes import COLOURS, GREY, MARKERS, Data, Rows, canvas, column, legend, log_plain, log_powers
from .report_lists import title_of

MOST_ROWS = 3
"""Numbers of processors in one picture of intervals: the largest."""
STYLES = ("-", "--", "-.", ":")


def intervals(profile: Data) -> Figure | None:
    """Draw measured times in their intervals, a panel for each p and algorithm; None without predictions."""
    rows = [row for row in (profile.get("lists") or {}).get("rows", []) if row.get("good_s") is not None]
    if not rows:
        return None
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    counts = sorted({row["p"] for row in rows})[-MOST_ROWS:]
    figure, axes = canvas(
        "List ranking between the best and the worst that the machine could make of it",
        "time of the supersteps: measured, and predicted from their accesses (after figure 3 of the SMP paper)",
        *(len(counts), len(algorithms)),
        right=0.88,
        sharex=True,
        sharey=True,
    )
    for i, p in enumerate(counts):
        for j, name in enumerate(algorithms):
            one = axes[i, j]
            mine = sorted((r for r in rows if (r["p"], r["algorithm"]) == (p, name)), key=lambda row: row["n"])
            n = column(mine, "n")
            good, bad, random = (per_element(mine, column(mine, f"{end}_s")) for end in ("good", "bad", "random"))
            one.fill_between(n, good, np.fmax(bad, random), color=COLOURS[5], alpha=0.3, linewidth=0, label="interval")
            one.plot(n, bad, "--", color=COLOURS[1], linewidth=1.4, label="bad")
            one.plot(n, random, ":", color=GREY, linewidth=1.6, label="random")
            one.plot(n, good, "--", color=COLOURS[2], linewidth=1.4, label="good")
            one.plot(n, per_element(mine, measured(mine)), "o-", color="black", markersize=4.5, label="measured")
            one.set_title(f"{title_of(name)}, p = {p}", fontsize=10.5, loc="left")
            log_powers(one.xaxis)
            log_plain(one.yaxis, (1, 3) if len(counts) > 1 else (1, 2, 5))
        axes[i, 0].set_ylabel("time per element (ns)")
    for one in axes[-1]:
        one.set_xlabel("elements")
    legend(axes[0, -1])
    return figure


def times(profile: Data, samples: NDArray[Any] | None = None) -> Figure | None:
    """Draw ns an element by n for every algorithm and p (figure 17); None where no list was ranked.

    Parameters
    ----------
    profile : mapping
    samples : structured array, optional
        Every repeat, as the probe leaves them: drawn as bars from the fastest to the slowest.
    """
    lists = profile.get("lists") or {}
    if not lists.get("rows"):
        return None
    bars = "; bars: the fastest to the slowest" if samples is not None else ""
    figure, ((axes,),) = canvas(
        "List ranking: below the black line, a parallel algorithm beats the serial loop",
        f"random lists, median of the repeats{bars} (after figure 17 of the MTA evaluation)",
        right=0.82,
    )
    serial = sorted(lists.get("serial", []), key=lambda row: row["n"])
    if serial:
        axes.plot(
            column(serial, "n"), column(serial, "ns_per_element"), "o-", color="black", linewidth=2.5, label="serial"
        )
        _spread(axes, samples, "serial", 1, "black")
    counts = sorted({row["p"] for row in lists["rows"]})
    for name, colour in zip(dict.fromkeys(row["algorithm"] for row in lists["rows"]), COLOURS, strict=False):
        for k, p in enumerate(counts):
            mine = [row for row in lists["rows"] if (row["algorithm"], row["p"]) == (name, p)]
            mine.sort(key=lambda row: row["n"])
            style = STYLES[(len(counts) - 1 - k) % len(STYLES)]
            axes.plot(
                *(column(mine, "n"), column(mine, "ns_per_element")),
                *(style,),
                color=colour,
                marker=MARKERS[k % len(MARKERS)],
                label=f"{title_of(name)}, p = {p}",
            )
            _spread(axes, samples, name, p, colour)
    log_powers(axes.xaxis)
    log_plain(axes.yaxis)
    axes.set_xlabel("elements of the list")
    axes.set_ylabel("time per element (ns)")
    legend(axes)
    return figure


def _spread(axes: Axes, samples: NDArray[Any] | None, algorithm: str, p: int, colour: str) -> None:
    """Draw how far the repeats of each point spread."""
    if samples is None:
        return
    mine = samples[(samples["algorithm"] == algorithm) & (samples["p"] == p)]
    for n in np.unique(mine["n"]):
        ns = mine["seconds"][mine["n"] == n] / n * 1e9
        axes.vlines(n, ns.min(), ns.max(), color=colour, linewidth=1.2, alpha=0.7)


def measured(rows: Rows) -> NDArray[np.float64]:
    """Return the seconds of the supersteps of each run, of the whole run where they are not told apart."""
    supersteps, whole = column(rows, "measured_s"), column(rows, "seconds")
    return np.where(np.isnan(supersteps), whole, supersteps)


def per_element(rows: Rows, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return seconds as ns an element."""
    return seconds / column(rows, "n") * 1e9
