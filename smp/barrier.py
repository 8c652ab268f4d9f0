"""The barrier of a machine: central, counting, with an epoch, and a check that all mean the same one.

    arrive                                      wait
    epoch  = EPOCH                              spin, then block, while EPOCH == epoch
    before = fetch_add(ARRIVALS, 1 + 65536 s)
    the last of SIZE, and only it:
        ARRIVALS = 0
        sum of the s  !=  SIZE * own s  ->  abort(MISMATCHED): somebody is in another collective
        EPOCH = epoch + 1                       pairs with the load of EPOCH in every wait
        SLEEPERS > 0  ->  wake all              pairs with the waiter's increment before it sleeps

``s`` is the signature of the collective, 30 bits: with it the one atomic addition that a barrier needs anyway
also tells whether all take part in the same one.  ARRIVALS is cleared before EPOCH is published, so the next
round finds it clear.  EPOCH is published, sequentially consistent, before SLEEPERS is read, and a waiter counts
itself in before the kernel compares EPOCH: one of the two sees the other.  ``docs/models/barrier.pml`` checks it.
"""

from __future__ import annotations

import functools
import zlib

from ._atomics import Words, fetch_add, futex_wake, load, store
from ._compile import inline
from ._wait import ABORT, ABORTED, ARRIVALS, CHANGING, EPOCH, MISMATCHED, OK, SIZE, SLEEPERS, abort, blocked, spun
from .errors import Aborted

COUNT = 1 << 16


@functools.lru_cache(maxsize=4096)
def signature(description: str) -> int:
    """Thirty bits that stand for the description of a collective, the same in every process."""
    return zlib.crc32(description.encode()) & 0x3FFFFFFF


IN_A_LOOP = signature("barrier in a compiled loop")


@inline
def arrive(sync: Words, sign: int) -> int:
    """Arrive at the barrier, without waiting; return the epoch that `passed` compares."""
    epoch: int = load(sync, EPOCH)
    before = fetch_add(sync, ARRIVALS, 1 + COUNT * sign)
    if before % COUNT == sync[SIZE] - 1:
        store(sync, ARRIVALS, 0)
        if before // COUNT + sign != sync[SIZE] * sign:
            abort(sync, MISMATCHED, -1)
        else:
            store(sync, EPOCH, epoch + 1)
            if load(sync, SLEEPERS) > 0:
                futex_wake(sync, EPOCH, 1 << 30)
    return epoch


@inline
def passed(sync: Words, epoch: int) -> bool:
    """Whether all have arrived at the barrier of that epoch."""
    return bool(load(sync, EPOCH) != epoch)


@inline
def await_passed(sync: Words, epoch: int, deadline: int) -> int:
    """Wait until `passed`; return OK, ABORTED or EXPIRED."""
    status = spun(sync, EPOCH, epoch, sync)
    if status == CHANGING:
        fetch_add(sync, SLEEPERS, 1)
        status = blocked(sync, EPOCH, epoch, sync, deadline)
        fetch_add(sync, SLEEPERS, -1)
    return status


@inline
def synchronise(sync: Words, sign: int, deadline: int) -> int:
    """Arrive and wait; return OK, ABORTED or EXPIRED.

    After an abort nobody arrives any more: a program that went on regardless would be counted twice in a round.
    """
    if load(sync, ABORT) != 0:
        return ABORTED
    return await_passed(sync, arrive(sync, sign), deadline)


@inline
def barrier(sync: Words) -> None:
    """Wait in a compiled loop until every processor has called this.

    Parameters
    ----------
    sync : int64 array
        ``proc.sync``.

    Raises
    ------
    Aborted
        When another processor fails, or is in another collective.
    """
    if synchronise(sync, IN_A_LOOP, 0) != OK:
        raise Aborted
