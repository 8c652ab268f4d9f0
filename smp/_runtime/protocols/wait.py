"""Waiting for a shared word to change: spin, then block; until a deadline; never past an abort.

Every processor has a few private words of its own (``sync``, int64), the first of which is the address of those that
all share.  The shared ones lie on lines of their own, so that spinning on one disturbs nobody:

    shared     written by                               read by
    ABORT      compare_exchange from 0, by whoever      every wait, at each look
               fails first
    DEATHS     the parent, when a processor has ended   who finds a lock that nobody frees
    BARRIER    see ``barrier``: two words, by turns
    SLEEPERS   see ``barrier``
    RECORDS    fetch_add, by a stream that joins        `abort`, and whoever looks for a deadlock
    TABLE      the machine's maker, once: how many      every stream that joins
               bytes behind these words the records
               lie (``waiters``)
    WATCH      fetch_add, by the parent that asks       the watches (``watchdog``)

    private    SHARED (the address), SIZE (processors), RETRIES (looks before a wait blocks), SLICE (ns of the longest
               sleep), RECORD_AT (address of the record in which a wait at the barrier is noted), ROUND and EXPECTED
               (see ``barriers``), PROBES (see ``placement``); written by the processor itself, between runs, in its
               barrier or in its probe

ABORT holds 0, or ``kind + 256 * (rank + 1)`` of the first failure; it is cleared by the parent when every processor is
idle.  A stream that waits in a queue stores its status before it looks at ABORT, and `abort` stores ABORT before it
looks for those who wait: one of the two sees the other.  At the barrier, a waiter that slept through the wake-up of an
abort finds it at the end of its slice.
"""

from __future__ import annotations

from numbers import Real

from ..loops.atomics import Words, clock, compare_exchange, fetch_add, futex_wait, futex_wake, load, pause, words_at
from ..loops.compiler import inline
from .waiters import IDLE, NUDGE, RECORD, STATE, STATUS, TABLE_WORDS, served
from .waiters import SHARED as SHARED_AT
from .waiters import SLICE as LONGEST

ABORT, DEATHS, BARRIER, SLEEPERS = 0, 1, 16, 48  # BARRIER and BARRIER + 16, by turns
RECORDS, TABLE, WATCH = 56, 57, 58
OF_A_RUN = 56  # so many of them, from the first, begin each run as 0
SHARED_WORDS = 64
SHARED, SIZE, RETRIES, SLICE, RECORD_AT, ROUND, EXPECTED = 0, 1, 2, 3, 4, 5, 6  # EXPECTED and EXPECTED + 1, by turns
PROBES = 8
PRIVATE_WORDS = 9

OK, ABORTED, EXPIRED, CHANGING = 0, 1, 2, 3
RAISED, DIED, MISMATCHED, INTERRUPTED, DEADLOCKED, TIMED_OUT = 1, 2, 3, 4, 5, 6  # kinds of abort
WHOLE = -1  # mask of a word all of whose bits are waited on
BARE = 64  # looks without a pause: a pause takes longer than a line takes to come from the next CPU
MOMENT = 20_000_000  # ns: the longest sleep of a processor between two looks at ABORT
EVER = 1 << 62  # ns: of a sleep that only a wake-up ends; no deadline is later


def deadline_after(timeout: float | None, now: int) -> int:
    """The deadline, in ns of `clock`, of a wait of so many seconds that begins now; 0 where it may last for ever.

    Raises
    ------
    TypeError, ValueError
        When the timeout is no number from 0.
    """
    if timeout is None:
        return 0
    if isinstance(timeout, bool) or not isinstance(timeout, Real):
        raise TypeError(f"a timeout is a number of seconds from 0, not {timeout!r}")
    if not timeout >= 0:
        raise ValueError(f"a timeout is a number of seconds from 0, not {timeout}")
    return min(now + int(min(timeout, 1e9) * 1e9) + 1, EVER)


@inline
def shared_of(sync: Words) -> Words:
    """The words that all processors share."""
    return words_at(sync[SHARED], SHARED_WORDS)


@inline
def aborted(sync: Words) -> bool:
    """Whether another processor has failed: to be looked at in spin loops of one's own, so that they end.

    Parameters
    ----------
    sync : int64 array
        ``proc.sync``.
    """
    return bool(load(shared_of(sync), ABORT) != 0)


@inline
def abort(address: int, kind: int, rank: int) -> int:
    """Record the first failure and wake all who wait; return the cause that stands.

    ``address`` is that of the shared words.  Whoever has stored ABORT may die before it has woken anybody: the parent,
    which sees it die, calls this again.
    """
    shared = words_at(address, SHARED_WORDS)
    cause = kind + 256 * (rank + 1)
    before = compare_exchange(shared, ABORT, 0, cause)
    futex_wake(shared, BARRIER, 1 << 30)
    futex_wake(shared, BARRIER + 16, 1 << 30)
    table = words_at(address + shared[TABLE], TABLE_WORDS)
    for r in range(1, load(shared, RECORDS) + 1):
        if load(table, r * RECORD + STATUS) & STATE != IDLE:  # one that is served, too: its server may be dead
            fetch_add(table, r * RECORD + STATUS, NUDGE)
            futex_wake(table, r * RECORD + STATUS, 1)
    return cause if before == 0 else before


@inline
def spun(words: Words, i: int, mask: int, value: int, equal: bool, sync: Words) -> int:
    """Look, RETRIES times at most, whether the masked word equals ``value``, or not; OK, ABORTED or CHANGING."""
    shared = shared_of(sync)
    for look in range(sync[RETRIES]):
        if (load(words, i) & mask == value) == equal:
            return OK
        if load(shared, ABORT) != 0:
            return ABORTED
        if look > BARE:
            pause()
    return CHANGING


@inline
def blocked(words: Words, i: int, mask: int, value: int, equal: bool, sync: Words, deadline: int) -> int:
    """Sleep, in slices, until what `spun` looks for; ``deadline`` in ns of `clock`, 0 for none.

    The kernel compares the low 32 bits with those seen here: what is waited for must change them.
    """
    shared = shared_of(sync)
    while True:
        seen = load(words, i)
        if (seen & mask == value) == equal:
            return OK
        if load(shared, ABORT) != 0:
            return ABORTED
        slice_ns = sync[SLICE]
        if deadline != 0:
            left = deadline - clock()
            if left <= 0:
                return EXPIRED
            if left < slice_ns:  # not min(): it brings an exception for an empty sequence with it
                slice_ns = left
        futex_wait(words, i, seen, slice_ns)


@inline
def wait_while(words: Words, i: int, value: int, sync: Words, deadline: int) -> int:
    """Wait while ``words[i]`` is ``value``: spin, then block until `futex_wake` on it; OK, ABORTED or EXPIRED."""
    status = spun(words, i, WHOLE, value, False, sync)
    if status == CHANGING:
        status = blocked(words, i, WHOLE, value, False, sync, deadline)
    return status


@inline
def sleep(own: Words, deadline: int, once: bool) -> int:
    """Sleep until this stream is served; return OK, ABORTED or EXPIRED, and CHANGING after one slice if ``once``.

    Whoever serves it wakes it; the slices only look after a wake-up that some signal has eaten.
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
