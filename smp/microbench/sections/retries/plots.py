"""Figure of the retries before a trap: their number against the limit, and their time (after figure 7's program)."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import GREY, Axis, Figure, Panel, Series
from smp._output.numbers import number
from smp.microbench.output.curves import BAND, SPREAD, Samples, column, curve, select

from .report import looks_said
from .rows import Retries


def figures(found: Retries, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figure of the counted retries, and of the time until the trap, by limit."""
    rows = select(found.rows, "limit")
    limit = column(rows, "limit")
    x, counter = (
        Axis(name, scale="symlog", low=-0.3, high=3 * limit.max()) for name in ("retry limit", "retries counted")
    )
    counts = [
        Series("as set", limit, limit, colour=GREY),
        Series("fewest counted", limit, column(rows, "counted_least"), "points", hollow=True, bold=True),
        Series("most counted", limit, column(rows, "counted_most"), "points", marker=6),
    ]
    looks = (rows[0].ns + limit * found.look_ns) / 1e3
    times = [
        curve("until the trap", rows, "limit", "ns", SPREAD, 1e-3, colour=1, marker=1),
        Series("limit times a\nlook, plus the\nfirst", limit, looks, colour=GREY, dash="dashed"),
    ]
    trap = Axis("time", "us", "log")
    yield Figure(
        "retries",
        f"A wait {looks_said(found)}; a look takes {number(found.look_ns)} ns",
        f"left: what the stream's counter says; right: median; {BAND}; ringed: not valid",
        [
            Panel(x, counter, counts, "looks that a stream counts before its trap"),
            Panel(x, trap, times, "until a wait has trapped and withdrawn, from Python"),
        ],
    )
