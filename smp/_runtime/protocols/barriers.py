"""The barrier of a machine: two words, used alternately, each of which counts arrivals and sums signatures.

    BARRIER, two words  │ sum of the signatures, 32 bits │ arrivals, 32 │     only ever added to, modulo 2^64

    arrive in round k                                 wait
    W         = BARRIER + 16 (k mod 2)                spin, then block, until the arrivals of W
    EXPECTED += SIZE (1 + 2^32 s)    (private)        are those of EXPECTED; then
    fetch_add(W, 1 + 2^32 s)                          W != EXPECTED  ->  abort(MISMATCHED):
    the last: SLEEPERS > 0  ->  wake all              a processor is in another collective

``s`` is the signature of the collective, 30 bits.  Because of it, the one atomic addition that a barrier needs anyway
also shows the processors whether all of them take part in the same collective.  (A wrong sum can come out right by
chance, once in 2^30.)  The addition by the last processor to arrive ends the round.  No second store follows it,
so with two processors the cache line travels twice, to the last arriver and back.

There are two words, because a word is read until its round is over, and must not be added to meanwhile.  The word of
round k is added to again in round k + 2.  No processor arrives in round k + 2 before all have arrived in round k + 1,
and a processor that has arrived in round k + 1 has left round k.

The addition is sequentially consistent, and comes before SLEEPERS is read.  A waiter adds itself to SLEEPERS before
the kernel compares the arrivals.  So the last processor sees the waiter, or the kernel sees the last arrival.  The
model ``docs/models/barrier.pml`` checks this.
"""

from __future__ import annotations

import functools
import zlib

from smp.errors import Aborted

from ..loops.atomics import Words, clock, fetch_add, futex_wake, load
from ..loops.compiler import inline
from .wait import (
    ABORTED,
    BARRIER,
    CHANGING,
    EXPECTED,
    MISMATCHED,
    OK,
    RECORD_AT,
    ROUND,
    SHARED,
    SIZE,
    SLEEPERS,
    abort,
    aborted,
    blocked,
    shared_of,
    spun,
)
from .waiters import BARRIER_AT, BARRIER_SINCE, BARRIER_SUM, BARRIER_UNTIL, WAITS, record_at

ARRIVALS = 0xFFFFFFFF  # mask


@functools.lru_cache(maxsize=4096)
def signature(description: str) -> int:
    """Return a 30-bit number that stands for the description of a collective, the same in every process."""
    return zlib.crc32(description.encode()) & 0x3FFFFFFF


IN_A_LOOP = signature("barrier in a compiled loop")


@inline
def arrive(sync: Words, sign: int) -> int:
    """Arrive at the barrier without waiting; return the round, an argument of `passed`."""
    shared = shared_of(sync)
    k = sync[ROUND]
    mine = 1 + (sign << 32)
    expected = sync[EXPECTED + k % 2] + sync[SIZE] * mine
    sync[EXPECTED + k % 2] = expected
    sync[ROUND] = k + 1
    before = fetch_add(shared, BARRIER + 16 * (k % 2), mine)
    if (before + 1 - expected) & ARRIVALS == 0 and load(shared, SLEEPERS) > 0:
        futex_wake(shared, BARRIER + 16 * (k % 2), 1 << 30)
    return int(k)


@inline
def passed(sync: Words, k: int) -> bool:
    """Return True if all have arrived in round ``k``, the last round in which this processor has arrived."""
    word = load(shared_of(sync), BARRIER + 16 * (k % 2))
    return bool((word - sync[EXPECTED + k % 2]) & ARRIVALS == 0)


@inline
def await_passed(sync: Words, k: int, deadline: int) -> int:
    """Wait until `passed`; return OK, ABORTED or EXPIRED.

    The result is ABORTED also if not all processors were in the same collective.
    """
    shared, i = shared_of(sync), BARRIER + 16 * (k % 2)
    expected = sync[EXPECTED + k % 2]
    status = spun(shared, i, ARRIVALS, expected & ARRIVALS, True, sync)
    if status == CHANGING:
        note(sync, i, expected & ARRIVALS, deadline)
        fetch_add(shared, SLEEPERS, 1)
        status = blocked(shared, i, ARRIVALS, expected & ARRIVALS, True, sync, deadline)
        fetch_add(shared, SLEEPERS, -1)
        note(sync, 0, 0, 0)
    if status == OK and load(shared, i) != expected:
        abort(sync[SHARED], MISMATCHED, -1)
        return ABORTED
    return status


@inline
def note(sync: Words, i: int, expected: int, deadline: int) -> None:
    """Note in a record, for the deadlock check, that its stream sleeps here; if all values are 0, that it goes on."""
    if sync[RECORD_AT] != 0:
        own = record_at(sync[RECORD_AT])
        own[BARRIER_AT], own[BARRIER_SUM] = i, expected
        own[BARRIER_SINCE], own[BARRIER_UNTIL] = clock(), deadline
        own[WAITS] += 1


@inline
def synchronise(sync: Words, sign: int, deadline: int) -> int:
    """Arrive and wait; return OK, ABORTED or EXPIRED.

    After an abort, no processor arrives any more: a program that went on regardless would be counted twice in a
    round.
    """
    if aborted(sync):
        return ABORTED
    return await_passed(sync, arrive(sync, sign), deadline)


@inline
def barrier(sync: Words) -> None:
    """Wait in a compiled loop until every processor has called this.

    Parameters
    ----------
    sync : int64 array
        The processor's own words, ``proc.sync``.

    Raises
    ------
    Aborted
        If another processor fails, or is in another collective.
    """
    if synchronise(sync, IN_A_LOOP, 0) != OK:
        raise Aborted
