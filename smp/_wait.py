"""Waiting for a shared word to change: spin, then block; until a deadline; never past an abort.

Every processor has a few private words of its own (``sync``, int64), the first of which is the address of those that
all share.  The shared ones lie on lines of their own, so that spinning on one disturbs nobody:

    shared     written by                               read by
    ABORT      compare_exchange from 0, by whoever      every wait, at each look
               fails first
    BARRIER    see ``barrier``: two words, by turns
    SLEEPERS   see ``barrier``

    private    SHARED (the address), SIZE (processors), RETRIES (looks before a wait blocks), ROUND and EXPECTED
               (see ``barrier``); written by the processor itself, between runs or in its barrier

ABORT holds 0, or ``kind + 256 * (rank + 1)`` of the first failure; it is cleared by the parent when every
processor is idle.  The store pairs with the load in `blocked`: a waiter that slept through the wake-up of an
abort finds it at the end of its slice, so that an abort needs no list of who sleeps where.
"""

from __future__ import annotations

from ._atomics import Words, clock, compare_exchange, futex_wait, futex_wake, load, pause, words_at
from ._compile import inline

ABORT, BARRIER, SLEEPERS = 0, 16, 48  # BARRIER and BARRIER + 16, by turns
SHARED_WORDS = 64
SHARED, SIZE, RETRIES, ROUND, EXPECTED = 0, 1, 2, 3, 4  # EXPECTED and EXPECTED + 1, by turns
PRIVATE_WORDS = 8

OK, ABORTED, EXPIRED, CHANGING = 0, 1, 2, 3
RAISED, DIED, MISMATCHED, INTERRUPTED = 1, 2, 3, 4  # kinds of abort
WHOLE = -1  # mask of a word all of whose bits are waited on
BARE = 64  # looks without a pause: a pause takes longer than a line takes to come from the next CPU
SLICE = 20_000_000  # ns: the longest sleep between two looks at ABORT


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
def abort(shared: Words, kind: int, rank: int) -> int:
    """Record the first failure and wake those who wait at the barrier; return the cause that stands."""
    cause = kind + 256 * (rank + 1)
    before = compare_exchange(shared, ABORT, 0, cause)
    futex_wake(shared, BARRIER, 1 << 30)
    futex_wake(shared, BARRIER + 16, 1 << 30)
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
        slice_ns = SLICE
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
