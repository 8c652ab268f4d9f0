"""Figure of starting and remapping streams (after tables 1 to 3 of the MTA evaluation)."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.figure import COLOURS, GREY, Axis, Figure, Panel, Series
from smp._output.numbers import number, percent
from smp.microbench.output.curves import SPREAD, Samples, column, doubted, reasons

from .report import EVENTS, PARTS
from .rows import Threads

WHOLE = 3.0
"""Largest ratio of the axis to the longest bar; whiskers that reach farther are cut."""


def figures(found: Threads, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figure of the events as bars, and of a remapping and its parts."""
    yield Figure(
        "threads",
        doubted(
            f"Starting and remapping: the parts explain {percent(found.accounting.explained)}% of a remapping",
            [*found.parts, found.whole],
        ),
        "median; whiskers: minimum and 95th percentile, an arrow if they go on; ringed: not valid "
        "(after tables 1 to 3 of the MTA evaluation)",
        [_events(found), _parts(found)],
        columns=1,
    )


def _events(found: Threads) -> Panel:
    rows = sorted(found.rows, key=lambda row: list(EVENTS).index(row.what))
    us, low, high = (column(rows, name) / 1e3 for name in ("ns", *SPREAD))
    names = [f"{EVENTS[row.what].strip()}:\n{number(each)} us" for row, each in zip(rows, us, strict=True)]
    bars = Series("", us, range(len(rows)), "bar", low, high, invalid=reasons(rows))
    room = min(1.05 * high.max(), WHOLE * us.max())
    x = Axis("from the call until the thread runs", "us", low=0, high=room or None)
    return Panel(x, Axis(names=names), [bars])


def _parts(found: Threads) -> Panel:
    parts = sorted(found.parts, key=lambda row: list(PARTS).index(row.what))
    total, explained = found.accounting.total_ns / 1e3, found.accounting.explained_ns / 1e3
    times = [row.ns / 1e3 for row in parts] + [total - explained]
    starts = [sum(times[:k]) for k in range(len(times))]
    bars = []
    why = reasons([*parts, found.whole])  # the unexplained rest is valid only if all parts and the whole are
    why[-1] = "; ".join(one for one in why if one)
    for k, (start, each) in enumerate(zip(starts, times, strict=True)):
        colour, note = GREY if k == len(parts) else k % COLOURS, f"{number(each)} us, {percent(each / total)}%"
        bars.append(Series("", [each], [k], "bar", start=[start], notes=[note], colour=colour, invalid=[why[k]]))
    whole = [f"{number(total)} us"]
    bars.append(Series("", [total], [len(times)], "bar", notes=whole, invalid=reasons([found.whole])))
    names = [PARTS[row.what] for row in parts] + ["not explained", "remapping in all"]
    about = f"time of a remapping after {found.looks} looks and a trap, on one CPU, part by part"
    x = Axis(about, "us", low=0, high=1.25 * max(total, *starts, explained))
    return Panel(x, Axis(names=names), bars)
