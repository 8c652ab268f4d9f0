"""The protocol of a full/empty cell, which consists of a state word and a value word of raw bits.

    state word  │ version 30 │ B 16 │ A 16 │ LOCKED │ FULL │

    A, B        queues of trapped streams (numbers of records, see ``waiters``):
                A   those that will leave the cell full: readff, writeff, fetch_add
                B   those that will change it: readfe while it is empty, writeef while it is full
    hence       full: A is empty, and only writeefs are in B;  empty: no writeef waits

    a change    load; compare_exchange to LOCKED; value and queues then belong to the holder alone; store_release of
                the value, store_release of the new state, with the next version
    a look      readff, readxx, peek: load state, load value, load state again; if the state is the same, the value
                belongs to it
    quick       without queues, a writeef is a change of three steps; a readfe is a look whose second look is a
                compare_exchange to empty, with the next version
    a fill      under the lock: serve all of A in their order - a readff is given the value, a writeff replaces it, a
                fetch_add adds to it; then the first of B, a readfe, is given it, and the cell stays empty; without a
                readfe the cell is full
    an empty    under the lock: the first of B, a writeef, puts its value in, and the cell stays full
    a wait      looks again, as often as the retry limit says; then it *traps*: locks, looks a last time, queues,
                unlocks, gives its stream up and sleeps until it is served

A stream that fills or empties a cell serves the trapped streams itself, in the order in which they came, while the
cell is locked.  No other stream can come between.  So a trapped stream is never overtaken within its kind, and a
stream that still retries loses at most one turn per look.  The served streams are notified after the cell is
unlocked.

These stores pair with these loads, if the load finds what was stored:

    store_release of the state     load of the state, compare_exchange     the value and the queues are those of the
                                                                           state, and so is all that was written before
    store_release of the value     load of the value, in a look            the second look finds the word LOCKED, or
                                                                           changed since
    compare_exchange to LOCKED     load, compare_exchange                  the state is about to change: wait

A look that has loaded a value too new for its state thus fails.  The last store may be held back, so that its stream
already loads from other cells: to other streams this is a lock that is held longer, and no state that is over.

A cell is a fence.  Every operation that can proceed in only one state acquires, by its compare_exchange (a readff by
its loads, a trapped stream by its load of STATUS).  Every operation that changes the state releases, by its last
store_release, or a quick readfe by its compare_exchange.  ``docs/models/cells.pml`` is the model of the protocol.

The holder of a lock may lose its CPU, or be killed.  Others then look again, nap, and, once a processor was killed,
give up (see ``stream_slots.lock``).  `restart` unlocks the cells of a machine that goes on.  A lock is held for some
instructions of machine code: neither Python code nor the end of a run comes between them.

Source: microbenchmarking the Tera MTA, sections 3.2 and 3.2.1 (two queues, the retry limit, the trap).
"""

from __future__ import annotations

from ..loops.atomics import Words, clock, compare_exchange, load, pause, store_release, words_at
from ..loops.bits import ADD, added
from ..loops.compiler import inline, merged
from .event_rings import GOES_ON, WAITS, WAKES, note, note_served
from .event_rings import TRAPS as TRAPPED
from .stream_slots import FAILED, LOCKED, NUMBER, TURN, acquire, give_way, lock, polled, release
from .wait import ABORT, ABORTED, BARE, CHANGING, DEATHS, OK, SHARED_WORDS, sleep
from .waiters import (
    ATTENTIVE,
    BITS,
    INDEX,
    NEXT,
    OP,
    RECORD,
    RETRIED,
    SHARED,
    TRAPS,
    begin_wait,
    behead,
    end_wait,
    enqueue,
    served,
    table_of,
    tell,
    unlink,
)

FULL = 1
A_AT, B_AT = 2, 18
VERSION = 1 << 34
QUEUES = VERSION - (1 << A_AT)  # mask of both queues
CELL_WORDS = 2
READFE, READFF, READXX, WRITEEF, WRITEFF, WRITEXF, PURGE, FILL = 1, 2, 3, 4, 5, 6, 7, 8  # then ADD and the like
MUST_WAIT, BUSY = 4, 5  # results of one look, in addition to OK


@inline
def can(op: int, word: int) -> bool:
    """Return True if an operation can proceed in this state."""
    if op == WRITEEF:
        return word & FULL == 0
    if op in (READFE, READFF, WRITEFF) or op >= ADD:
        return word & FULL != 0
    return True


@merged
def quick(words: Words, k: int, op: int, bits: int) -> tuple[bool, int]:
    """Do an operation in the most frequent case: the cell is in the state that it needs, and no stream is in the way.

    Return True and the result if it was done; otherwise False, and nothing has changed. `attempt` would do the same,
    but this function is small enough to become part of the caller's loop. A readfe loads the value between two looks
    at the same version, so the value is that of this version. A writeef locks for two stores. A compare-exchange of
    both words would not lock, but on some CPUs it waits until a store to one of them has reached the cache.
    """
    word = load(words, k)
    if op == READFE and word & (QUEUES | LOCKED | FULL) == FULL:
        value = load(words, k + 1)
        return compare_exchange(words, k, word, word - FULL + VERSION) == word, value
    if op == READFF and word & (LOCKED | FULL) == FULL:
        value = load(words, k + 1)
        return load(words, k) == word, value
    if op == WRITEEF and word & (QUEUES | LOCKED | FULL) == 0:
        if compare_exchange(words, k, word, word + LOCKED) != word:
            return False, 0
        store_release(words, k + 1, bits)
        store_release(words, k, word + FULL + VERSION)
        return True, 0
    return False, 0


@inline
def attempt(words: Words, k: int, op: int, bits: int, own: Words) -> tuple[int, int]:
    """Look once, and do the operation if it can proceed.

    Return (OK, result) if it was done, (MUST_WAIT, 0) if the state does not allow it, or (BUSY, 0) if another stream
    held the lock or changed the cell meanwhile.
    """
    word = load(words, k)
    if word & LOCKED != 0:
        return BUSY, 0
    if not can(op, word):
        return MUST_WAIT, 0
    if op in (READFF, READXX):
        value = load(words, k + 1)
        return (OK, value) if load(words, k) == word else (BUSY, 0)
    if compare_exchange(words, k, word, word | LOCKED) != word:
        return BUSY, 0
    return OK, change(words, k, word, op, bits, own)


@inline
def change(words: Words, k: int, word: int, op: int, bits: int, own: Words) -> int:
    """Carry out an operation on a cell locked as ``word``, unlock it, and notify the streams that it serves.

    Return the value before the operation, or for PURGE the number of writers that it released.
    """
    before = words[k + 1]
    value, result, full = before, before, word & FULL
    if op in (WRITEEF, WRITEFF, WRITEXF):
        value = bits
    elif op >= ADD:
        value = added(op, before, bits)
    elif op == PURGE:
        value, result = bits, 0
    empties = full != 0 and op in (READFE, PURGE)
    fills = full == 0 and op in (WRITEEF, WRITEXF, FILL)
    if word & QUEUES == 0:
        store_release(words, k + 1, value)
        state = (word & -VERSION) + VERSION + full
        if empties:
            state -= FULL
        elif fills:
            state += FULL
        store_release(words, k, state)
        return int(result)
    a, b = (word >> A_AT) & NUMBER, (word >> B_AT) & NUMBER
    first_a, first_b = 0, 0  # first records of the streams that it serves
    table = table_of(own)
    if fills:
        first_a, a = a, 0
        r = first_a
        while r != 0:
            value = met(table, r, value)
            r = table[r * RECORD + NEXT]
        full = FULL
    if (fills or empties) and b != 0:
        first_b, b = b, behead(table, b)
        table[first_b * RECORD + NEXT] = 0
        if fills:
            table[first_b * RECORD + BITS] = value
            full = 0
        else:
            value = table[first_b * RECORD + BITS]
            if op == PURGE:
                result = 1
    elif empties:
        full = 0
    store_release(words, k + 1, value)
    store_release(words, k, (word & -VERSION) + VERSION + (b << B_AT) + (a << A_AT) + full)
    note_served(own, table, first_a)
    note_served(own, table, first_b)
    tell(table, first_a)
    tell(table, first_b)
    return int(result)


@inline
def met(table: Words, r: int, value: int) -> int:
    """Serve a waiter that leaves the cell full; return the value of the cell afterwards."""
    op, bits = table[r * RECORD + OP], table[r * RECORD + BITS]
    if op == WRITEFF:
        return int(bits)
    table[r * RECORD + BITS] = value
    return value if op == READFF else added(op, value, bits)


@merged
def operate(
    words: Words, k: int, op: int, bits: int, own: Words, limit: int, deadline: int, where: int
) -> tuple[int, int]:
    """Do an operation, and wait as long as it must; return the status and the result.

    ``where`` is the cell's address, for messages. The status can be CHANGING if the stream is ATTENTIVE; the caller
    then continues with `finish`.
    """
    done, result = quick(words, k, op, bits)
    if done:
        return OK, result
    return insist(words, k, op, bits, own, limit, deadline, where)


@inline
def insist(
    words: Words, k: int, op: int, bits: int, own: Words, limit: int, deadline: int, where: int
) -> tuple[int, int]:
    """Look, look again up to ``limit`` times, then trap; return the status and the result."""
    status, result = attempt(words, k, op, bits, own)
    if status == OK:
        return status, result
    note(own, WAITS, where, op)
    before = own[RETRIED]
    status, result = wait_and_do(words, k, op, bits, own, limit, deadline, where)
    note(own, GOES_ON, where, own[RETRIED] - before)
    return status, result


@inline
def wait_and_do(
    words: Words, k: int, op: int, bits: int, own: Words, limit: int, deadline: int, where: int
) -> tuple[int, int]:
    """Do what `insist` does after the first look."""
    shared = words_at(own[SHARED], SHARED_WORDS)
    for look in range(limit):
        pause()  # also leaves the line alone: constant polling takes it away in the middle of a hand-off
        if look % TURN == TURN - 1:
            give_way(own)
        own[RETRIED] += 1
        status, result = attempt(words, k, op, bits, own)
        if status == OK:
            return status, result
        if load(shared, ABORT) != 0:
            return ABORTED, 0
    return trap(words, k, op, bits, own, deadline, where)


@inline
def trap(words: Words, k: int, op: int, bits: int, own: Words, deadline: int, where: int) -> tuple[int, int]:
    """Queue at the cell, give the stream up, and sleep until served."""
    if own[OP] != 0:  # its record was left in a queue, in a run that has failed
        return ABORTED, 0
    word = lock(words, k, own, True)
    if word == FAILED:
        return ABORTED, 0
    if can(op, word):
        return OK, change(words, k, word, op, bits, own)
    own[BITS] = bits
    own[TRAPS] += 1
    note(own, TRAPPED, where, op)
    begin_wait(own, op, where, clock(), deadline)
    shift = B_AT if op in (READFE, WRITEEF) else A_AT
    first = (word >> shift) & NUMBER
    word += (enqueue(table_of(own), first, own[INDEX]) - first) << shift
    store_release(words, k, word + VERSION)
    release(own, 1)
    return finish(words, k, own, deadline)


@inline
def finish(words: Words, k: int, own: Words, deadline: int) -> tuple[int, int]:
    """Finish a trap: wait until served, or withdraw; then take a stream again."""
    status = sleep(own, deadline, own[ATTENTIVE] != 0)
    if status == CHANGING:
        return status, 0
    if status != OK:
        left = withdraw(words, k, own)
        if left == ABORTED:
            return ABORTED, 0  # left as it is: a record that may be in a queue waits for nothing else
        status = OK if left == CHANGING else status
    end_wait(own)
    note(own, WAKES, 0, status)
    if acquire(own, 1) != OK:
        status = ABORTED
    return status, own[BITS]


@inline
def withdraw(words: Words, k: int, own: Words) -> int:
    """Leave the cell's queue; return OK, CHANGING or ABORTED.

    CHANGING means that it was too late: this stream is served. ABORTED means that the outcome is unknown, because
    another stream seems to have been killed while it held the lock, or before it notified this stream.
    """
    word = lock(words, k, own, True)
    if word == FAILED:
        return ABORTED
    shift = A_AT
    rest = unlink(table_of(own), (word >> A_AT) & NUMBER, own[INDEX])
    if rest < 0:
        shift = B_AT
        rest = unlink(table_of(own), (word >> B_AT) & NUMBER, own[INDEX])
    if rest >= 0:
        word += (rest - ((word >> shift) & NUMBER)) << shift
    store_release(words, k, word + VERSION)
    if rest >= 0:
        return OK
    shared, looks = words_at(own[SHARED], SHARED_WORDS), 0
    while not served(own):  # the stream that took it off the queue is about to notify it, or was killed
        looks += 1
        if looks > 1_000_000 and load(shared, DEATHS) != 0:
            return ABORTED
        pause()
    return CHANGING


@inline
def tried(words: Words, k: int, op: int, bits: int, own: Words) -> tuple[int, int]:
    """Look until no other stream is at the cell; return (OK, result) or (MUST_WAIT, 0).

    Return (ABORTED, 0) if the holder of the lock seems to have been killed.
    """
    status, result = attempt(words, k, op, bits, own)
    looks = 0
    while status == BUSY:
        looks += 1
        if looks > BARE:
            word = lock(words, k, own, True)
            if word == FAILED:
                return ABORTED, 0
            if can(op, word):
                return OK, change(words, k, word, op, bits, own)
            store_release(words, k, word)
            return MUST_WAIT, 0
        pause()
        status, result = attempt(words, k, op, bits, own)
    if status == MUST_WAIT or op == READXX:
        polled(own)
    return status, result


@inline
def peeked(words: Words, k: int, own: Words) -> tuple[bool, int]:
    """Return whether the cell is full, and its value, both at the same moment.

    If the holder of the lock seems to have been killed, return False and the value that is there.
    """
    looks = 0
    while True:
        word = load(words, k)
        if word & LOCKED == 0:
            value = load(words, k + 1)
            if load(words, k) == word:
                polled(own)
                return word & FULL != 0, value
        looks += 1
        if looks > BARE:
            word = lock(words, k, own, True)
            value = words[k + 1]
            if word == FAILED:
                return False, value
            store_release(words, k, word)
            return word & FULL != 0, value
        pause()
