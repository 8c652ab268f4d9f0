"""Loops with a known number of loads under way, and the loop of the streams that run them for a fixed time.

    chains     K pointer chases, a step of each in turn            K loads under way, whatever the core reorders
    gather     groups of ``depth`` loads, then work on each        depth loads under way: the next group's positions
               ... load load load │ work │ load load load │ ...    depend on the result of this group's work

The gathered words are all zero, and so is the result of the work on them, but the compiler cannot know this.

The streams of a crew (see `together`) sleep on GO between jobs.  The main thread writes a job before it changes GO.
Each stream that takes part adds 1 to DONE when it has stopped, and the last one wakes the main thread, which waits for
them.  The words of a job:

    GO         number of the job; STOP: the streams end
    STREAMS    streams with a smaller number take part
    DEPTH, WORK, FAR, GROUPS       arguments of `gather`; GROUPS is the number of groups between two looks at the clock
    DEADLINE   time at which the streams stop, in ns of `clock`
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, fetch_add, futex_wait, futex_wake, load, peek, thread_clock
from smp._runtime.loops.compiler import inline, local

Words = NDArray[np.int64]
DEEPEST = 8
"""Largest number of loads in a group: as many as a stream of the MTA could have under way."""
GO, STREAMS, DEPTH, WORK, FAR, GROUPS, DEADLINE, DONE = 0, 1, 2, 3, 4, 5, 6, 16
JOB_WORDS = 32
STOP = -1
SLICE_NS = 20_000_000
"""Longest sleep between two looks at a word, in ns."""
MIX = 0x9E3779B97F4A7C15


@local
def chase_chains(at: Words, repeat: int) -> tuple[int, int]:
    """Take ``repeat`` steps on every chain, in turn; return wall and CPU time in ns.

    Parameters
    ----------
    at : int64 array, shape (chains,)
        Address that each chain has reached; updated in place.
    repeat : int
    """
    cpu = thread_clock()
    wall = clock()
    for _ in range(repeat):
        for k in range(at.size):
            at[k] = peek(at[k])
    wall = clock() - wall
    return wall, thread_clock() - cpu


@inline
def far(position: np.uint64, lines: np.uint64, per_line: np.uint64) -> np.uint64:
    """Return the index of the first word of a pseudo-random line; ``lines`` is a power of two."""
    x = (position ^ (position >> np.uint64(31))) * np.uint64(MIX)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(MIX)
    return ((x >> np.uint64(32)) & (lines - np.uint64(1))) * per_line


@inline
def word(words: Words, position: np.uint64, far_apart: bool, per_line: np.uint64) -> np.int64:
    """Return the word at a position, either in the pseudo-random order or in the words, counted cyclically."""
    size = np.uint64(words.size)
    at = far(position, size // per_line, per_line) if far_apart else position & (size - np.uint64(1))
    return np.int64(words[at])


@inline
def worked(x: np.int64, work: int, factor: np.int64) -> np.int64:
    """Do the work on one word, a chain of multiplications; return the product."""
    for _ in range(work):
        x *= factor
    return x


@local
def gather(words: Words, per_line: int, first: int, groups: int, depth: int, work: int, far_apart: bool) -> int:
    """Load groups of words, do the work on each group, and return the position after the last load.

    Parameters
    ----------
    words : int64 array, all zero, its length a power of two
    per_line : int
        Number of words in a line, a power of two.
    first : int
        Position to start at, either in the words, counted cyclically, or in the pseudo-random order.
    groups, depth, work : int
        Number of groups, of loads in a group (1 to `DEEPEST`), and of multiplications of each word.
    far_apart : bool
        True if each load goes to a line anywhere in the words, False if it goes to the next word.

    Returns
    -------
    int
        ``first`` plus the number of loads.

    Notes
    -----
    The words of a group are in eight variables, which are all loaded before the work on any of them begins.  In an
    array, they would be stored one by one and loaded back several at a time.  A core does such a load only when the
    stores are done, which would cost 30 ns a group.
    """
    line, factor, at = np.uint64(per_line), np.int64(words[0] + 3), np.uint64(first)
    for _ in range(groups):
        a = word(words, at, far_apart, line)
        b = c = d = e = f = g = h = np.int64(0)
        if depth > 1:
            b = word(words, at + np.uint64(1), far_apart, line)
        if depth > 2:
            c = word(words, at + np.uint64(2), far_apart, line)
        if depth > 3:
            d = word(words, at + np.uint64(3), far_apart, line)
        if depth > 4:
            e = word(words, at + np.uint64(4), far_apart, line)
        if depth > 5:
            f = word(words, at + np.uint64(5), far_apart, line)
        if depth > 6:
            g = word(words, at + np.uint64(6), far_apart, line)
        if depth > 7:
            h = word(words, at + np.uint64(7), far_apart, line)
        if work:
            a = worked(a, work, factor)
            b = worked(b, work if depth > 1 else 0, factor)
            c = worked(c, work if depth > 2 else 0, factor)
            d = worked(d, work if depth > 3 else 0, factor)
            e = worked(e, work if depth > 4 else 0, factor)
            f = worked(f, work if depth > 5 else 0, factor)
            g = worked(g, work if depth > 6 else 0, factor)
            h = worked(h, work if depth > 7 else 0, factor)
        at += np.uint64(depth + (a | b | c | d | e | f | g | h))
    return int(np.int64(at))


@local
def serve(job: Words, k: int, words: Words, per_line: int, span: Words) -> None:
    """Run stream ``k`` of a crew until GO is STOP.

    Parameters
    ----------
    job : int64 array, shape (JOB_WORDS,)
        Words of the job, which all streams of the crew share.
    k : int
        Number of this stream.
    words, per_line
        As for `gather`.
    span : int64 array, shape (4,)
        Filled for each job as `overlaps.SPAN`: start, end, CPU time and loads of this stream.
    """
    seen, at = 0, k * 0x61C88647  # the streams begin at positions far apart
    while True:
        while load(job, GO) == seen:
            futex_wait(job, GO, seen, SLICE_NS)
        seen = int(load(job, GO))
        if seen == STOP:
            return
        if k >= job[STREAMS]:
            continue
        groups, depth, work, far_apart = job[GROUPS], job[DEPTH], job[WORK], job[FAR] != 0
        cpu = thread_clock()
        span[0], span[3] = clock(), 0
        while True:  # at least once
            at = gather(words, per_line, at, groups, depth, work, far_apart)
            span[3] += groups * depth
            if clock() >= job[DEADLINE]:
                break
        span[1] = clock()
        span[2] = thread_clock() - cpu
        if fetch_add(job, DONE, 1) == job[STREAMS] - 1:
            futex_wake(job, DONE, 1)
