"""Loops that stamp the moment when a thread runs, and the bare parts of a remapping: the wake-up of another thread.

    waker      note BEFORE, GO, wake │ sleep
    sleeper                   asleep │ note WOKEN │ wake the waker

Whoever keeps the CPU before that does so with `spin_out`.
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
"""Words of a hand-off, on lines of their own by who writes them."""
HANDOFF_WORDS = 64
SLICE_NS = 20_000_000
"""The longest sleep between two looks."""


@stream
def stamp(times: Words, k: int) -> None:
    """Note the time."""
    times[k] = clock()


@stream
def spin_out(ns: int) -> None:
    """Keep the CPU and the stream for so long."""
    start = clock()
    while clock() - start < ns:
        pause()


@stream
def write_time(cells: Cells) -> None:
    """Leave the time in cell 0: what the thread does that gets the stream."""
    writeef(cells, 0, clock())


@stream
def remap(cells: Cells, times: Words) -> None:
    """Trap on cell 0, which a thread fills that waits for this stream; note when that ran, and when this goes on.

    Parameters
    ----------
    cells : Cells of int64, empty
    times : int64 array, shape (2,)
        ns from the beginning of the wait: until the other ran, until this one goes on.
    """
    start = clock()
    times[0] = readfe(cells, 0) - start
    times[1] = clock() - start


@stream
def wake_once(words: Words, number: int, sync: Words) -> None:
    """Wake the sleeper, and sleep until it answers; raises Aborted when the run fails."""
    words[BEFORE] = clock()
    store(words, GO, number)
    futex_wake(words, GO, 1)
    while load(words, BACK) != number:
        if aborted(sync):
            raise Aborted
        futex_wait(words, BACK, number - 1, SLICE_NS)


@stream
def sleep_once(words: Words, number: int, sync: Words) -> None:
    """Sleep until the waker wakes; note the time at once.  Raises Aborted when the run fails."""
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
