"""The barrier of a machine: eight words, used in turn, each of which counts arrivals and votes and sums signatures.

    BARRIER, eight words  │ sum of the signatures, 32 bits │ votes, 16 │ arrivals, 16 │     only ever added to

    arrive in round k, with a vote of 0 or 1               leave round k, the earliest that is open
    W            = BARRIER + 16 (k mod 8)                  spin, then block, until the arrivals of W
    EXPECTED[W] += SIZE (1 + 2^32 s)    (private)          are those of EXPECTED; then
    fetch_add(W, 1 + 2^16 vote + 2^32 s)                   VOTES[W]    = (W - EXPECTED[W]) / 2^16
    the last: SLEEPERS > 0  ->  wake all                   EXPECTED[W] = W
                                                           no number of votes  ->  abort(MISMATCHED):
                                                           a processor is in another collective

``s`` is the signature of the collective, 30 bits.  All sums are modulo 2^64.  A word is not added to before every
processor has left its round, so all read the same sum.  They know all of it but the votes: the value at which the word
stood in its last round, SIZE arrivals, and SIZE signatures.  What remains is a number of votes, from 0 to SIZE, times
2^16; anything else shows that not all are in the same collective.  (A wrong sum can come out right by chance, once in
2^30.)  So one atomic addition brings the arrival, the signature and the vote.  The addition by the last processor to
arrive ends the round.  No second store follows it, so with two processors the cache line travels twice, to the last
arriver and back.

A processor may have arrived in several rounds that it has not left: they are open.  There are eight words, because at
most OPEN = 3 rounds may be open, and twice as many words are needed.  Suppose that a processor has left round k - 1 and
not round k.  It has arrived in k + 2 at the latest, so no other processor can have left a later round than k + 2, or
have arrived in a later round than k + 5.  The word of round k is added to again in round k + 8.

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
from .inboxes import notify_all
from .wait import (
    ABORTED,
    BARRIER,
    CHANGING,
    EXPECTED,
    INBOX,
    INBOXES,
    LEFT,
    MISMATCHED,
    OK,
    RECORD_AT,
    ROUND,
    SHARED,
    SIZE,
    SLEEPERS,
    TURNS,
    VOTES,
    abort,
    aborted,
    blocked,
    shared_of,
    spun,
)
from .waiters import BARRIER_AT, BARRIER_SINCE, BARRIER_SUM, BARRIER_UNTIL, WAITS, record_at

ARRIVALS = 0xFFFF  # mask
LAST = TURNS - 1  # also a mask: the turn of round k is k modulo TURNS
VOTE = 16  # bits to the right of the votes
OPEN = 3
"""Largest number of rounds in which a processor has arrived and that it has not left."""


@functools.lru_cache(maxsize=4096)
def signature(description: str) -> int:
    """Return a 30-bit number that stands for the description of a collective, the same in every process."""
    return zlib.crc32(description.encode()) & 0x3FFFFFFF


IN_A_LOOP = signature("barrier in a compiled loop")
COUNT_IN_A_LOOP = signature("count in a compiled loop")


@inline
def arrive(sync: Words, sign: int, vote: int) -> int:
    """Arrive at the barrier without waiting, with a vote of 0 or 1; return the round.

    The caller makes sure that fewer than OPEN rounds are open.
    """
    shared = shared_of(sync)
    k = sync[ROUND]
    j = k & LAST
    mine = 1 + (sign << 32)
    expected = sync[EXPECTED + j] + sync[SIZE] * mine
    sync[EXPECTED + j] = expected
    sync[ROUND] = k + 1
    before = fetch_add(shared, BARRIER + 16 * j, mine + (vote << VOTE))
    if (before + 1 - expected) & ARRIVALS == 0 and load(shared, SLEEPERS) > 0:
        futex_wake(shared, BARRIER + 16 * j, 1 << 30)
        if load(shared, INBOXES) > 0:
            notify_all(sync[SHARED] + shared[INBOX], sync[SIZE])
    return int(k)


@inline
def passed(sync: Words, k: int) -> bool:
    """Return True if all have arrived in round ``k``, in which this processor has arrived."""
    if k < sync[LEFT]:
        return True
    word = load(shared_of(sync), BARRIER + 16 * (k & LAST))
    return bool((word - sync[EXPECTED + (k & LAST)]) & ARRIVALS == 0)


@inline
def leave(sync: Words, k: int, deadline: int, once: bool) -> int:
    """Leave all open rounds up to round ``k``, once they have `passed`; return OK, ABORTED or EXPIRED.

    If ``once``, the status is CHANGING after a slice of sleep.  The wait stays noted then, and the caller must call
    this again: with a deadline that is over, if it gives up.
    """
    status = OK
    while status == OK and sync[LEFT] <= k:
        status = _leave_one(sync, deadline, once)
    if once and status != CHANGING and noted(sync, 0):
        note(sync, 0, 0, 0)
    return status


@inline
def agreed(sync: Words, k: int) -> bool:
    """Return True if all have arrived in round ``k``, in which this processor has arrived, with the same signature."""
    if k < sync[LEFT]:
        return True
    return passed(sync, k) and _voted(sync, k & LAST, load(shared_of(sync), BARRIER + 16 * (k & LAST))) >= 0


@inline
def votes(sync: Words, k: int) -> int:
    """Return the number of votes of round ``k``, which this processor has left; at most 7 later ones may be left."""
    return int(sync[VOTES + (k & LAST)])


@inline
def _leave_one(sync: Words, deadline: int, once: bool) -> int:
    """Leave the earliest open round; the result is ABORTED also if not all were in the same collective."""
    j = sync[LEFT] & LAST
    shared, i = shared_of(sync), BARRIER + 16 * j
    expected = sync[EXPECTED + j]
    status = spun(shared, i, ARRIVALS, expected & ARRIVALS, True, sync)
    if status == CHANGING:
        if not noted(sync, i):
            note(sync, i, expected & ARRIVALS, deadline)
        fetch_add(shared, SLEEPERS, 1)
        status = blocked(shared, i, ARRIVALS, expected & ARRIVALS, True, sync, deadline, once)
        fetch_add(shared, SLEEPERS, -1)
        if status != CHANGING:
            note(sync, 0, 0, 0)
    if status == OK:
        word = load(shared, i)
        voted = _voted(sync, j, word)
        if voted < 0:
            abort(sync[SHARED], MISMATCHED, -1)
            return ABORTED
        sync[VOTES + j], sync[EXPECTED + j] = voted, word
        sync[LEFT] += 1
    return status


@inline
def _voted(sync: Words, j: int, word: int) -> int:
    """Return the number of votes that a word of the barrier shows, or -1 if the signatures differ."""
    voted = (word - sync[EXPECTED + j]) >> VOTE
    return int(voted) if 0 <= voted <= sync[SIZE] else -1


@inline
def note(sync: Words, i: int, expected: int, deadline: int) -> None:
    """Note in a record, for the deadlock check, that its stream sleeps here; if all values are 0, that it goes on."""
    if sync[RECORD_AT] != 0:
        own = record_at(sync[RECORD_AT])
        own[BARRIER_AT], own[BARRIER_SUM] = i, expected
        own[BARRIER_SINCE], own[BARRIER_UNTIL] = clock(), deadline
        own[WAITS] += 1


@inline
def noted(sync: Words, i: int) -> bool:
    """Return True if a record says that its stream sleeps at word ``i``; at any word, if that is 0."""
    if sync[RECORD_AT] == 0:
        return False
    at = record_at(sync[RECORD_AT])[BARRIER_AT]
    return bool(at == i if i != 0 else at != 0)


@inline
def synchronise(sync: Words, sign: int, vote: int, once: bool) -> int:
    """Leave the rounds that are open, then arrive with a vote and leave; return OK or ABORTED.

    If ``once``, the status is CHANGING after a slice of sleep in the round of this call (see `leave`).

    After an abort, no processor arrives any more: a program that went on regardless would be counted twice in a
    round.
    """
    if aborted(sync):
        return ABORTED
    if sync[LEFT] < sync[ROUND]:
        status = leave(sync, sync[ROUND] - 1, 0, False)
        if status != OK:
            return status
    arrive(sync, sign, vote)
    return _leave_one(sync, 0, once)


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
    if synchronise(sync, IN_A_LOOP, 0, False) != OK:
        raise Aborted


@inline
def count(sync: Words, vote: bool) -> int:
    """Wait in a compiled loop until every processor has called this; return how many of them voted.

    It is one barrier, whose words also count the votes.

    Parameters
    ----------
    sync : int64 array
        The processor's own words, ``proc.sync``.
    vote : bool
        Whether this processor votes.

    Raises
    ------
    Aborted
        If another processor fails, or is in another collective.
    """
    if synchronise(sync, COUNT_IN_A_LOOP, 1 if vote else 0, False) != OK:
        raise Aborted
    return votes(sync, sync[ROUND] - 1)
