"""Loops of the streams that wait at cells, and of the main thread that sets them off and times them.

    main     READY │ look until BEGUN is all │ initial loop │ note the time, fill │ sleep until all are done
    waiter         │ BEGUN + 1 │ readff                  │ DONE + 1; the last one notes the time     many
    waiter         │ BEGUN + 1 │ readfe │ work │ writeef │ DONE + 1; the last one notes the time     one at a time

The main thread sleeps at the end, whereas that of the MTA spun.  If it spun here, it would keep a CPU from the streams
that it has just woken.

Source: the study of the Tera MTA, sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, fetch_add, futex_wait, futex_wake, load, pause, store
from smp._runtime.loops.compiler import inline, stream
from smp._runtime.memory.cells import Cells
from smp._runtime.protocols.wait import aborted
from smp.compiled import readfe, readff, writeef
from smp.errors import Aborted

Words = NDArray[np.int64]
BEGUN, READY, DONE, ALL, END = 0, 8, 16, 17, 18
"""Words of the shared array: number of waiters that have begun; 1 once the main thread looks at that number; number of
waiters that are done; number of all waiters, or 0 when all are done; time at which the last one was done."""
SHARED_WORDS = 32
PATIENCE = 10_000
"""Largest number of looks at READY."""
SLICE_NS = 20_000_000
"""Longest sleep between two looks, in ns."""
OPERATIONS = 21
"""Dependent operations of an iteration of work: the depth of the MTA's pipeline, in which the next instruction of a
stream waited for this number of clocks."""


@inline
def worked(x: int, iterations: int, a: int, b: int) -> int:
    """Work for a number of iterations of `OPERATIONS` clocks, in a chain that no compiler can shorten."""
    for _ in range(iterations):
        for _ in range(OPERATIONS // 3):
            x = ((x ^ a) + b) ^ b
    return x


@inline
def begin(words: Words) -> None:
    """Add 1 to BEGUN once the main thread looks, or after `PATIENCE` looks, since the main thread may need this CPU."""
    looks = 0
    while load(words, READY) == 0 and looks < PATIENCE:
        pause()
        looks += 1
    fetch_add(words, BEGUN, 1)


@inline
def report(words: Words) -> None:
    """Add 1 to DONE; the last waiter notes the time and wakes the main thread."""
    if fetch_add(words, DONE, 1) + 1 == words[ALL]:
        words[END] = clock()
        store(words, ALL, 0)
        futex_wake(words, ALL, 1)


@stream
def pass_by(words: Words, cells: Cells) -> None:
    """Wait until cell 0 is full, and leave it full."""
    begin(words)
    readff(cells, 0)
    report(words)


@stream
def link(words: Words, cells: Cells, i: int, then: int, iterations: int) -> int:
    """Empty cell ``i``, work, and fill cell ``then`` with the value plus 1; return the result of the work."""
    begin(words)
    count = readfe(cells, i)
    x = worked(count, iterations, i + 0x5DEECE66D, then + 0x9E3779B97F4A)
    writeef(cells, then, count + 1)
    report(words)
    return x


@stream
def set_off(words: Words, cells: Cells, initial_ns: int, sync: Words) -> int:
    """Wait until ALL waiters have begun, spin, and fill cell 0; return the ns from the fill until the last is done.

    Raises
    ------
    Aborted
        When the run fails.
    """
    store(words, READY, 1)
    while load(words, BEGUN) < words[ALL]:
        if aborted(sync):
            raise Aborted
        pause()
    start = clock()
    while clock() - start < initial_ns:
        pause()
    start = clock()
    writeef(cells, 0, 1)
    streams = load(words, ALL)
    while streams != 0:
        futex_wait(words, ALL, streams, SLICE_NS)
        if aborted(sync):
            raise Aborted
        streams = load(words, ALL)
    return int(words[END] - start)
