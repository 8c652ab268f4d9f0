"""The compiled supersteps of the access patterns: Good, Bad and Random copy-in and copy-out.

    family   word that processor i accesses at k                   before each phase
    good     i t_max + k    its own run of the shared array        the run is touched backwards: what fits is in cache
    bad      i + k t_line   one word of every line, next to those  the lines are flushed from all caches; before
                            of the other processors                copy-out the caches are filled with other, changed
                                                                   lines, which have to go first
    random   uniform over the words that Bad spans                 nothing

Copy-in copies ``reads`` words of the shared array into a local one, element by element, copy-out ``writes`` words
back.  A barrier starts and ends each phase; a phase lasts until its barrier lets go.  Source: the SMP cost study,
section 4; Random is what its section 6 left open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, flush, thread_clock
from smp._runtime.loops.compiler import inline, stream
from smp._runtime.protocols.barriers import IN_A_LOOP, synchronise
from smp._runtime.protocols.wait import OK

if TYPE_CHECKING:
    from smp.profiles.access import Family

GOOD, BAD, RANDOM = 0, 1, 2
FAMILIES: tuple[Family, ...] = ("good", "bad", "random")
FRESH = 1 << 22  # so far apart begin the random sequences of two phases: neither meets words that the other cached
STAMPS = 6  # columns of a repeat: copy-in ns, copy-out ns, CPU ns of both, own start and end of copying, ok

Int64s = NDArray[np.int64]


@inline
def _scattered(k: int, words: int) -> int:
    """The k-th of a fixed sequence of words, as if drawn at random: SplitMix64's finaliser, scaled to the range."""
    z = np.uint64(k) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word: int = np.int64(((z >> np.uint64(32)) * np.uint64(words)) >> np.uint64(32))  # type: ignore[assignment]
    return word


@inline
def _read(family: int, shared: Int64s, local: Int64s, count: int, base: int, step: int, span: int, seed: int) -> None:
    if family == RANDOM:
        for k in range(count):
            local[k] = shared[_scattered(seed + k, span)]
    elif step == 1:
        for k in range(count):
            local[k] = shared[base + k]
    else:
        for k in range(count):
            local[k] = shared[base + k * step]


@inline
def _write(family: int, shared: Int64s, local: Int64s, count: int, base: int, step: int, span: int, seed: int) -> None:
    if family == RANDOM:
        for k in range(count):
            shared[_scattered(seed + k, span)] = local[k]
    elif step == 1:
        for k in range(count):
            shared[base + k] = local[k]
    else:
        for k in range(count):
            shared[base + k * step] = local[k]


@inline
def _prime(shared: Int64s, local: Int64s, count: int, base: int) -> int:
    """Touch both runs backwards, so that their first words end up nearest."""
    total = 0
    for k in range(count - 1, -1, -1):
        total += shared[base + k] + local[k]
    return total


@inline
def _spoil(shared: Int64s, count: int, base: int, step: int) -> None:
    """Leave no line of the pattern in any cache: the next access to each goes to memory."""
    for k in range(count):
        flush(shared, base + k * step)


@inline
def _fill(spoiler: Int64s, line: int) -> None:
    """Leave the caches full of changed lines of other data."""
    for i in range(0, len(spoiler), line):
        spoiler[i] += 1


@stream
def supersteps(
    sync: Int64s,
    family: int,
    shared: Int64s,
    local: Int64s,
    spoiler: Int64s,
    reads: int,
    writes: int,
    base: int,
    step: int,
    span: int,
    seed: int,
    out: Int64s,
) -> int:
    """Run one pattern ``len(out)`` times on this processor, all processors together.

    Parameters
    ----------
    sync : int64 array
        ``proc.sync``.
    family : {GOOD, BAD, RANDOM}
    shared, local : int64 arrays
    spoiler : int64 array
        As large as the largest cache of this processor's own.
    reads, writes : int
        Of this processor, in words.
    base, step : int
        Its first word, and the distance to the next.
    span : int
        Words that Random draws from.
    seed : int
        Where this processor's random sequence begins.
    out : int64 array, shape (repeats, STAMPS)
        ns of copy-in, of copy-out, CPU time of both; start and end of this processor's own copy-in; 1.

    Returns
    -------
    int
        Something that depends on all that was read; -1 when another processor failed.
    """
    total = 0
    for r in range(out.shape[0]):
        if family == GOOD:
            total += _prime(shared, local, reads, base)
        elif family == BAD:
            _spoil(shared, reads, base, step)
        if synchronise(sync, IN_A_LOOP, 0) != OK:
            return -1
        cpu0, t0 = thread_clock(), clock()
        _read(family, shared, local, reads, base, step, span, seed + 2 * r * FRESH)
        t1 = clock()
        if synchronise(sync, IN_A_LOOP, 0) != OK:
            return -1
        t2, cpu1 = clock(), thread_clock()
        if family == GOOD:
            total += _prime(shared, local, writes, base)
        elif family == BAD:
            _spoil(shared, writes, base, step)
            _fill(spoiler, step)
        if synchronise(sync, IN_A_LOOP, 0) != OK:
            return -1
        cpu2, t3 = thread_clock(), clock()
        _write(family, shared, local, writes, base, step, span, seed + (2 * r + 1) * FRESH)
        if synchronise(sync, IN_A_LOOP, 0) != OK:
            return -1
        t4, cpu3 = clock(), thread_clock()
        out[r, 0], out[r, 1], out[r, 2] = t2 - t0, t4 - t3, cpu1 - cpu0 + cpu3 - cpu2
        out[r, 3], out[r, 4], out[r, 5] = t0, t1, 1
    return total & 0x7FFFFFFF
