"""Records of what streams wait for, one for each stream, in shared memory; and the queues that consist of records.

    table      │ none │ record 1 │ record 2 │ ...          in the machine's segment; a record for each OS thread,
                                                       and one more for a handler that interrupts its wait

    STATUS     IDLE, WAITING or SERVED, in the low eight bits; its stream sleeps on it (futex)
    NEXT, LAST the record behind it in its queue; in the first record of a queue, also the last one
    BITS       the value it brings or is given            OP, WHERE, SINCE, UNTIL   what it waits for
    BARRIER_AT, ...   the same for the barrier; separate, because a loop at the barrier may run on another thread than
               the one whose record it was given, and the owner of the record may wait for something else
    WATCHED    see ``watchdog``
    WAITS      raised when a wait begins and when it ends: a stream that waits at two looks with the same WAITS has
               waited all the time in between, but for handlers of signals, which run between its slices of sleep
    INSIST, ...                                          addresses of ``entry_points``, for compiled loops
    RETRIED, TRAPS                                        counters        ACTIVE   1 while a thread uses the record
    RING       see ``event_rings``

A queue is identified by the number of its first record, which is 0 if it is empty.  Its owner is a cell or a team.
Only the holder of the owner's lock changes the queue, and the fields NEXT, LAST and BITS of the records in it.  STATUS
is changed from IDLE to WAITING by the record's own stream, before it queues.  It is changed to SERVED by the stream
that has taken the record off the queue, after the lock is free again.  An abort adds NUDGE to STATUS.  This changes
the word but not the status, so a sleep that is about to begin does not begin.
"""

from __future__ import annotations

from ..loops.atomics import Words, futex_wake, load, store, words_at
from ..loops.compiler import inline

RECORD = 64  # words of a record: 512 bytes
MOST = 1 << 16  # records of a machine, including record 0, which is none
TABLE_WORDS = RECORD * MOST

STATUS, NEXT, LAST, BITS, OP = 0, 1, 2, 3, 4
BARRIER_AT, BARRIER_SUM, BARRIER_SINCE, BARRIER_UNTIL = 5, 6, 7, 30
INDEX, RANK, STREAM, RETRIES, SLICE, TEAM, SHARED, TABLE = 8, 9, 10, 11, 12, 13, 14, 15
RETRIED, TRAPS, WAITS, WHERE, SINCE, UNTIL, POLLS, ATTENTIVE, WATCHED, ACTIVE = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25
INSIST, FINISH, TRIED, PEEKED = 26, 27, 28, 29
RING = 31
PLACE = 32  # from here to the end: text for messages

IDLE, WAITING, SERVED = 0, 1, 2  # statuses
STATE = 255  # mask
NUDGE = 256


@inline
def record_at(address: int) -> Words:
    """Return the record at an address."""
    return words_at(address, RECORD)


@inline
def table_of(own: Words) -> Words:
    """Return the table of a record's machine."""
    return words_at(own[TABLE], TABLE_WORDS)


@inline
def enqueue(table: Words, first: int, r: int) -> int:
    """Append record ``r`` to the queue that begins with ``first``; return the queue's first record."""
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
    """Take the first record off a queue; return the new first record."""
    after = table[first * RECORD + NEXT]
    if after != 0:
        table[after * RECORD + LAST] = table[first * RECORD + LAST]
    return int(after)


@inline
def unlink(table: Words, first: int, r: int) -> int:
    """Take record ``r`` out of a queue; return the first record of the rest, or -1 if ``r`` is not in it."""
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
    """Mark record ``r``, taken off its queue, and all behind it as served, and wake their streams.

    A record that is marked belongs to its own stream again, so the number of the next record is read first.
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
    """Return True if this stream has been served."""
    return bool(load(own, STATUS) & STATE == SERVED)
