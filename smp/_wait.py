"""Waiting for a shared word to change: spin, then block; until a deadline; never past an abort.

Words of a machine (``sync``, int64, each group on lines of its own so that spinning disturbs nobody):

    word       written by                    read by
    ABORT      compare_exchange from 0, by   every wait, at each look
               whoever fails first
    ARRIVALS   see ``barrier``
    EPOCH      see ``barrier``
    SLEEPERS   see ``barrier``
    SIZE       the parent, before the start  all
    RETRIES    the parent, before the start  all: looks before a wait blocks

ABORT holds 0, or ``kind + 256 * (rank + 1)`` of the first failure; it is cleared by the parent when every
processor is idle.  The store pairs with the load in `blocked`: a waiter that slept through the wake-up of an
abort finds it at the end of its slice, so that an abort needs no list of who sleeps where.
"""

from __future__ import annotations

from ._atomics import Words, clock, compare_exchange, futex_wait, futex_wake, load, pause
from ._compile import inline

ABORT, ARRIVALS, EPOCH, SLEEPERS, SIZE, RETRIES = 0, 16, 32, 48, 64, 65
SYNC_WORDS = 80

OK, ABORTED, EXPIRED, CHANGING = 0, 1, 2, 3
RAISED, DIED, MISMATCHED, INTERRUPTED = 1, 2, 3, 4  # kinds of abort
SLICE = 20_000_000  # ns: the longest sleep between two looks at ABORT


@inline
def abort(sync: Words, kind: int, rank: int) -> int:
    """Record the first failure and wake those who wait at the barrier; return the cause that stands."""
    cause = kind + 256 * (rank + 1)
    before = compare_exchange(sync, ABORT, 0, cause)
    futex_wake(sync, EPOCH, 1 << 30)
    return cause if before == 0 else before


@inline
def spun(words: Words, i: int, expected: int, sync: Words) -> int:
    """Look at most RETRIES times; return OK, ABORTED, or CHANGING when the word is still as expected."""
    for _ in range(sync[RETRIES]):
        if load(words, i) != expected:
            return OK
        if load(sync, ABORT) != 0:
            return ABORTED
        pause()
    return CHANGING


@inline
def blocked(words: Words, i: int, expected: int, sync: Words, deadline: int) -> int:
    """Sleep until the word changes, in slices; ``deadline`` in ns of `clock`, 0 for none."""
    while True:
        if load(words, i) != expected:
            return OK
        if load(sync, ABORT) != 0:
            return ABORTED
        slice_ns = SLICE
        if deadline != 0:
            left = deadline - clock()
            if left <= 0:
                return EXPIRED
            if left < slice_ns:  # not min(): it brings an exception for an empty sequence with it
                slice_ns = left
        futex_wait(words, i, expected, slice_ns)


@inline
def wait_while(words: Words, i: int, expected: int, sync: Words, deadline: int) -> int:
    """Wait while ``words[i]`` is ``expected``: spin, then block until `futex_wake` on it."""
    status = spun(words, i, expected, sync)
    if status == CHANGING:
        status = blocked(words, i, expected, sync, deadline)
    return status
