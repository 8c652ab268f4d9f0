"""Loops that note the time at which a thread runs, and one part of a remapping: the wake-up of another thread.

    waker      note BEFORE, GO, wake │ sleep
    sleeper                   asleep │ note WOKEN │ wake the waker

Before an event, the thread that causes it keeps its CPU with `spin_out`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, futex_wait, futex_wake, load, pause, store
from smp._runtime.loops.compiler import stream
from smp._runtime.memory.cells import Cells
from smp._runtime.protocols.wait import aborted
from smp.compiled import readfe, writeef
from smp.errors import Aborted

Words = NDArray[np.int64]
GO, BACK, BEFORE, WOKEN = 0, 16, 32, 48
"""Words of a wake-up, each on cache lines of its own."""
HANDOFF_WORDS = 64
SLICE_NS = 20_000_000
"""Longest sleep between two looks, in ns."""


@stream
def stamp(times: Words, k: int) -> None:
    """Store the time in ``times[k]``."""
    times[k] = clock()


@stream
def spin_out(ns: int) -> None:
    """Keep the CPU and the stream for the given number of ns."""
    start = clock()
    while clock() - start < ns:
        pause()


@stream
def write_time(cells: Cells) -> None:
    """Write the time into cell 0; the thread that gets the stream runs this."""
    writeef(cells, 0, clock())


@stream
def remap(cells: Cells, times: Words) -> None:
    """Wait at cell 0, which a thread that waits for this stream fills; note when that thread ran and this one goes on.

    Parameters
    ----------
    cells : Cells of int64, empty
    times : int64 array, shape (2,)
        Receives the ns from the beginning of the wait until the other thread ran, and until this one goes on.
    """
    start = clock()
    times[0] = readfe(cells, 0) - start
    times[1] = clock() - start


@stream
def wake_once(words: Words, number: int, sync: Words) -> None:
    """Wake the sleeper, and sleep until it answers; raise Aborted if the run fails."""
    words[BEFORE] = clock()
    store(words, GO, number)
    futex_wake(words, GO, 1)
    while load(words, BACK) != number:
        if aborted(sync):
            raise Aborted
        futex_wait(words, BACK, number - 1, SLICE_NS)


@stream
def sleep_once(words: Words, number: int, sync: Words) -> None:
    """Sleep until the waker wakes this thread, and note the time at once; raise Aborted if the run fails."""
    while load(words, GO) != number:
        if aborted(sync):
            raise Aborted
        futex_wait(words, GO, number - 1, SLICE_NS)
    words[WOKEN] = clock()


@stream
def answer(words: Words, number: int) -> None:
    """Wake the waker."""
    store(words, BACK, number)
    futex_wake(words, BACK, 1)
