"""One look at the CPUs, taken by all processors together.

placement    the hand-off of a line between neighbours
clock        a chain of dependent operations, one cycle each
alone        independent multiplications that keep a core's multiplier busy, on processor 0; the others wait
together     the same on all processors: twice as long if two of them are threads of one core
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock
from smp._runtime.loops.compiler import inline, stream
from smp._runtime.protocols.barriers import IN_A_LOOP, synchronise
from smp._runtime.protocols.placement import probe
from smp._runtime.protocols.wait import OK, SIZE

CHAIN = 30_000  # operations: about 10 us
MULTIPLICATIONS = 30_000
LOOK = 6
"""Number of columns of a look: its start in ns, the placement in ps, ns of the chain, of the loop alone and of the loop
together, and 1."""

Int64s = NDArray[np.int64]


@inline
def _chain(x: int, b: int) -> int:
    for _ in range(CHAIN // 4):
        x = (x ^ b) + b
        x = (x ^ b) + b
    return x


@inline
def _busy(x: int, b: int) -> int:
    """Run eight chains of multiplications, all of which a core overlaps."""
    c, d, e, f, g, h, i = x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7
    for _ in range(MULTIPLICATIONS // 8):
        x, c, d, e = x * b, c * b, d * b, e * b
        f, g, h, i = f * b, g * b, h * b, i * b
    return x ^ c ^ d ^ e ^ f ^ g ^ h ^ i


@stream
def look(sync: Int64s, rank: int, out: Int64s) -> int:
    """Take one look; return a number that depends on all that was computed, or -1 when another processor has failed.

    Parameters
    ----------
    sync : int64 array
        ``proc.sync``.
    rank : int
    out : int64 array, shape (LOOK,)
        Filled with the columns of the look.
    """
    if synchronise(sync, IN_A_LOOP, 0, False) != OK:
        return -1
    start = clock()
    placed = probe(sync, rank, sync[SIZE])
    t0 = clock()
    total = _chain(start, 0x9E3779B97F4A7C15 >> 1)
    t1 = clock()
    if synchronise(sync, IN_A_LOOP, 0, False) != OK:
        return -1
    t2 = clock()
    if rank == 0:
        total += _busy(t2, 0x5DEECE66D)
    t3 = clock()
    if synchronise(sync, IN_A_LOOP, 0, False) != OK:
        return -1
    t4 = clock()
    total += _busy(t3, 0x5DEECE66D)
    t5 = clock()
    out[0], out[1], out[2], out[3], out[4], out[5] = start, placed, t1 - t0, t3 - t2, t5 - t4, 1
    return total & 0x7FFFFFFF
