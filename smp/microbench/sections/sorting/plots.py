"""Plots of sorting: measured times against both predictions (after figure 3 of the SMP paper), and all times beside
NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from smp.microbench.output.axes import COLOURS, GREY, MARKERS, Data, canvas, column, legend, log_plain, log_powers
from smp.microbench.output.format import by_streams

from ..programs.plots import by_length, every_time, measured, of, per_element, spread
from ..programs.report import few
from .report import FORM_TITLES, TITLES

FORMS = {"numpy": ("black", "-"), "fast": (GREY, "--")}


def predictions(profile: Data) -> Figure | None:
    """Draw measured times and the good or the bad prediction, a row for each p; None without predictions."""
    rows = [row for row in (profile.get("sorting") or {}).get("rows", []) if row.get("good_s") is not None]
    if not rows:
        return None
    counts = few(sorted({row["p"] for row in rows}))
    figure, axes = canvas(
        "Sorting between the best and the worst that the machine could make of it",
        "supersteps with their computation: measured, and predicted from accesses (after figure 3 of the SMP paper)",
        *(len(counts), 2),
        right=0.87,
        sharex=True,
        sharey=True,
    )
    for i, p in enumerate(counts):
        for one, end in zip(axes[i], ("good", "bad"), strict=True):
            for name, colour, marker in zip(TITLES, COLOURS, MARKERS, strict=False):
                mine = of(rows, name, p)
                n, seconds = column(mine, "n"), column(mine, f"{end}_s")
                if end == "bad":
                    seconds = np.fmax(seconds, column(mine, "random_s"))
                one.plot(n, per_element(mine, measured(mine)), marker=marker, color=colour, label=TITLES[name])
                one.plot(n, per_element(mine, seconds), "--", color=colour, label=f"_{TITLES[name]}, predicted")
            one.plot([], [], "--", color=GREY, label="predicted")
            bound = "the good end" if end == "good" else "the bad end (the larger of bad and random)"
            one.set_title(f"{bound}, p = {p}", fontsize=10.5, loc="left")
            log_powers(one.xaxis)
            log_plain(one.yaxis)
        axes[i, 0].set_ylabel("time per element (ns)")
    for one in axes[-1]:
        one.set_xlabel("keys")
    legend(axes[0, -1])
    return figure


def times(profile: Data, samples: NDArray[Any] | None = None) -> Figure | None:
    """Draw ns an element by n for every sort and p, NumPy's and the fast form; None where nothing was sorted.

    Parameters
    ----------
    profile : mapping
    samples : structured array, optional
        Every repeat, as the probe leaves them: drawn as bars from the fastest to the slowest.
    """
    data = profile.get("sorting") or {}
    if not data.get("rows") and not data.get("forms"):
        return None
    bars = "; bars: the fastest to the slowest" if samples is not None else ""
    figure, ((axes,),) = canvas(
        "Sorting: below the black line, faster than NumPy on one CPU",
        f"random keys of 32 bits, median of the repeats{bars}",
        right=0.82,
    )
    for name, (colour, style) in FORMS.items():
        mine = by_length([form for form in data.get("forms", []) if form["form"] == name])
        if mine:
            streams = mine[-1].get("streams")
            label = FORM_TITLES[name] + (f", {by_streams(streams)}" if name == "fast" else "")
            n, ns = column(mine, "n"), column(mine, "ns_per_element")
            axes.plot(n, ns, style, marker="o", color=colour, linewidth=2.5, label=label)
            spread(axes, samples, name, streams or 1, colour)
    every_time(axes, data.get("rows", []), TITLES.__getitem__, samples)
    log_powers(axes.xaxis)
    log_plain(axes.yaxis)
    axes.set_xlabel("keys")
    axes.set_ylabel("time per element (ns)")
    legend(axes)
    return figure
