"""What streams do that wait at cells, and what the stream does that sets them off and times them.

    main     READY │ look until BEGUN is all │ initial loop │ note the time, fill │ sleep until all are done
    waiter         │ BEGUN + 1 │ readff                  │ DONE + 1; the last one notes the time     many
    waiter         │ BEGUN + 1 │ readfe │ work │ writeef │ DONE + 1; the last one notes the time     one at a time

The main thread sleeps in the end, where the MTA's spun: it would keep a CPU from those whom it has just woken.

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
"""Words of the shared array: waiters that have begun; whether the main thread looks for them; waiters that are done;
how many there are, or 0 when all are done; when the last was."""
SHARED_WORDS = 32
PATIENCE = 10_000
"""Looks at READY."""
SLICE_NS = 20_000_000
"""The longest sleep between two looks."""
OPERATIONS = 21
"""Dependent operations of an iteration of work: the depth of the MTA's pipeline, where a stream's next instruction
waited for so many clocks."""


@inline
def worked(x: int, iterations: int, a: int, b: int) -> int:
    """Work for so many iterations of `OPERATIONS` clocks: a chain that no compiler can shorten."""
    for _ in range(iterations):
        for _ in range(OPERATIONS // 3):
            x = ((x ^ a) + b) ^ b
    return x


@inline
def begin(words: Words) -> None:
    """Count oneself in once the main thread looks, or after a while: it may be the one who needs this CPU."""
    looks = 0
    while load(words, READY) == 0 and looks < PATIENCE:
        pause()
        looks += 1
    fetch_add(words, BEGUN, 1)


@inline
def report(words: Words) -> None:
    """Count oneself among those who are done; the last one notes the time and wakes the main thread."""
    if fetch_add(words, DONE, 1) + 1 == words[ALL]:
        words[END] = clock()
        store(words, ALL, 0)
        futex_wake(words, ALL, 1)


@stream
def pass_by(words: Words, cells: Cells) -> None:
    """Wait until cell 0 is full, and leave it so."""
    begin(words)
    readff(cells, 0)
    report(words)


@stream
def link(words: Words, cells: Cells, i: int, then: int, iterations: int) -> int:
    """Empty cell ``i``, work, fill cell ``then`` with one more; return what the work has come to."""
    begin(words)
    count = readfe(cells, i)
    x = worked(count, iterations, i + 0x5DEECE66D, then + 0x9E3779B97F4A)
    writeef(cells, then, count + 1)
    report(words)
    return x


@stream
def set_off(words: Words, cells: Cells, initial_ns: int, sync: Words) -> int:
    """Wait until ALL have begun, spin, fill cell 0; return the ns from then until the last is done.

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
