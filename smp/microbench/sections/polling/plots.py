"""Figure of the cost of polling: the time of a bandwidth-bound stream by the number of pollers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from smp._output.figure import GREY, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import fixed
from smp.microbench.output.curves import Samples, column, doubted, nth, reasons, select

from .report import PLACES, most_pollers, title_of
from .rows import Poll, Polling

ASIDE = 0.15
"""Distance between the points of one number of pollers, as a part of the distance to the next number."""


def figures(found: Polling, samples: Samples = None) -> Iterator[Figure]:
    """Describe the slow-down by number of pollers, with a series for each limit and a panel for each place."""
    limits = sorted({row.limit for row in found.rows if row.pollers}, key=lambda limit: (limit is None, limit or 0))
    panels = []
    for place, where in PLACES.items():
        mine = select(found.rows, "pollers", place=place)
        if not mine:
            continue
        counts = sorted({row.pollers for row in mine if row.pollers})
        series = [
            _slowdowns(title_of(limit), [row for row in mine if row.pollers and row.limit == limit], counts, k)
            for k, limit in enumerate(limits)
        ]
        at, highest = range(len(counts)), column(mine, "slowdown").max()
        if place == "beside":
            shares = [1 + many for many in counts]
            look: dict[str, Any] = {"colour": GREY, "marker": 5, "hollow": True}
            series.append(Series("an equal share\nof the CPU", at, shares, "points", **look))
            highest = max(highest, *shares)
        names = [str(many) for many in counts]
        x = Axis("pollers of one empty cell", "streams", low=-0.5, high=len(names) - 0.5, names=names)
        y = Axis("time of triad over that without pollers", "times", low=0, high=max(2.0, 1.1 * highest))
        as_alone = Mark(1.0, text="without pollers", axis="y", colour=GREY, dash="dotted")
        panels.append(Panel(x, y, series, f"pollers {where}", [as_alone]))
    yield Figure(
        "polling",
        _title(found),
        "triad on one CPU, median of the visits; bars: bounds by the quartiles, an arrow if they go on; "
        "ringed: not valid (what the MTA evaluation left undone)",
        panels,
        legend="looks until\na wait traps",
    )


def _slowdowns(name: str, rows: Sequence[Poll], counts: Sequence[int], k: int) -> Series:
    """Return the points of the kth limit, shifted slightly sideways so that they do not cover those of other limits."""
    x = [counts.index(row.pollers) + ASIDE * (k - 1) for row in rows]
    spread: dict[str, Any] = {"low": column(rows, "slowdown_low"), "high": column(rows, "slowdown_high")}
    return Series(name, x, column(rows, "slowdown"), "points", spread="bars", invalid=reasons(rows), **spread, **nth(k))


def _title(found: Polling) -> str:
    ever = {place: most_pollers(found, place, None) for place in PLACES}
    said = [f"{fixed(row.slowdown)} {PLACES[place]}" for place, row in ever.items() if row]
    if not said:
        return "What does a bandwidth-bound stream pay for those that poll an empty cell?"
    most = max(row.pollers for row in ever.values() if row)
    title = f"{most} streams that poll for ever slow triad down by a factor of {', '.join(said)}"
    return doubted(title, [row for row in ever.values() if row])
