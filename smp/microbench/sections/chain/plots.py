"""Plot of a value that is passed on, after figures 10 and 11 of the MTA evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, MARKERS, Data, canvas, legend
from smp.microbench.sections.waking.plots import PARTS, draw_parts

from . import report

LINES = {"mass": "-", "chained": "--", "packed": ":"}


def chain(profile: Data) -> Figure | None:
    """Draw the time of passing a value on, in all and per stream; None where it was not measured."""
    data = profile.get("chain") or {}
    rows = data.get("rows") or []
    if not rows:
        return None
    figure, axes = canvas(
        "Passing a value on: one cell against a chain of cells",
        f"a value through the hands of all, median of the visits; {data['cpus']} CPUs; ringed: not valid "
        "(after figures 10 and 11 of the MTA evaluation)",
        columns=2,
        right=0.82,
        gap=0.18,
    )
    works = sorted({row["work"] for row in rows})

    def style(how_work: Any) -> Mapping[str, Any]:
        how, work = how_work
        k = works.index(work)
        label = f"{report.TITLES[how]},\n{work} iterations"
        return {"linestyle": LINES[how], "color": COLOURS[k], "marker": MARKERS[list(LINES).index(how)], "label": label}

    draw_parts(axes[0], rows, lambda row: (row["how"], row["work"]), style)
    for one, (_, title) in zip(axes[0], PARTS, strict=True):
        one.set_title(title, fontsize=10.5, loc="left")
        one.set_xlabel("streams")
    axes[0, 0].set_ylabel("time (us)")
    legend(axes[0, 1], title="cells, work")
    return figure
