"""Streams of the runtime that are always ready: they take issue slots, and do nothing else.

Their words are as far apart as those of any stream, and the stream that has been ready longest goes first.  The list of
their cycles is a ring, which is sorted because each new cycle is the latest.

While no thread of a program is ready, nothing is simulated: the state repeats after some cycles, so that a long stretch
is skipped (see `catch_up`).
"""

from __future__ import annotations

from ...loops.compiler import inline, merged
from . import layout
from .settings import Settings
from .state import Arrays, background_at, processor_at, totals_at

_ROUNDS = 3  # rounds that are simulated until the state repeats


@merged
def issue_background(m: Settings, s: Arrays, p: int, now: int) -> None:
    """Issue a word of the background stream that is ready longest."""
    row = processor_at(s, p)
    head = row[layout.NEXT_BACKGROUND]
    background_at(s, p)[head] = now + m.spacing
    row[layout.NEXT_BACKGROUND] = head + 1 if head + 1 < m.background else 0
    totals_at(s, p)[layout.BACKGROUND_ISSUED] += 1


@merged
def background_first(m: Settings, s: Arrays, p: int, since: int) -> bool:
    """Return True if a background stream is ready longer than a thread that is ready since a cycle."""
    return bool(m.background > 0 and background_at(s, p)[processor_at(s, p)[layout.NEXT_BACKGROUND]] < since)


@inline
def catch_up(m: Settings, s: Arrays, p: int, until: int) -> None:
    """Issue the words of the background at all cycles before ``until`` at which no thread was ready."""
    row = processor_at(s, p)
    cycle = row[layout.BACKGROUND_SEEN]
    row[layout.BACKGROUND_SEEN] = until
    if m.background == 0:
        return
    period = max(m.spacing, m.background)
    settled = cycle + _ROUNDS * period
    while cycle < until:
        if cycle == settled and until - cycle > period:
            rounds = (until - cycle) // period
            cycle += rounds * period
            totals_at(s, p)[layout.BACKGROUND_ISSUED] += rounds * m.background
            for k in range(m.background):
                background_at(s, p)[k] += rounds * period
            continue
        at = background_at(s, p)[row[layout.NEXT_BACKGROUND]]
        if at <= cycle:
            issue_background(m, s, p, cycle)
            cycle += 1
        else:
            cycle = min(at, until, settled) if cycle < settled else min(at, until)
