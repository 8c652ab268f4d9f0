"""Plot of the retries before a trap: counted against set, and the time they take (after figure 7's program)."""

from __future__ import annotations

from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, GREY, Data, canvas, column, legend, unsettled
from smp.microbench.output.format import number


def counted(profile: Data) -> Figure | None:
    """Draw the counted retries and the time until the trap by the limit; None where it was not measured."""
    data = profile.get("retries") or {}
    rows = data.get("rows") or []
    if not rows:
        return None
    figure, axes = canvas(
        f"A wait traps after as many looks as were set, of {number(data['look_ns'])} ns each",
        "left: what the stream's counter says; right: until a wait has trapped and withdrawn, from Python, median; "
        "ringed: not valid",
        columns=2,
        right=0.86,
        gap=0.2,
    )
    limit = column(rows, "limit")
    left, right = axes[0]
    left.plot(limit, limit, "-", color=GREY, label="as set")
    for name, marker in (("counted_least", "o"), ("counted_most", "x")):
        left.plot(limit, column(rows, name), marker, color=COLOURS[0], markersize=9, label=name.replace("_", ", "))
    left.set_yscale("symlog", linthresh=1)
    left.set_ylabel("retries counted")
    us = column(rows, "ns") / 1e3
    right.plot(limit, us, "s-", color=COLOURS[1], label="until the trap")
    right.fill_between(
        limit,
        column(rows, "minimum_ns") / 1e3,
        column(rows, "p95_ns") / 1e3,
        color=COLOURS[1],
        alpha=0.18,
        linewidth=0,
        label="minimum to\n95th percentile",
    )
    right.plot(
        limit, us[0] + limit * data["look_ns"] / 1e3, "--", color=GREY, label="limit times a\nlook, and the\nfirst"
    )
    unsettled(right, limit, us, rows)
    right.set_yscale("log")
    right.set_ylabel("time (us)")
    for one in (left, right):
        one.set_xscale("symlog", linthresh=1)
        one.set_xlim(left=-0.3)
        one.set_xlabel("retry limit")
    handles = [handle for one in (left, right) for handle in one.get_legend_handles_labels()[0]]
    legend(right, handles=handles)
    return figure
