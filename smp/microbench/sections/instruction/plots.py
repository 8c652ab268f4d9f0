"""Plot of clocks per instruction by the number of streams on one CPU (after figure 4 of the MTA evaluation)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, GREY, Data, canvas, column, legend, unsettled, whole_numbers

from .report import TITLES


def clocks(profile: Data) -> Figure | None:
    """Draw mean and deviation of a stream's clocks per instruction; None where it was not measured."""
    rows = (profile.get("instruction") or {}).get("rows") or []
    if not rows:
        return None
    figure, axes = canvas(
        "An instruction of a stream, by the number of streams that take turns on a CPU",
        "clocks for an instruction of a stream, over all streams of all visits; ringed: not valid "
        "(after figure 4 of the MTA evaluation)",
        columns=len(TITLES),
        right=0.84,
        gap=0.2,
    )
    for one, (what, title) in zip(axes[0], TITLES.items(), strict=True):
        mine = sorted((row for row in rows if row["what"] == what), key=lambda row: row["streams"])
        streams, mean, deviation = (column(mine, name) for name in ("streams", "clocks_mean", "clocks_std"))
        one.plot(streams, mean, "o-", color=COLOURS[0], label="mean")
        for sign, label in ((-1, "one standard\ndeviation"), (1, None)):
            one.plot(streams, mean + sign * deviation, ":", color=COLOURS[0], label=label)
        if mine:
            one.plot(
                streams, column(mine, "total_clocks"), "s--", color=COLOURS[1], label="of the CPU, for\none instruction"
            )
            ends = np.array([0, streams[-1]])
            one.plot(ends, mean[0] * ends, "-", color=GREY, linewidth=1, label="one stream's\ntimes s")
            unsettled(one, streams, mean, mine)
        one.set_title(title, fontsize=10.5, loc="left")
        one.set_xlabel("streams on one CPU")
        one.set_ylim(bottom=0)
        whole_numbers(one.xaxis)
    axes[0, 0].set_ylabel("time per instruction (clocks)")
    legend(axes[0, -1])
    return figure
