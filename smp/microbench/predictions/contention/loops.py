"""Compiled loops whose contention is measured: work, and work with an atomic addition to a shared word.

The work is a chain of operations, each of which needs the result of the one before.  The addition needs the result of
the work, and the next work needs that of the addition.  So a processor cannot overlap them, as LoPC's threads do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, fetch_add, thread_clock
from smp._runtime.loops.compiler import inline, stream

Words = NDArray[np.int64]
MASK = 0xFFFFFFFFFFFF
"""Bits of the result of a step that go on into the next one by the shift to the right."""


@inline
def _worked(x: int, steps: int) -> int:
    """Return x after a chain of steps."""
    for _ in range(steps):
        x ^= x << 7  # shifts that no compiler combines with those of the next step
        x ^= (x >> 9) & MASK
    return x


@stream
def work(x: int, steps: int) -> int:
    """Do a chain of steps, for a program in Python."""
    return int(_worked(x, steps))


@stream
def cycles(words: Words, steps: int, n: int, adds: int, nothing: int, span: Words) -> int:
    """Work for a number of steps, n times; if ``adds`` is not 0, each time followed by an addition of 1 to word 0.

    Parameters
    ----------
    words : int64 array
        Shared by the processors.
    steps, n, adds : int
    nothing : int
        0, which the compiler does not know: the value that is added then needs the result of the work, and the work
        that of the addition.
    span : int64 array, shape (4,)
        Receives start, end, CPU time and n, as `overlaps.SPAN`.

    Returns
    -------
    int
        Number of additions that came directly after one of another processor.
    """
    x, last, moved = 1, -1, 0
    cpu = thread_clock()
    start = clock()
    if adds:
        for _ in range(n):
            x = _worked(x, steps)
            found = fetch_add(words, 0, 1 + (x & nothing))
            moved += found != last + 1
            last = found
            x += found & nothing
    else:
        for _ in range(n):
            x = _worked(x, steps)
    span[0], span[1] = start, clock()
    span[2], span[3] = thread_clock() - cpu, n
    return moved + (x & nothing)
