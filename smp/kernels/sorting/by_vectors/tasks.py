"""Tasks that streams leave to each other: each is taken by one stream, which may leave others.

    word                 written by                              read by
    LOCK                 all: compare_exchange from FREE to      all
                         HELD, and a store of FREE by the holder
    WAITING              the holder of the lock: number of       the holder; by load, streams with tasks, as a hint
                         tasks that wait
    ACTIVE               the holder: number of streams with a    the holder
                         task, which may leave others
    IDLE                 the holder: number of streams that      the holder
                         found no task
    CHANGES              the holder, if there are idle streams:  the holder; by load, idle streams, which sleep until
                         how often a task was left, or no        it is another number
                         stream was active any more
    STEPS                the holder: number of tasks after       the holder
                         which the next ones can be left
    tasks[3k ... 3k + 2] the holder: numbers of the task k       the holder
    MOST                 no stream: number of tasks that may     all
                         wait
    OWN ... OWN + 4      what the tasks are about: written by the stream that has or leaves one, and read by the one
                         that takes it or ends the last step

The store that frees the lock is a release, and taking the lock is an acquire.  So the stream that takes a task sees
what the stream that left it has written, and the stream that ends the last of the steps sees what the others have.

An idle stream waits until a task is left, or until no stream is active any more.  It reads CHANGES before it frees the
lock, so it misses no change.  An active stream waits for the lock alone, whose holder waits for nothing.  So every wait
ends.

Tasks are taken in the reverse order, so that their keys may still be in a cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp import inline
from smp._runtime.loops.atomics import clock, compare_exchange, futex_wait, futex_wake, load, pause, store
from smp._runtime.protocols.wait import EVER

LOCK, WAITING, ACTIVE, IDLE, CHANGES, STEPS, MOST, OWN, TASKS = *range(8), 12
FREE, HELD = 0, 1
ROOM = 64
"""Tasks that may wait in addition to the first ones; if there are as many, streams should leave no more."""
SPIN = 50_000
"""Nanoseconds for which an idle stream spins before it sleeps."""
Words = NDArray[np.int64]
Task = tuple[int, int, int]


def words_for(tasks: list[Task], streams: int) -> Words:
    """Return the words for some tasks that wait at first."""
    most = len(tasks) + ROOM
    words = np.zeros(TASKS + 3 * (most + streams), np.int64)  # each stream may see that there is room for one more
    words[WAITING], words[MOST] = len(tasks), most
    for at, (first, second, kind) in enumerate(tasks):
        words[TASKS + 3 * at], words[TASKS + 3 * at + 1], words[TASKS + 3 * at + 2] = first, second, kind
    return words


@inline
def lock(words: Words) -> None:
    while compare_exchange(words, LOCK, FREE, HELD) != FREE:
        pause()


@inline
def unlock(words: Words, changed: bool) -> None:
    """Free the lock; if something has changed for idle streams, wake them."""
    idle = load(words, IDLE)
    if changed and idle > 0:
        store(words, CHANGES, load(words, CHANGES) + 1)
    store(words, LOCK, FREE)
    if changed and idle > 0:
        futex_wake(words, CHANGES, idle)


@inline
def put(words: Words, first: int, second: int, kind: int) -> None:
    """Leave a task to any stream."""
    lock(words)
    waiting = load(words, WAITING)
    at = TASKS + 3 * waiting
    words[at], words[at + 1], words[at + 2] = first, second, kind
    store(words, WAITING, waiting + 1)
    unlock(words, True)


@inline
def leave_no_more(words: Words) -> None:
    """Say that this stream leaves no other task before it takes the next one."""
    lock(words)
    active = load(words, ACTIVE) - 1
    store(words, ACTIVE, active)
    unlock(words, active == 0)


@inline
def begin_steps(words: Words, count: int) -> None:
    """Say after how many steps the next tasks can be left.  No other step may be under way."""
    lock(words)
    store(words, STEPS, count)
    unlock(words, False)


@inline
def end_step(words: Words) -> bool:
    """Return True if this was the last of the steps."""
    lock(words)
    left = load(words, STEPS) - 1
    store(words, STEPS, left)
    unlock(words, False)
    return bool(left == 0)


@inline
def take(words: Words) -> Task:
    """Wait for a task and take it; return its numbers, which are all 0 if no task is left."""
    lock(words)
    while load(words, WAITING) == 0 and load(words, ACTIVE) > 0:
        store(words, IDLE, load(words, IDLE) + 1)
        seen = load(words, CHANGES)
        unlock(words, False)
        began = clock()
        while load(words, CHANGES) == seen:
            if clock() - began < SPIN:
                pause()
            else:
                futex_wait(words, CHANGES, seen, EVER)
        lock(words)
        store(words, IDLE, load(words, IDLE) - 1)
    first = second = kind = 0
    waiting = load(words, WAITING) - 1
    if waiting >= 0:
        at = TASKS + 3 * waiting
        first, second, kind = words[at], words[at + 1], words[at + 2]
        store(words, WAITING, waiting)
        store(words, ACTIVE, load(words, ACTIVE) + 1)
    unlock(words, False)
    return first, second, kind
