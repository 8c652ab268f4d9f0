"""Traffic of a chosen density: lines in order, some read and some written, with a delay after each.

read      64 bytes from memory
written   128 bytes: a line is read before it is overwritten, and written back
delay     a chain of exclusive ors and additions, one cycle each (see `clocks`), which goes on from line to line
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, thread_clock
from smp._runtime.loops.compiler import local

Words = NDArray[np.int64]
OF = 4
"""Lines of a group, of which some are written."""
CYCLES = 2
"""Of a step of the delay."""


@local
def lines(words: Words, per_line: int, first: int, count: int, written: int, steps: int, mark: int) -> int:
    """Go through ``count`` lines, of each group of `OF` the first ``written`` by writing; return a value of them all.

    Parameters
    ----------
    words : int64 array
    per_line : int
        Words of a line.
    first, count : int
        Lines; ``first`` is a multiple of `OF`.
    written : int
        0 to `OF`.
    steps : int
        Of the delay after each line, `CYCLES` cycles each.
    mark : int
        Where the chain of the delays begins; what was returned last.
    """
    seen = 0
    for k in range(first, first + count):
        if k % OF < written:
            words[k * per_line] = mark
        else:
            seen += words[k * per_line]
        for _ in range(steps):
            mark = (mark ^ 0x5DEECE66D) + 0x9E3779B97F4A
    return mark ^ seen


@local
def inject_until(
    words: Words, per_line: int, written: int, steps: int, chunk: int, seconds: float, spans: Words
) -> tuple[int, int]:
    """Go through the words again and again, in windows of ``chunk`` lines, for a fixed time.

    Parameters
    ----------
    words : int64 array, at least ``chunk`` lines
    per_line, written, steps
        As for `lines`.
    chunk : int
        A multiple of `OF`.
    seconds : float
    spans : int64 array, shape (n, 4)
        As `overlaps.SPAN`: start, end, CPU time, lines; at most n windows are taken.

    Returns
    -------
    tuple of int (2,)
        The number of windows, and a value that keeps the compiler from dropping them.
    """
    deadline = clock() + np.int64(seconds * 1e9)
    first = count = mark = 0
    while count < spans.shape[0] and clock() < deadline:
        if (first + chunk) * per_line > words.size:
            first = 0
        cpu = thread_clock()
        start = clock()
        mark = lines(words, per_line, first, chunk, written, steps, mark)
        spans[count, 0], spans[count, 1] = start, clock()
        spans[count, 2], spans[count, 3] = thread_clock() - cpu, chunk
        first += chunk
        count += 1
    return count, mark
