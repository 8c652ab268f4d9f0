"""The report's section on starting streams and threads, and on remapping a stream, with the accounting of it."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import percent, time
from smp._output.table import Column, Table, counted, share, text
from smp.microbench.output.format import flagged, judged, listed
from smp.profiles.profile import Profile

from .rows import Threads

EVENTS = {
    "bare": "a thread of Python's own starts",
    "stream": "a stream starts, with its thread",
    "thread": "a thread starts on an idle stream",
    "remap": "a waiting thread's stream is remapped",
    "at once": "  the same by a trap, no retries",
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
    "what": text(),
    "ns": _micro("median"),
    "cycles": counted("clocks"),
    "mean_ns": _micro("mean"),
    "std_ns": _micro("deviation"),
    "minimum_ns": _micro("min."),
    "p95_ns": _micro("p95"),
    "windows": counted("events"),
}
MADE_OF = (text("part, measured by itself"), _micro("median"), share(""), counted("events"))


def line(found: Threads) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
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
    title = "From the call until the thread runs (after tables 1 and 2)"
    yield listed(title, FROM_THE_CALL, rows, names=EVENTS)
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
