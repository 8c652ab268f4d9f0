"""Streams that sleep in a futex, in groups of addresses: of each group a list in the order in which they fell asleep.

buckets[2 * group]  first  ⇄  stream  ⇄  stream  ⇄  last  buckets[2 * group + 1]
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline
from ..virtual_time import FOREVER, NANOSECOND
from . import by_step
from .heap import push, take
from .layout import (
    ASLEEP_ON,
    BUCKETS,
    GROUPS,
    NEVER,
    NEXT,
    NONE,
    NOW,
    PREVIOUS,
    READY,
    ROW,
    RUNS,
    SINCE,
    TIMED,
    UNTIL,
    VAIN,
    WAITING,
    WOKEN,
    rows_of,
)


@inline
def begin(header: Words, stream: int) -> None:
    """Let a stream run that is new, or was woken."""
    row = rows_of(header)[stream * ROW :]
    row[RUNS] = 1
    header[READY] += 1
    by_step.insert(header, stream)
    push(header, WAITING, stream, row[NOW])


@inline
def rest(header: Words, stream: int) -> None:
    """Drop a running stream that cannot go on: it sleeps, or has ended."""
    rows_of(header)[stream * ROW + RUNS] = 0
    header[READY] -= 1
    by_step.remove(header, stream)


@inline
def _group(header: Words, address: int) -> Words:
    return words_at(header[BUCKETS], 2 * GROUPS)[2 * ((address >> 3 ^ address >> 13) & GROUPS - 1) :]


@inline
def in_picoseconds(nanoseconds: int) -> int:
    """Return the length of a sleep in ps; NEVER if it has no end."""
    return NEVER if nanoseconds >= FOREVER else nanoseconds * NANOSECOND


@inline
def sleep(header: Words, stream: int, address: int, picoseconds: int) -> None:
    """Let the running stream sleep on the word at an address; if the time is NEVER, only a wake-up ends the sleep."""
    rows = rows_of(header)
    row = rows[stream * ROW :]
    row[ASLEEP_ON], row[SINCE] = address, row[NOW]
    rest(header, stream)
    header[VAIN] = 0
    group = _group(header, address)
    last = group[1]
    row[PREVIOUS], row[NEXT] = last, NONE
    if last == NONE:
        group[0] = stream
    else:
        rows[last * ROW + NEXT] = stream
    group[1] = stream
    if picoseconds != NEVER:
        row[UNTIL] = row[NOW] + picoseconds
        header[TIMED] += 1
        push(header, WAITING, stream, row[UNTIL])


@inline
def wake(header: Words, stream: int, now: int) -> None:
    """End a stream's sleep at time ``now``, which is its waker's time or its deadline."""
    rows = rows_of(header)
    row = rows[stream * ROW :]
    group = _group(header, row[ASLEEP_ON])
    earlier, later = row[PREVIOUS], row[NEXT]
    if earlier == NONE:
        group[0] = later
    else:
        rows[earlier * ROW + NEXT] = later
    if later == NONE:
        group[1] = earlier
    else:
        rows[later * ROW + PREVIOUS] = earlier
    if row[UNTIL] != NEVER:
        take(header, stream)
        header[TIMED] -= 1
    row[ASLEEP_ON], row[UNTIL] = 0, NEVER
    row[NOW] = max(row[NOW], now) + header[WOKEN]
    header[VAIN] = 0
    begin(header, stream)


@inline
def wake_on(header: Words, address: int, count: int, now: int) -> int:
    """Wake the first ``count`` streams that sleep on a word; return how many there were."""
    rows, woken = rows_of(header), 0
    stream = _group(header, address)[0]
    while stream != NONE and woken < count:
        later = rows[stream * ROW + NEXT]
        if rows[stream * ROW + ASLEEP_ON] == address:
            wake(header, stream, now)
            woken += 1
        stream = later
    return woken
