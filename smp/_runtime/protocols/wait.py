"""Waiting for a shared word to change: a wait spins, then blocks. It ends at its deadline or an abort at the latest.

Every processor has a few private words of its own (``sync``, int64).  The first of them is the address of the words
that all processors share.  The shared words on which threads wait lie on different cache lines, so that spinning on
one does not disturb the use of another:

    shared     written by                               read by
    ABORT      compare_exchange from 0, by the thread   every wait, at each look
               that reports the first failure
    DEATHS     the parent, when a processor has ended   a waiter for a lock that is not released
               or is about to be killed
    PRINTED    a processor, before its first lines       the parent, which then looks for lines in the rings
               of a run
    BARRIER    see ``barriers``: TURNS words, in turn
    SLEEPERS   see ``barriers``
    INBOXES    fetch_add, by a processor that sleeps in    the last processor to arrive at a barrier
               its inbox for the end of a barrier
    LOWERED    see ``flags``
    RECORDS    fetch_add, by a stream that joins; at     `abort`, and the deadlock check
               a restart compare_exchange, by the
               parent, unless a stream joins meanwhile
    TABLE      the machine's maker, once: distance in   every stream that joins, all that read records
               bytes from these words to the records
               (``waiters``)
    INBOX      the machine's maker, once: distance in      `abort`, and all that notify an inbox (``inboxes``)
               bytes to the inboxes
    PROCESSORS the machine's maker, once: their number     `abort`
    MESSAGING  1, by a processor that begins to use        the parent, which then clears rings and inboxes before
               messages                                    the next run
    WATCH      fetch_add, by the parent that asks       the watches (``watchdog``)

    private    SHARED (the address), SIZE (processors), RETRIES (looks before a wait blocks), SLICE (ns of the longest
               sleep), RECORD_AT (address of the record in which a wait at the barrier is noted), ROUND, LEFT,
               EXPECTED and VOTES (see ``barriers``), PROBES (see ``placement``); written by the processor itself,
               between runs, in its barrier or in its probe

ABORT holds 0, or ``kind + 256 * (rank + 1)`` of the first failure; the parent clears it when every processor is idle.
A stream that waits in a queue stores its status before it looks at ABORT, and `abort` stores ABORT before it looks
for waiting streams.  So the stream sees the abort, or `abort` sees the stream.  At the barrier, a waiter that misses
the wake-up of an abort finds the abort at the end of its slice.
"""

from __future__ import annotations

from numbers import Real

from ..loops.atomics import Words, clock, compare_exchange, fetch_add, futex_wait, futex_wake, load, pause, words_at
from ..loops.compiler import inline
from .inboxes import notify_all
from .waiters import IDLE, NUDGE, RECORD, STATE, STATUS, TABLE_WORDS, served
from .waiters import SHARED as SHARED_AT
from .waiters import SLICE as LONGEST

TURNS = 8  # words of the barrier, a power of two
ABORT, DEATHS, PRINTED, BARRIER = 0, 1, 2, 16  # BARRIER, BARRIER + 16, ... in turn
SLEEPERS = BARRIER + 16 * TURNS
INBOXES = SLEEPERS + 1
LOWERED = SLEEPERS + 16
OF_A_RUN = LOWERED + 16  # the words before this one are zeroed at the start of each run
RECORDS, TABLE, WATCH, INBOX, PROCESSORS, MESSAGING = range(OF_A_RUN, OF_A_RUN + 6)
SHARED_WORDS = OF_A_RUN + 8
SHARED, SIZE, RETRIES, SLICE, RECORD_AT, ROUND, LEFT = 0, 1, 2, 3, 4, 5, 6
EXPECTED, VOTES = 7, 7 + TURNS  # TURNS words each
PROBES = VOTES + TURNS
PRIVATE_WORDS = PROBES + 1

OK, ABORTED, EXPIRED, CHANGING = 0, 1, 2, 3
RAISED, DIED, MISMATCHED, INTERRUPTED, DEADLOCKED, TIMED_OUT = 1, 2, 3, 4, 5, 6  # kinds of abort
WHOLE = -1  # mask for a wait on all bits of a word
BARE = 64  # looks without a pause: a pause takes longer than the transfer of a line from the next CPU
MOMENT = 20_000_000  # ns: the longest sleep of a processor between two looks at ABORT
OVER = 1  # ns: a deadline that is over
EVER = 1 << 62  # ns: the length of a sleep that only a wake-up ends; no deadline is later


def deadline_after(timeout: float | None, now: int) -> int:
    """Return the deadline, in ns of `clock`, of a wait of ``timeout`` seconds from ``now``; 0 if it has no limit.

    Raises
    ------
    TypeError, ValueError
        If the timeout is not a number of at least 0.
    """
    if timeout is None:
        return 0
    if isinstance(timeout, bool) or not isinstance(timeout, Real):
        raise TypeError(f"a timeout must be a number of seconds, 0 or more, not {timeout!r}")
    if not timeout >= 0:
        raise ValueError(f"a timeout must be a number of seconds, 0 or more, not {timeout}")
    return min(now + int(min(timeout, 1e9) * 1e9) + 1, EVER)


@inline
def shared_of(sync: Words) -> Words:
    """Return the words that all processors share."""
    return words_at(sync[SHARED], SHARED_WORDS)


@inline
def aborted(sync: Words) -> bool:
    """Return True if another processor has failed; a program's own spin loops must call it, so that they end.

    Parameters
    ----------
    sync : int64 array
        The processor's own words, ``proc.sync``.
    """
    return bool(load(shared_of(sync), ABORT) != 0)


@inline
def abort(address: int, kind: int, rank: int) -> int:
    """Record the first failure and wake all waiting threads; return the cause that stands.

    ``address`` is that of the shared words. The thread that has stored ABORT may die before it has woken any other.
    The parent, which sees it die, calls this again.
    """
    shared = words_at(address, SHARED_WORDS)
    cause = kind + 256 * (rank + 1)
    before = compare_exchange(shared, ABORT, 0, cause)
    for turn in range(TURNS):
        futex_wake(shared, BARRIER + 16 * turn, 1 << 30)
    notify_all(address + shared[INBOX], shared[PROCESSORS])
    table = words_at(address + shared[TABLE], TABLE_WORDS)
    for r in range(1, load(shared, RECORDS) + 1):
        if load(table, r * RECORD + STATUS) & STATE != IDLE:  # also if SERVED: the server may be dead
            fetch_add(table, r * RECORD + STATUS, NUDGE)
            futex_wake(table, r * RECORD + STATUS, 1)
    return cause if before == 0 else before


@inline
def spun(words: Words, i: int, mask: int, value: int, equal: bool, sync: Words) -> int:
    """Look at the masked word, RETRIES times at most, until it equals ``value``, or differs if ``equal`` is False.

    Return OK if that was seen, ABORTED after an abort, and CHANGING otherwise.
    """
    shared = shared_of(sync)
    for look in range(sync[RETRIES]):
        if (load(words, i) & mask == value) == equal:
            return OK
        if load(shared, ABORT) != 0:
            return _at_the_end(words, i, mask, value, equal)
        if look > BARE:
            pause()
    return CHANGING


@inline
def blocked(words: Words, i: int, mask: int, value: int, equal: bool, sync: Words, deadline: int, once: bool) -> int:
    """Sleep, in slices, until the word is as `spun` wants it; return OK, ABORTED or EXPIRED.

    If ``once``, return CHANGING after one slice.

    ``deadline`` is in ns of `clock`, 0 for none. The kernel compares the low 32 bits of the word with those seen
    here, so the awaited change must change these bits.
    """
    shared = shared_of(sync)
    while True:
        seen = load(words, i)
        if (seen & mask == value) == equal:
            return OK
        if load(shared, ABORT) != 0:
            return _at_the_end(words, i, mask, value, equal)
        slice_ns = sync[SLICE]
        if deadline != 0:
            left = deadline - clock()
            if left <= 0:
                return EXPIRED
            if left < slice_ns:  # not min(), which includes an exception for an empty sequence
                slice_ns = left
        futex_wait(words, i, seen, slice_ns)
        if once and (load(words, i) & mask == value) != equal:
            return CHANGING


@inline
def _at_the_end(words: Words, i: int, mask: int, value: int, equal: bool) -> int:
    """Return OK if the word was as it should be before the abort, and else ABORTED.

    All processors arrive in a round before a mismatch in a later round ends the run.  So whoever waits for the first of
    these rounds must see that it is over, and reports the round in which the collectives differ.
    """
    return OK if (load(words, i) & mask == value) == equal else ABORTED


@inline
def wait_while(words: Words, i: int, value: int, sync: Words, deadline: int) -> int:
    """Wait while ``words[i]`` is ``value``; return OK, ABORTED or EXPIRED.

    The wait spins, then blocks until a `futex_wake` on the word.
    """
    status = spun(words, i, WHOLE, value, False, sync)
    if status == CHANGING:
        status = blocked(words, i, WHOLE, value, False, sync, deadline, False)
    return status


@inline
def sleep(own: Words, deadline: int, once: bool) -> int:
    """Sleep until this stream is served; return OK, ABORTED or EXPIRED, or CHANGING after one slice if ``once``.

    The stream that serves it also wakes it. The slices only guard against a wake-up that a signal has swallowed.
    """
    shared = words_at(own[SHARED_AT], SHARED_WORDS)
    while True:
        status = load(own, STATUS)
        if served(own):
            return OK
        if load(shared, ABORT) != 0:
            return ABORTED
        slice_ns = own[LONGEST]
        if deadline != 0:
            left = deadline - clock()
            if left <= 0:
                return EXPIRED
            if left < slice_ns:
                slice_ns = left
        futex_wait(own, STATUS, status, slice_ns)
        if once:
            return OK if served(own) else CHANGING
