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
"""Number of lines in a group, of which some are written."""
CYCLES = 2
"""Cycles of one step of the delay."""


@local
def lines(words: Words, per_line: int, first: int, count: int, written: int, steps: int, mark: int) -> int:
    """Write the first ``written`` of each `OF` lines and read the others; return a value that depends on those read.

    Parameters
    ----------
    words : int64 array
    per_line : int
        Words of a line.
    first, count : int
        First line, a multiple of `OF`, and number of lines.
    written : int
        Number of lines written in each group, 0 to `OF`.
    steps : int
        Steps of the delay after each line, `CYCLES` cycles each.
    mark : int
        Value at which the chain of the delays begins: the one that was returned last.
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
        Lines of a window, a multiple of `OF`.
    seconds : float
    spans : int64 array, shape (n, 4)
        Filled as `overlaps.SPAN`: start, end, CPU time, lines; at most n windows are taken.

    Returns
    -------
    tuple of int (2,)
        Number of windows, and a value that keeps the compiler from dropping the accesses.
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
