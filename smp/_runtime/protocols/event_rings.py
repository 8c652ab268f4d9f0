"""Rings of events: what a stream does and when, while a run is recorded.

    ring       │ COUNT │ ... │ event │ event │ ...          EVENTS of them; a new event takes the place of the oldest
    event      │ TIME, ns │ KIND │ AT │ OTHER │

    kind       noted by                        AT                          OTHER
    WAITS      who does not find a cell in     address of the cell         operation
               the state that it needs
    TRAPS      who gives its stream up         address of the cell         operation
    WAKES      who was served after that       0                           status
    GOES_ON    who has done the operation,     address of the cell         number of looks after the first one
               or whose wait was ended
    SERVES     who has served a waiter         0                           number of the waiter's record (``waiters``)
    STARTS     who starts a thread             0                           number of the thread
    BEGINS     the stream of the thread        0                           number of the thread
    ENDS       the stream of the thread        0                           number of the thread
    SENDS      who has posted a packet         network + 2 * its number    receiver
    GETS       who has taken a packet          network + 2 * its number    sender

RING of a stream's record is the address of its ring, or 0 while nothing is recorded.  Only the stream itself writes to
its ring, from machine code by `note` and from Python by ``memory.recording``.  Its processor reads the rings of all
its streams when the threads of the program have ended.
"""

from __future__ import annotations

from ..loops.atomics import Words, stamp, words_at
from ..loops.compiler import inline
from .waiters import NEXT, RECORD, RING

EVENTS = 1 << 16
"""Number of events of a ring, of 32 bytes each."""
COUNT, FIRST, EVENT = 0, 8, 4
RING_WORDS = FIRST + EVENT * EVENTS
TIME, KIND, AT, OTHER = range(EVENT)
WAITS, TRAPS, WAKES, GOES_ON, SERVES, STARTS, BEGINS, ENDS, SENDS, GETS = range(1, 11)


@inline
def note(own: Words, kind: int, at: int, other: int) -> None:
    """Note an event of this stream, if the run is recorded."""
    if own[RING] != 0:
        ring = words_at(own[RING], RING_WORDS)
        k = FIRST + EVENT * (ring[COUNT] % EVENTS)
        ring[k + TIME], ring[k + KIND], ring[k + AT], ring[k + OTHER] = stamp(), kind, at, other
        ring[COUNT] += 1


@inline
def note_served(own: Words, table: Words, r: int) -> None:
    """Note that this stream serves record ``r``, taken off its queue, and all behind it."""
    if own[RING] != 0:
        while r != 0:
            note(own, SERVES, 0, r)
            r = table[r * RECORD + NEXT]
