"""The kernels that each processor times on its own block, and loops that load the memory for a fixed time.

    copy    c = a            16 bytes an element      24 with the read of the overwritten line (write-allocate)
    scale   b = s c          16                       24
    add     c = a + b        24                       32
    triad   a = b + s c      24                       32
    read    the sum of a      8                        8

The first four are those of STREAM.  ``read`` adds up the bits of the elements as integers, in any order: additions of
floating-point numbers would wait for one another, and not for memory.

Source: STREAM (McCalpin 1995), version 5.10: order of kernels, bytes counted, values verified.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, thread_clock
from smp._runtime.loops.compiler import local
from smp._runtime.protocols.barriers import barrier
from smp._runtime.protocols.placement import probe
from smp._runtime.protocols.wait import SIZE

from ..latency.walks import chase

BYTES = (16, 16, 24, 24, 8)
"""Bytes moved for an element, as STREAM counts them."""
WRITE_ALLOCATE = (8, 8, 8, 8, 0)
"""Bytes of an element that a cache reads before they are overwritten."""
SCALAR = 3.0

Floats = NDArray[np.float64]
Words = NDArray[np.int64]


@local
def copy(a: Floats, c: Floats) -> None:
    """Set c to a."""
    for j in range(c.size):
        c[j] = a[j]


@local
def scale(b: Floats, c: Floats, scalar: float) -> None:
    """Set b to ``scalar`` times c."""
    for j in range(b.size):
        b[j] = scalar * c[j]


@local
def add(a: Floats, b: Floats, c: Floats) -> None:
    """Set c to a plus b."""
    for j in range(c.size):
        c[j] = a[j] + b[j]


@local
def triad(a: Floats, b: Floats, c: Floats, scalar: float) -> None:
    """Set a to b plus ``scalar`` times c."""
    for j in range(a.size):
        a[j] = b[j] + scalar * c[j]


@local
def read(a: Floats) -> int:
    """Return the sum of the elements' bits, modulo 2^64."""
    bits, total = a.view(np.int64), 0
    for j in range(bits.size):
        total += bits[j]
    return total


@local
def placed(sync: Words, rank: int) -> int:
    """Return the placement of the CPUs, in picoseconds; all processors take part (see `protocols.placement`)."""
    return int(probe(sync, rank, sync[SIZE]))


@local
def stream(
    sync: Words,
    rank: int,
    a: Floats,
    b: Floats,
    c: Floats,
    scalar: float,
    piece: int,
    stamps: Words,
    readings: Words,
) -> int:
    """Run the kernels in turn on this processor's blocks, piece by piece, all processors together.

    Parameters
    ----------
    sync : int64 array
        ``proc.sync``.
    rank : int
    a, b, c : float64 arrays of one length
    scalar : float
    piece : int
        Elements between two looks at the clock.
    stamps : int64 array, shape (repeats, kernels, pieces, 4)
        Filled as `overlaps.SPAN` for each repeat, kernel and piece: start, end, CPU time, elements.
    readings : int64 array, shape (repeats, kernels + 1)
        Filled with the placement of the CPUs before each kernel and after the last, in picoseconds.

    Returns
    -------
    int
        Sum that ``read`` returned in the last repeat.
    """
    total = 0
    for repeat in range(stamps.shape[0]):
        total = 0
        for kernel in range(stamps.shape[1]):
            barrier(sync)
            readings[repeat, kernel] = placed(sync, rank)
            for k in range(stamps.shape[2]):
                part = slice(k * piece, (k + 1) * piece)
                cpu = thread_clock()
                start = clock()
                if kernel == 0:
                    copy(a[part], c[part])
                elif kernel == 1:
                    scale(b[part], c[part], scalar)
                elif kernel == 2:
                    add(a[part], b[part], c[part])
                elif kernel == 3:
                    triad(a[part], b[part], c[part], scalar)
                else:
                    total += read(a[part])
                end = clock()
                stamps[repeat, kernel, k, 0], stamps[repeat, kernel, k, 1] = start, end
                stamps[repeat, kernel, k, 2], stamps[repeat, kernel, k, 3] = thread_clock() - cpu, a[part].size
        barrier(sync)
        readings[repeat, stamps.shape[1]] = placed(sync, rank)
    return total


def expected(repeats: int, scalar: float = SCALAR) -> tuple[float, float, float]:
    """Return the final values of the elements of a, b and c, which begin as 2, 2 and 0.

    Examples
    --------
    >>> expected(1)
    (30.0, 6.0, 8.0)
    """
    a, b, c = 2.0, 2.0, 0.0
    for _ in range(repeats):
        c = a
        b = scalar * c
        c = a + b
        a = b + scalar * c
    return a, b, c


@local
def triad_until(a: Floats, b: Floats, c: Floats, scalar: float, chunk: int, seconds: float, spans: Words) -> int:
    """Load the memory: triad over the arrays, again and again, in windows of ``chunk`` elements.

    Parameters
    ----------
    a, b, c : float64 arrays of one length, at least ``chunk``
    scalar : float
    chunk : int
    seconds : float
    spans : int64 array, shape (n, 4)
        Filled as `overlaps.SPAN`: start, end, CPU time, elements; at most n windows are taken.

    Returns
    -------
    int
        Number of windows.
    """
    deadline = clock() + np.int64(seconds * 1e9)
    first = count = 0
    while count < spans.shape[0] and clock() < deadline:
        if first + chunk > a.size:
            first = 0
        cpu = thread_clock()
        start = clock()
        last = first + chunk
        triad(a[first:last], b[first:last], c[first:last], scalar)
        spans[count, 0], spans[count, 1] = start, clock()
        spans[count, 2], spans[count, 3] = thread_clock() - cpu, chunk
        first = last
        count += 1
    return count


@local
def chase_until(at: int, repeat: int, operations: int, seconds: float, spans: Words) -> tuple[int, int]:
    """Chase for a fixed time, in windows; return the address reached and the number of windows.

    A window is ``chase(at, repeat)``, and ``operations`` is the number of its loads. ``spans`` is as for `triad_until`.
    """
    deadline = clock() + np.int64(seconds * 1e9)
    count = 0
    while count < spans.shape[0] and clock() < deadline:
        start = clock()
        at, wall, cpu = chase(at, repeat)
        spans[count, 0], spans[count, 1] = start, start + wall
        spans[count, 2], spans[count, 3] = cpu, operations
        count += 1
    return at, count
