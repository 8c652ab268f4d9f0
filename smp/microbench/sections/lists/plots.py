"""Plots of list ranking: the interval of each algorithm (after figure 3 of the SMP paper), and the time of all
(after figure 17 of the MTA evaluation)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from smp.microbench.output.axes import COLOURS, GREY, Data, canvas, column, legend, log_plain, log_powers

from ..programs.plots import by_length, every_time, measured, of, per_element, spread
from .facts import title_of

MOST_ROWS = 3
"""Numbers of processors in one picture of intervals: the largest."""


def intervals(profile: Data) -> Figure | None:
    """Draw measured times in their intervals, a panel for each p and algorithm; None without predictions."""
    rows = [row for row in (profile.get("lists") or {}).get("rows", []) if row.get("good_s") is not None]
    if not rows:
        return None
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    counts = sorted({row["p"] for row in rows})[-MOST_ROWS:]
    figure, axes = canvas(
        "List ranking between the best and the worst that the machine could make of it",
        "supersteps with their computation: measured, and predicted from accesses (after figure 3 of the SMP paper)",
        *(len(counts), len(algorithms)),
        right=0.88,
        sharex=True,
        sharey=True,
    )
    for i, p in enumerate(counts):
        for j, name in enumerate(algorithms):
            one = axes[i, j]
            mine = of(rows, name, p)
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
    serial = by_length(lists.get("serial", []))
    if serial:
        axes.plot(
            column(serial, "n"), column(serial, "ns_per_element"), "o-", color="black", linewidth=2.5, label="serial"
        )
        spread(axes, samples, "serial", 1, "black")
    fast = by_length(lists.get("fast", []))
    if fast:
        axes.plot(
            column(fast, "n"), column(fast, "ns_per_element"), "s--", color=GREY, linewidth=2.5, label="fast form"
        )
    every_time(axes, lists["rows"], title_of, samples)
    log_powers(axes.xaxis)
    log_plain(axes.yaxis)
    axes.set_xlabel("elements of the list")
    axes.set_ylabel("time per element (ns)")
    legend(axes)
    return figure
