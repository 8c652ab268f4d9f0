"""The compiled supersteps of the access patterns: Good, Bad and Random copy-in and copy-out.

    family   word that processor i accesses at k                   before each phase
    good     i t_max + k    its own run of the shared array        the run is touched backwards: the part that fits is
                                                                   in cache; one superstep precedes those that count
    bad      i + k t_line   one word of every line, next to those  the lines are flushed from all caches; before
                            of the other processors                copy-out the caches are filled with other, changed
                                                                   lines, which must be written back first
    random   uniform over a footprint, the first words             nothing

Copy-in copies ``reads`` words of the shared array into a local array, and copy-out copies ``writes`` words back.  Good
copies by one memmove, as a program's slices are copied.  The others copy element by element.  A long phase is done in
pieces, all processors together, so that a processor that is taken off its CPU spoils a piece and not the whole phase.
A barrier starts and ends each piece; a piece lasts until its closing barrier releases the processor.

Source: the SMP cost study, section 4; Random covers the case that its section 6 left open.
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
FRESH = 1 << 22  # distance between the random sequences of two phases: neither meets words that the other cached
STAMPS = 6
"""Columns of a piece: its ns, its CPU time, start and end of the processor's own copying, and the placement of the CPUs
before and after it, as a hand-off in ps."""

Int64s = NDArray[np.int64]


@inline
def _scattered(k: int, words: int) -> int:
    """Return the k-th of a fixed pseudo-random sequence of words: SplitMix64's finaliser, scaled to the range."""
    z = np.uint64(k) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word: int = np.int64(((z >> np.uint64(32)) * np.uint64(words)) >> np.uint64(32))  # type: ignore[assignment]
    return word


@inline
def _read(
    family: int,
    shared: Int64s,
    local: Int64s,
    first: int,
    last: int,
    base: int,
    step: int,
    span: int,
    seed: int,
    move: int,
) -> None:
    if family == RANDOM:
        for k in range(first, last):
            local[k] = shared[_scattered(seed + k, span)]
    elif family == GOOD:
        size = shared.itemsize
        call_at(
            move,
            local.ctypes.data + first * size,
            shared.ctypes.data + (base + first) * size,
            (last - first) * size,
            0,
            0,
        )
    else:
        for k in range(first, last):
            local[k] = shared[base + k * step]


@inline
def _write(
    family: int,
    shared: Int64s,
    local: Int64s,
    first: int,
    last: int,
    base: int,
    step: int,
    span: int,
    seed: int,
    move: int,
) -> None:
    if family == RANDOM:
        for k in range(first, last):
            shared[_scattered(seed + k, span)] = local[k]
    elif family == GOOD:
        size = shared.itemsize
        call_at(
            move,
            shared.ctypes.data + (base + first) * size,
            local.ctypes.data + first * size,
            (last - first) * size,
            0,
            0,
        )
    else:
        for k in range(first, last):
            shared[base + k * step] = local[k]


@inline
def _prime(shared: Int64s, local: Int64s, count: int, base: int) -> int:
    """Touch both runs backwards, so that their first words end up in the nearest cache."""
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


@inline
def _phase(
    sync: Int64s,
    rank: int,
    writing: bool,
    family: int,
    shared: Int64s,
    local: Int64s,
    words: int,
    piece: int,
    base: int,
    step: int,
    span: int,
    seed: int,
    move: int,
    out: Int64s,
) -> int:
    """Copy in or out, piece by piece, with a row of ``out`` for each.  Return OK, or the status of a failed barrier."""
    placed, status = UNKNOWN, OK
    if rank >= 0:
        status = synchronise(sync, IN_A_LOOP, 0, False)  # the neighbours reach the probe together
        if status == OK:
            placed = probe(sync, rank, sync[SIZE])
    for k in range(out.shape[0]):
        first, last = min(k * piece, words), min((k + 1) * piece, words)
        if status == OK:
            status = synchronise(sync, IN_A_LOOP, 0, False)
        if status != OK:
            return int(status)
        cpu0, t0 = thread_clock(), clock()
        if writing:
            _write(family, shared, local, first, last, base, step, span, seed, move)
        else:
            _read(family, shared, local, first, last, base, step, span, seed, move)
        t1 = clock()
        status = synchronise(sync, IN_A_LOOP, 0, False)
        if status != OK:
            return int(status)
        t2, cpu1 = clock(), thread_clock()
        out[k, 0], out[k, 1], out[k, 2], out[k, 3], out[k, 4] = t2 - t0, cpu1 - cpu0, t0, t1, placed
        if rank >= 0:
            placed = probe(sync, rank, sync[SIZE])
        out[k, 5] = placed
    return OK


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
    piece: int,
    base: int,
    step: int,
    span: int,
    seed: int,
    move: int,
    copy_in: Int64s,
    copy_out: Int64s,
) -> int:
    """Run one pattern a few times on this processor, all processors together.

    Parameters
    ----------
    sync : int64 array
        ``proc.sync``.
    rank : int
        Rank of this processor; UNKNOWN if processors take turns on a CPU and have no placement.
    family : {GOOD, BAD, RANDOM}
    shared, local : arrays
    spoiler : array
        Array as large as the largest cache that this processor has to itself.
    reads, writes : int
        Words that this processor copies in and out.
    piece : int
        Words of a piece.
    base, step : int
        First word of this processor, and the distance to its next word.
    span : int
        Number of words that Random draws from.
    seed : int
        Position at which this processor's random sequence begins.
    move : int
        Address of the C library's memmove.
    copy_in, copy_out : int64 arrays, shape (repeats, pieces, STAMPS)

    Returns
    -------
    int
        A value that depends on the words that Good reads to fill its caches; -1 if another processor failed.
    """
    total = 0
    for r in range(-1 if family == GOOD else 0, copy_in.shape[0]):
        row = max(r, 0)  # the first superstep overwrites the stamps of the one before it
        if family == GOOD:
            total += _prime(shared, local, reads, base)
        elif family == BAD:
            _spoil(shared, reads, base, step)
        fresh = seed + 2 * row * FRESH
        if (
            _phase(sync, rank, False, family, shared, local, reads, piece, base, step, span, fresh, move, copy_in[row])
            != OK
        ):
            return -1
        if family == GOOD:
            total += _prime(shared, local, writes, base)
        elif family == BAD:
            _spoil(shared, writes, base, step)
            _fill(spoiler, step)
        fresh += FRESH
        if (
            _phase(sync, rank, True, family, shared, local, writes, piece, base, step, span, fresh, move, copy_out[row])
            != OK
        ):
            return -1
    return int(total) & 0x7FFFFFFF
