"""Plots of the cost functions, after figures 1 and 2 of the SMP paper: measured points, predicted lines.

Times are drawn over h, where the paper draws them as they are: so an error of a fifth is seen at every size, and
not at the largest alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from smp.microbench.output.axes import COLOURS, Data, Rows, canvas, column, legend, log_powers
from smp.models.supersteps.cost import predict

FAMILIES = ("good", "bad", "random")
"""The families by their numbers in the samples."""
KINDS = ("like-gather", "like-scatter", "vary")
FUNCTIONS = {"good": ("H", "HM", "HrHw", "HrHwM-c"), "bad": ("H", "HM", "HrHw", "HrHwM")}
LINES = {"H": (":", COLOURS[1]), "HM": ("-.", COLOURS[4]), "HrHw": ("--", COLOURS[2]), "HrHwM": ("-", COLOURS[0])}
SUITES = {"good": 2, "bad": 1, "vary": 3}
"""What the paper shows: of gather and scatter a suite that the functions were not fitted on; of vary, suite 3."""
SHARE = 5 / 8
"""x over p in the paper's figure 1."""


def predicted(access: Data, family: str, p: int, name: str, rows: Rows) -> NDArray[np.float64]:
    """Return the seconds that a cost function charges for patterns.

    Parameters
    ----------
    access : mapping
        The profile's "access".
    family, p, name : str, int, str
    rows : sequence of mapping
        With ``hr``, ``hw`` and ``m``.

    Returns
    -------
    ndarray of float64
        By the function of the set (R0, R1) that each pattern is in, else by the one for all; NaN without one.
    """
    tiers = [math.inf if tier["words"] is None else float(tier["words"]) for tier in access["tiers"]]
    of_set = {
        row["set"]: row for row in access["functions"] if (row["family"], row["p"], row["name"]) == (family, p, name)
    }
    hr, hw, m = (column(rows, count) for count in ("hr", "hw", "m"))
    edge = access.get("private_words") or math.inf
    small = np.maximum(hr, hw) <= edge
    seconds = np.full(len(rows), np.nan)
    for label, chosen in (("all", small | True), ("R0", small), ("R1", ~small)):
        if label in of_set and (label == "all" or edge < math.inf):
            seconds = np.where(chosen, predict(of_set[label], hr, hw, m, tiers), seconds)
    return seconds


def every_function(profile: Data, samples: NDArray[Any] | None = None) -> Figure | None:
    """Draw measured and predicted times of patterns by h, for every function (figure 1); None without patterns.

    Parameters
    ----------
    profile : mapping
    samples : structured array, optional
        Every superstep, as the probe leaves them; their spread is drawn with the points.
    """
    access = profile.get("access") or {}
    p = _largest(access)
    if p == 0:
        return None
    shown = [kind for kind in KINDS if any(_patterns(access, family, p, kind)[0] for family in FUNCTIONS)]
    bars = ", with 5th to 95th percentile" if samples is not None else ""
    figure, axes = canvas(
        "Cost functions: the nearer the line runs to the points, the better its function predicts",
        f"p = {p}; points: measured{bars}; lines: predicted (after figure 1 of the SMP paper)",
        *(len(FUNCTIONS), len(shown)),
        right=0.88,
        sharex=True,
        sharey="row",
    )
    for i, family in enumerate(FUNCTIONS):
        for j, kind in enumerate(shown):
            rows, suite = _patterns(access, family, p, kind)
            _measured_and_predicted(axes[i, j], access, family, p, rows)
            if samples is not None:
                _spread(axes[i, j], access, samples, rows)
            x = f", x = {rows[0]['x']}" if rows else ""
            axes[i, j].set_title(f"{family.title()}, {kind}{x}, suite {suite}", fontsize=10.5, loc="left")
            log_powers(axes[i, j].xaxis)
        _from_zero(axes[i])
        axes[i, 0].set_ylabel("time of a superstep over h (ns per word)")
        legend(axes[i, -1])
    for one in axes[-1]:
        one.set_xlabel("h (words)")
    return figure


def h_against_best(profile: Data) -> Figure | None:
    """Draw like-gather times of the Bad family by h and x, predicted by H and by HrHwM (figure 2); or None."""
    access = profile.get("access") or {}
    p = _largest(access)
    rows = [row for row in _of(access, "bad", p, 1) if row["kind"] == "like-gather" or row["x"] == p]
    if p < 2 or not rows:  # one processor has one x, and its M says nothing new
        return None
    figure, axes = canvas(
        "H charges every x alike; HrHwM follows the writes and the total",
        f"Bad, like-gather: x of {p} processors read h words, all write h x / {p}; lines: predicted (after figure 2)",
        columns=2,
        right=0.9,
        sharex=True,
        sharey=True,
    )
    numbers = sorted({row["x"] for row in rows})
    for one, name in zip(axes[0], ("H", "HrHwM"), strict=True):
        for x, colour in zip(numbers, COLOURS * len(numbers), strict=False):
            mine = sorted((row for row in rows if row["x"] == x), key=lambda row: row["h"])
            h = column(mine, "h")
            one.plot(h, column(mine, "seconds") / h * 1e9, "o", color=colour, markersize=5, label=f"x = {x}")
            one.plot(h, predicted(access, "bad", p, name, mine) / h * 1e9, color=colour, linewidth=1.3)
        one.set_title(f"predicted by {name}", fontsize=10.5, loc="left")
        log_powers(one.xaxis)
        one.set_xlabel("h (words)")
    _from_zero(axes[0])
    axes[0, 0].set_ylabel("time of a superstep over h (ns per word)")
    legend(axes[0, -1])
    return figure


def _largest(access: Data) -> int:
    """The largest p that has functions and patterns; 0 where there is none."""
    fitted = {row["p"] for row in access.get("functions", [])}
    return max((row["p"] for row in access.get("patterns", []) if row["p"] in fitted), default=0)


def _of(access: Data, family: str, p: int, suite: int) -> list[Any]:
    asked = (family, p, suite)
    return [row for row in access.get("patterns", []) if (row["family"], row["p"], row["suite"]) == asked]


def _patterns(access: Data, family: str, p: int, kind: str) -> tuple[list[Any], int]:
    """The patterns of one panel, by h, and their suite."""
    suite = SUITES["vary" if kind == "vary" else family]
    rows = [row for row in _of(access, family, p, suite) if row["kind"] == kind]
    x = min({row["x"] for row in rows}, key=lambda x: abs(x - SHARE * p), default=0)
    return sorted((row for row in rows if row["x"] == x), key=lambda row: row["h"]), suite


def _measured_and_predicted(axes: Axes, access: Data, family: str, p: int, rows: Rows) -> None:
    h = column(rows, "h")
    axes.plot(h, column(rows, "seconds") / h * 1e9, "o", color="black", markersize=4.5, label="measured", zorder=4)
    for name in FUNCTIONS[family]:
        style, colour = LINES[name.removesuffix("-c")]
        axes.plot(h, predicted(access, family, p, name, rows) / h * 1e9, style, color=colour, linewidth=1.6, label=name)


def _from_zero(row: NDArray[Any]) -> None:
    """Let the common y axis begin at zero and hold all points and lines; a bar may go beyond."""
    drawn = np.concatenate([line.get_ydata() for axes in row for line in axes.get_lines()])
    row[0].set_ylim(0, 1.1 * np.nanmax(drawn, initial=1e-3))


def _spread(axes: Axes, access: Data, samples: NDArray[Any], rows: Rows) -> None:
    """Draw how far the clean supersteps of each pattern spread: 5th to 95th percentile."""
    for row in rows:
        of_suite = _of(access, row["family"], row["p"], row["suite"])
        index = next(i for i, other in enumerate(of_suite) if other is row)
        mine = samples[
            (samples["family"] == FAMILIES.index(row["family"]))
            & (samples["p"] == row["p"])
            & (samples["suite"] == row["suite"])
            & (samples["pattern"] == index)
        ]
        clean = mine[mine["clean"]] if mine["clean"].any() else mine
        if clean.size:
            low, high = np.percentile(clean["copy_in_ns"] + clean["copy_out_ns"], [5, 95]) / row["h"]
            axes.vlines(row["h"], low, high, color="black", linewidth=1.2)
