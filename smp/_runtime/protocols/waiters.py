"""Records: what each stream that waits leaves in shared memory, and the queues made of them.

    table      │ none │ record 1 │ record 2 │ ...          in the machine's segment; a record for each OS thread

    STATUS     IDLE, WAITING or SERVED, in the low eight bits; its stream sleeps on it (futex)
    NEXT, LAST the record behind it in its queue; of the first in a queue also the last one
    BITS       the value it brings or is given            OP, WHERE, SINCE, UNTIL   what it waits for
    BARRIER_AT, ...   the same for the barrier; apart, since a loop at the barrier may run on another thread than the
               one whose record it was given, and which waits for something itself
    WATCHED    see ``watchdog``
    WAITS      goes up when a wait begins and when it ends: what is the same at two looks has waited all between
    OPERATE, ...                                          where the ``entry_points`` are, for compiled loops
    RETRIED, TRAPS                                        counters        ACTIVE   whether a thread has it

A queue is the number of its first record, 0 when nobody waits; whoever holds the lock of what it belongs to (a cell,
a team) alone changes it, and the fields NEXT, LAST and BITS of the records in it.  STATUS goes from IDLE to WAITING by
its own stream before it queues, to SERVED by whoever has taken it off the queue, after the lock is free again.  An
abort adds NUDGE to it, which changes the word and not the status: a sleep that is about to begin does not.
"""

from __future__ import annotations

from ..loops.atomics import Words, futex_wake, load, store, words_at
from ..loops.compiler import inline

RECORD = 64  # words of a record: 512 bytes
MOST = 1 << 16  # records of a machine, the one that is none included
TABLE_WORDS = RECORD * MOST

STATUS, NEXT, LAST, BITS, OP = 0, 1, 2, 3, 4
BARRIER_AT, BARRIER_SUM, BARRIER_SINCE, BARRIER_UNTIL = 5, 6, 7, 30
INDEX, RANK, STREAM, RETRIES, SLICE, TEAM, SHARED, TABLE = 8, 9, 10, 11, 12, 13, 14, 15
RETRIED, TRAPS, WAITS, WHERE, SINCE, UNTIL, POLLS, ATTENTIVE, WATCHED, ACTIVE = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25
OPERATE, FINISH, TRIED, PEEKED = 26, 27, 28, 29
PLACE = 32  # to the end: text, for people

IDLE, WAITING, SERVED = 0, 1, 2  # statuses
STATE = 255  # mask
NUDGE = 256


@inline
def record_at(address: int) -> Words:
    """The record at an address."""
    return words_at(address, RECORD)


@inline
def table_of(own: Words) -> Words:
    """The table of a record's machine."""
    return words_at(own[TABLE], TABLE_WORDS)


@inline
def enqueue(table: Words, first: int, r: int) -> int:
    """Put record ``r`` behind the queue that begins with ``first``; return its first."""
    table[r * RECORD + NEXT] = 0
    if first == 0:
        table[r * RECORD + LAST] = r
        return r
    last = table[first * RECORD + LAST]
    table[last * RECORD + NEXT] = r
    table[first * RECORD + LAST] = r
    return first


@inline
def behead(table: Words, first: int) -> int:
    """Take the first record off a queue; return the one that is first then."""
    after = table[first * RECORD + NEXT]
    if after != 0:
        table[after * RECORD + LAST] = table[first * RECORD + LAST]
    return int(after)


@inline
def unlink(table: Words, first: int, r: int) -> int:
    """Take record ``r`` out of a queue; return the first of the rest, or -1 if it is not in it."""
    if first == r:
        return behead(table, first)
    before = first
    while before != 0:
        after = table[before * RECORD + NEXT]
        if after == r:
            table[before * RECORD + NEXT] = table[r * RECORD + NEXT]
            if table[first * RECORD + LAST] == r:
                table[first * RECORD + LAST] = before
            return first
        before = after
    return -1


@inline
def tell(table: Words, r: int) -> None:
    """Tell record ``r``, taken off its queue, and all behind it that they are served.

    From then on each is its own stream's again: the next one's number is read before.
    """
    while r != 0:
        after = table[r * RECORD + NEXT]
        store(table, r * RECORD + STATUS, SERVED)
        futex_wake(table, r * RECORD + STATUS, 1)
        r = after


@inline
def begin_wait(own: Words, op: int, where: int, now: int, deadline: int) -> None:
    """Note what this stream waits for, before it queues: from here on it can be served."""
    own[OP], own[WHERE], own[SINCE], own[UNTIL] = op, where, now, deadline
    own[WAITS] += 1
    store(own, STATUS, WAITING)


@inline
def end_wait(own: Words) -> None:
    """Note that this stream goes on."""
    own[OP] = 0
    own[WAITS] += 1
    store(own, STATUS, IDLE)


@inline
def served(own: Words) -> bool:
    """Whether this stream has been served."""
    return bool(load(own, STATUS) & STATE == SERVED)
