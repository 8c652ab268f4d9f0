"""The compiled supersteps of the access patterns: Good, Bad and Random copy-in and copy-out.

    family   word that processor i accesses at k                   before each phase
    good     i t_max + k    its own run of the shared array        the run is touched backwards: what fits is in cache;
                                                                   one superstep goes before the first that counts
    bad      i + k t_line   one word of every line, next to those  the lines are flushed from all caches; before
                            of the other processors                copy-out the caches are filled with other, changed
                                                                   lines, which have to go first
    random   uniform over a footprint, the first words             nothing

Copy-in copies ``reads`` words of the shared array into a local one, copy-out ``writes`` words back: Good as a program's
slices are copied, by one memmove, the others element by element.  A barrier starts and ends each phase; a phase lasts
until its barrier lets go.  Source: the SMP cost study, section 4; Random is what its section 6 left open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import call_at, clock, flush, thread_clock
from smp._runtime.loops.compiler import inline, stream
from smp._runtime.protocols.barriers import IN_A_LOOP, synchronise
from smp._runtime.protocols.placement import UNKNOWN, probe
from smp._runtime.protocols.wait import OK, SIZE

if TYPE_CHECKING:
    from smp.profiles.access import Family

GOOD, BAD, RANDOM = 0, 1, 2
FAMILIES: tuple[Family, ...] = ("good", "bad", "random")
FRESH = 1 << 22  # so far apart begin the random sequences of two phases: neither meets words that the other cached
STAMPS = 7
"""Columns of a repeat: ns of copy-in, of copy-out, CPU time of both, start and end of copying in, and the placement of
the CPUs before and after it, in ps of a hand-over."""

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
def _read(
    family: int, shared: Int64s, local: Int64s, count: int, base: int, step: int, span: int, seed: int, move: int
) -> None:
    if family == RANDOM:
        for k in range(count):
            local[k] = shared[_scattered(seed + k, span)]
    elif family == GOOD:
        size = shared.itemsize
        call_at(move, local.ctypes.data, shared.ctypes.data + base * size, count * size, 0, 0)
    else:
        for k in range(count):
            local[k] = shared[base + k * step]


@inline
def _write(
    family: int, shared: Int64s, local: Int64s, count: int, base: int, step: int, span: int, seed: int, move: int
) -> None:
    if family == RANDOM:
        for k in range(count):
            shared[_scattered(seed + k, span)] = local[k]
    elif family == GOOD:
        size = shared.itemsize
        call_at(move, shared.ctypes.data + base * size, local.ctypes.data, count * size, 0, 0)
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
    rank: int,
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
    move: int,
    out: Int64s,
) -> int:
    """Run one pattern ``len(out)`` times on this processor, all processors together.

    Parameters
    ----------
    sync : int64 array
        ``proc.sync``.
    rank : int
        Of this processor; UNKNOWN where processors take turns on a CPU and have no placement.
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
    move : int
        Address of the C library's memmove.
    out : int64 array, shape (repeats, STAMPS)
        See `STAMPS`.

    Returns
    -------
    int
        Something that depends on all that was read; -1 when another processor failed.
    """
    total, placed = 0, UNKNOWN
    if rank >= 0:
        if synchronise(sync, IN_A_LOOP, 0) != OK:
            return -1
        placed = probe(sync, rank, sync[SIZE])
    for r in range(-1 if family == GOOD else 0, out.shape[0]):
        if family == GOOD:
            total += _prime(shared, local, reads, base)
        elif family == BAD:
            _spoil(shared, reads, base, step)
        if synchronise(sync, IN_A_LOOP, 0) != OK:
            return -1
        cpu0, t0 = thread_clock(), clock()
        _read(family, shared, local, reads, base, step, span, seed + 2 * r * FRESH, move)
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
        _write(family, shared, local, writes, base, step, span, seed + (2 * r + 1) * FRESH, move)
        if synchronise(sync, IN_A_LOOP, 0) != OK:
            return -1
        t4, cpu3 = clock(), thread_clock()
        before = placed
        if rank >= 0:
            placed = probe(sync, rank, sync[SIZE])
        if r >= 0:
            out[r, 0], out[r, 1], out[r, 2] = t2 - t0, t4 - t3, cpu1 - cpu0 + cpu3 - cpu2
            out[r, 3], out[r, 4], out[r, 5], out[r, 6] = t0, t1, before, placed
    return total & 0x7FFFFFFF
