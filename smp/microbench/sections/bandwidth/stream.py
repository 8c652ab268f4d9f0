"""STREAM on one machine, and what follows from its stamps.

    processor 0   |copy: piece|piece|piece|--|scale: piece|piece|piece|--        a barrier before each kernel
    processor 1     |piece|piece|piece|------|piece|piece|piece|--------
                  first start ... last end                                       the time of the kernel

STREAM reports the best of all repeats but the first.  Where other programs run, hardly a repeat is undisturbed, but
many pieces of some tenths of a millisecond are: those that were taken while all processors ran give a median rate,
and the best repeat counts for no less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.windows import Limits

from ..latency.pages import Pages
from .kernels import KERNELS
from .loops import BYTES, SCALAR, WRITE_ALLOCATE, Floats, Words, expected, stream
from .rows import Stream

Memory = Literal["shared", "private"]
MEMORIES: tuple[Memory, ...] = ("shared", "private")
"""Global arrays, and arrays of each processor's own, in huge pages where they are granted."""
PIECE = 1 << 19
"""Elements: 8 to 13 MB, which a processor moves in 0.2 to 2 ms."""
MOST_PIECES = 64
"""Of a processor's block."""
TOLERANCE = 1e-13
"""Largest relative error of a STREAM value."""
LIMITS = Limits(clean_fraction=0.05, spread=1.5)
"""Of the pieces: on a busy computer few are undisturbed on all processors at once, and those are right."""
STAMP = np.dtype(
    [
        *(("memory", "U7"), ("processors", "i4"), ("rank", "i4"), ("repeat", "i4"), ("kernel", "U5"), ("piece", "i4")),
        *SPAN.descr,
    ]
)


@dataclass(frozen=True)
class Ran:
    """One run of STREAM: the stamps of all processors (STAMP), and the largest relative error of a value."""

    memory: Memory
    stamps: NDArray[np.void]
    error: float


def run_stream(machine: Machine, elements: int, repeats: int, piece: int = PIECE) -> list[Ran]:
    """Run STREAM in each of the `MEMORIES`.

    Parameters
    ----------
    machine : Machine
    elements : int
        Of a whole array.
    repeats : int
        Of the four kernels; the first is for warming up.
    piece : int
        Elements of a piece.
    """
    arrays = [machine.empty(elements) for _ in range(3)]
    answers = machine.run(_program, *arrays, repeats, piece).results
    return [
        Ran(
            memory,
            np.concatenate([_stamped(taken[k], memory, rank, machine.size) for rank, (taken, _) in enumerate(answers)]),
            max(errors[k] for _, errors in answers),
        )
        for k, memory in enumerate(MEMORIES)
    ]


def stream_rows(ran: Ran, elements: int) -> list[Stream]:
    """Return a row for each kernel of one run of STREAM, in arrays of so many elements."""
    p = int(ran.stamps["rank"].max()) + 1
    rows = []
    for kernel, moved in zip(KERNELS, BYTES, strict=True):
        # the first repeat is for warming up
        stamps = ran.stamps[(ran.stamps["kernel"] == kernel) & (ran.stamps["repeat"] > 0)]
        best_ns = min(_wall(stamps[stamps["repeat"] == k]) for k in np.unique(stamps["repeat"]))
        pieces = of_pieces(stamps, p)
        median_ns = elements / sum(1 / one.median for one in pieces)
        why = [] if ran.error <= TOLERANCE else [f"the values are wrong: relative error {ran.error:.3g}"]
        why += [f"processor {rank}: {reason}" for rank, one in enumerate(pieces) for reason in one.why]
        best_ns = min(best_ns, median_ns)
        rows.append(
            Stream(
                processors=p,
                kernel=kernel,
                GBps=moved * elements / best_ns,
                GBps_write_allocate=(moved + WRITE_ALLOCATE) * elements / best_ns,
                median_GBps=moved * elements / median_ns,
                best_ns=round(best_ns),
                median_ns=median_ns,
                repeats=len(np.unique(stamps["repeat"])),
                clean_fraction=float(np.mean([one.clean_fraction for one in pieces])),
                verified=ran.error <= TOLERANCE,
                relative_error=ran.error,
                valid=not why,
                why=why,
            )
        )
    return rows


def of_pieces(stamps: NDArray[np.void], p: int) -> list[Result]:
    """Return for each processor the time of an element, from the pieces of one kernel that ran undisturbed.

    Parameters
    ----------
    stamps : ndarray of STAMP
        Of one kernel.
    p : int
        Processors.
    """
    spans = []
    for rank in range(p):
        mine = np.sort(stamps[stamps["rank"] == rank], order="start")
        spans.append(np.zeros(mine.size, SPAN))
        for name in SPAN.names or ():
            spans[rank][name] = mine[name]
    windows = together(spans, timer_ns=0.0, limits=LIMITS)
    return [summarise((rank,), windows[windows["rank"] == rank], "median", limits=LIMITS) for rank in range(p)]


def _wall(stamps: NDArray[np.void]) -> float:
    """The time from the first start to the last end, in ns."""
    return float(stamps["end"].max() - stamps["start"].min())


def _stamped(taken: Words, memory: Memory, rank: int, p: int) -> NDArray[np.void]:
    """The stamps of one processor, an array of shape (repeats, 4, pieces, 4)."""
    repeats, kernels, pieces, _ = taken.shape
    stamps = np.zeros((repeats, kernels, pieces), STAMP)
    stamps["memory"], stamps["processors"], stamps["rank"] = memory, p, rank
    stamps["repeat"] = np.arange(repeats)[:, None, None]
    stamps["kernel"] = np.array(KERNELS)[None, :, None]
    stamps["piece"] = np.arange(pieces)
    for k, name in enumerate(SPAN.names or ()):
        stamps[name] = taken[..., k]
    return stamps.ravel()


def _program(
    proc: Processor, x: GlobalArray, y: GlobalArray, z: GlobalArray, repeats: int, piece: int
) -> tuple[list[Words], list[float]]:
    """The program of one processor: STREAM on its blocks, and on arrays of its own; stamps and errors of both."""
    mine = proc.block(x.size)
    size = x.view[mine].size
    private = [Pages(8 * size, huge=True) for _ in range(3)]
    memories = [[one.view[mine] for one in (x, y, z)], [one.words.view(np.float64) for one in private]]
    piece = max(piece, -(-size // MOST_PIECES))
    taken = [np.zeros((repeats, len(KERNELS), max(1, -(-size // piece)), 4), np.int64) for _ in memories]
    for (a, b, c), stamps in zip(memories, taken, strict=True):
        a[:], b[:], c[:] = 2.0, 2.0, 0.0
        stream(proc.sync, a, b, c, SCALAR, piece, stamps[:0])  # compile it or load it, before anything is timed
    for repeat in range(repeats):  # in turn, so that a slow moment falls on both
        for (a, b, c), stamps in zip(memories, taken, strict=True):
            stream(proc.sync, a, b, c, SCALAR, piece, stamps[repeat : repeat + 1])
    right = expected(repeats)
    return taken, [max(map(_error, arrays, right)) for arrays in memories]


def _error(values: Floats, value: float) -> float:
    """The largest relative error of the values of a block; zero of an empty one."""
    return max(abs(float(end(values)) / value - 1) for end in (np.min, np.max)) if values.size else 0.0
