"""The report's section on starting streams and threads, and on remapping a stream with its accounting."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import percent, time
from smp._output.table import Cell, Column, Table, counted, share, text
from smp.microbench.output.format import by_placement, cells, flagged, judged
from smp.microbench.output.tera import MACHINE, REMAP, REMAP_AT_ONCE, REMAPPING, START
from smp.profiles.profile import Profile

from .rows import Threads

EVENTS = {
    "bare": "a plain Python thread starts",
    "stream": "a stream starts, with its thread",
    "thread": "a thread starts on an idle stream",
    "remap": "a waiting thread's stream is remapped",
    "at once": "  the same by a trap, without retries",
    "back": "  and back, when the other has ended",
    "next": "the next thread, when one has ended",
}
PARTS = {
    "looks": "the looks before the trap",
    "trap": "the trap (and withdrawing: upper bound)",
    "wake": "waking and switching to the other (futex)",
    "python": "its way back into Python",
    "call": "its call of a compiled loop with cells",
}


def _micro(name: str) -> Column:
    return Column(name, "us", scale=1e-3)


FROM_THE_CALL = {
    "ns": _micro("median"),
    "cycles": counted("clocks"),
    "mean_ns": _micro("mean"),
    "std_ns": _micro("deviation"),
    "windows": counted("events"),
}
PUBLISHED = {"stream": START, "remap": REMAP, "at once": REMAP_AT_ONCE}
MADE_OF = (text("part, measured separately"), _micro("median"), share(""), counted("events"))


def line(found: Threads) -> tuple[str, str] | None:
    """Return the heading and text of this section for the first screen."""
    times = {row.what: time(row.ns / 1e9) for row in found.rows}
    if not {"stream", "thread", "remap", "at once"} <= set(times):
        return None
    return (
        "Threads",
        f"a stream starts in {times['stream']}, a thread on an idle one in {times['thread']}; "
        f"remapping takes {times['remap']}, {times['at once']} by a trap",
    )


def tables(found: Threads, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which streams and threads were started."""
    rows = sorted(found.rows, key=lambda row: list(EVENTS).index(row.what))
    shown = []
    for row in rows:
        there = PUBLISHED.get(row.what)
        theirs: list[Cell] = [there.ns, there.value] if there else ["", ""]
        shown.append([*cells(EVENTS[row.what], row, *FROM_THE_CALL), *theirs])
    yield Table(
        "Time from the call until the thread runs (after tables 1 and 2)",
        (text(), *FROM_THE_CALL.values(), _micro("Tera MTA"), counted("Tera MTA clocks")),
        shown,
        (f"{MACHINE}: {', '.join(dict.fromkeys(one.place for one in PUBLISHED.values()))}, means", flagged(rows)),
    )
    named = [(EVENTS[row.what].strip(), row.ns, row.elsewhere_ns) for row in rows]
    yield from by_placement("The same by placement of the CPUs", "", named, found.placement)
    sums = found.accounting
    total, left = sums.total_ns, sums.total_ns - sums.explained_ns
    parts = sorted(found.parts, key=lambda row: list(PARTS).index(row.what))
    yield Table(
        f"What a remapping is made of, after {found.looks} looks and a trap, all on one CPU (after table 3)",
        MADE_OF,
        [
            *([judged(PARTS[row.what], row), row.ns, row.ns / total, row.windows] for row in parts),
            ["not explained", left, left / total, ""],
            [judged("remapping in all", found.whole), total, 1.0, found.whole.windows],
        ],
        (f"the parts explain {percent(sums.explained)}% of the time", flagged([*parts, found.whole])),
    )
    published: list[list[Cell]] = [[one.name, one.clocks, one.clocks / REMAP.value, one.left] for one in REMAPPING]
    yield Table(
        f"What it is made of on the {MACHINE} (table 3)",
        (text("part"), counted("clocks"), share(""), Column("left, as printed")),
        [*published, ["remapping in all", REMAP.value, 1.0, ""]],
    )
