"""Compiled loops of the synchronisation probe; each takes windows for a fixed time and stamps them.

    adds        fetch_add on one word, alone or by all processors
    handoffs    two processors hand one word's line to and fro
    barriers    all processors, in step

Word TURN holds the number of the next turn; processor r of a pair takes the turns r, r + 2, r + 4, ...:

    by store       look until it is my turn, then store the next          reads the line, then owns it
    by exchange    compare_exchange(my turn -> next) until it succeeds    owns the line at each try

A processor that finds STOP ends.  Every wait also looks at the machine's abort word, so it ends if the partner dies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, compare_exchange, fetch_add, load, store, thread_clock
from smp._runtime.loops.compiler import inline, local
from smp._runtime.protocols.barriers import barrier
from smp._runtime.protocols.wait import aborted
from smp.errors import Aborted

Words = NDArray[np.int64]
TURN, END, TOTAL = 0, 16, 32
"""Words of the shared array, on lines of their own: turn of the hand-off, end of the barriers, fetch-add."""
SHARED_WORDS = 48
STOP = -1
OK, OVER, FAILED = 0, 1, 2


@inline
def by_store(words: Words, turn: int, then: int, sync: Words) -> int:
    """Wait for a turn by loads, and store the next; return OK, OVER or FAILED."""
    while True:
        found = load(words, TURN)
        if found == turn:
            store(words, TURN, then)
            return OK
        if found == STOP:
            return OVER
        if aborted(sync):
            return FAILED


@inline
def by_exchange(words: Words, turn: int, then: int, sync: Words) -> int:
    """Wait for a turn and store the next in one operation; return OK, OVER or FAILED."""
    while True:
        found = compare_exchange(words, TURN, turn, then)
        if found == turn:
            return OK
        if found == STOP:
            return OVER
        if aborted(sync):
            return FAILED


@local
def handoffs(words: Words, sync: Words, exchange: bool, side: int, chunk: int, seconds: float, spans: Words) -> int:
    """Hand a word to and fro until the time is over; TURN must be 0 at the start.

    Parameters
    ----------
    words : int64 array, shape (SHARED_WORDS,)
    sync : int64 array
        ``proc.sync``.
    exchange : bool
        True to use `by_exchange`, False to use `by_store`.
    side : {0, 1}
        Side of this processor; side 0 keeps the time.
    chunk : int
        Turns of this side in a window, which is the number of round trips.
    seconds : float
    spans : int64 array, shape (n, 4)
        As `overlaps.SPAN`: start, end, CPU time, hand-offs (two a round trip); at most n windows are taken.

    Returns
    -------
    int
        Number of complete windows.

    Raises
    ------
    Aborted
        When another processor has failed.
    """
    deadline = clock() + np.int64(seconds * 1e9)
    turn, count, status = side, 0, OK
    while status == OK:
        if side == 0 and (clock() > deadline or count == spans.shape[0]):
            # the partner may have one more turn before it sees the end
            status = by_exchange(words, turn, STOP, sync)
            break
        cpu = thread_clock()
        start = clock()
        for _ in range(chunk):
            status = by_exchange(words, turn, turn + 1, sync) if exchange else by_store(words, turn, turn + 1, sync)
            if status != OK:
                break
            turn += 2
        end = clock()
        if status == OK and count < spans.shape[0]:
            spans[count, 0], spans[count, 1] = start, end
            spans[count, 2], spans[count, 3] = thread_clock() - cpu, 2 * chunk
            count += 1
    if status == FAILED:
        raise Aborted
    return count


@local
def adds(words: Words, chunk: int, seconds: float, spans: Words) -> int:
    """Add 1 to the word TOTAL until the time is over, in windows of ``chunk``; return the number of windows."""
    deadline = clock() + np.int64(seconds * 1e9)
    count = 0
    while count < spans.shape[0] and clock() < deadline:
        cpu = thread_clock()
        start = clock()
        for _ in range(chunk):
            fetch_add(words, TOTAL, 1)
        spans[count, 0], spans[count, 1] = start, clock()
        spans[count, 2], spans[count, 3] = thread_clock() - cpu, chunk
        count += 1
    return count


@local
def barriers(words: Words, sync: Words, rank: int, chunk: int, seconds: float, spans: Words) -> int:
    """Pass barriers in windows of ``chunk`` until the time is over on processor 0; END must be 0 at the start.

    There is one more barrier between two windows. Processor 0 sets END before that barrier, so all processors stop
    after the same window.  Returns the number of windows.
    """
    deadline = clock() + np.int64(seconds * 1e9)
    count = 0
    while True:
        barrier(sync)
        if load(words, END) != 0:
            return count
        cpu = thread_clock()
        start = clock()
        for _ in range(chunk):
            barrier(sync)
        spans[count, 0], spans[count, 1] = start, clock()
        spans[count, 2], spans[count, 3] = thread_clock() - cpu, chunk
        count += 1
        if rank == 0 and (clock() > deadline or count == spans.shape[0]):
            store(words, END, 1)
