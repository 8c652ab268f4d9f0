"""Figure of clocks per instruction by the number of streams on one CPU (after figure 4 of the MTA evaluation)."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import GREY, Axis, Figure, Panel, Series
from smp._output.numbers import number
from smp.microbench.output.curves import Samples, column, curve, doubted, select

from .report import TITLES
from .rows import Instruction


def figures(found: Instruction, samples: Samples = None) -> Iterator[Figure]:
    """Describe mean and deviation of a stream's clocks per instruction."""
    panels = []
    for what, title in TITLES.items():
        rows = select(found.rows, "streams", what=what)
        streams, mean, deviation = (column(rows, name) for name in ("streams", "clocks_mean", "clocks_std"))
        lines = [
            curve("mean", rows, "streams", "clocks_mean", marker=0),
            Series("one standard\ndeviation", streams, kind="band", low=mean - deviation, high=mean + deviation),
            curve(
                "of the CPU, for\none instruction",
                rows,
                "streams",
                "total_clocks",
                colour=1,
                marker=1,
                dash="dashed",
            ),
        ]
        if rows:
            lines.append(Series("one stream's\ntimes s", [0, streams[-1]], [0, mean[0] * streams[-1]], colour=GREY))
        panels.append(Panel(Axis("streams on one CPU"), Axis("time per instruction", "clocks", low=0), lines, title))
    yield Figure(
        "instruction",
        _title(found),
        "clocks for an instruction of a stream, over all streams of all visits that count; ringed: not valid "
        "(after figure 4 of the MTA evaluation)",
        panels,
    )


def _title(found: Instruction) -> str:
    rows = select(found.rows, "streams", what="add")
    if len(rows) < 2:
        return "How long does an instruction take if streams take turns on a CPU?"
    alone, most = rows[0], rows[-1]
    ratio = number(most.clocks_mean / alone.clocks_mean)
    title = f"With {most.streams} streams on one CPU an addition takes {ratio} times as long as with {alone.streams}"
    return doubted(title, [alone, most])
