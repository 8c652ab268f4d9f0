"""Run STREAM and the sum of an array on one machine, and compute bandwidths from the stamps.

    processor 0   |copy: piece|piece|piece|--|scale: piece|piece|piece|--        a barrier before each kernel
    processor 1     |piece|piece|piece|------|piece|piece|piece|--------
                  first start ... last end                                       the time of the kernel

STREAM reports the best of all repeats but the first.  If other programs run, hardly any repeat is undisturbed, but many
pieces of some tenths of a millisecond are.  The pieces that were taken while all processors ran give a median rate, and
the best rate is at least this median.  Only times in the main state of the CPUs' placement count for the rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.placement import elsewhere_ns, farthest
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.windows import Limits, mark_moved
from smp.models.placement import Placement
from smp.models.placement_log import PlacementLog

from ..latency.pages import Pages
from .kernels import KERNELS
from .loops import BYTES, SCALAR, WRITE_ALLOCATE, Floats, Words, expected, stream
from .rows import Stream

Memory = Literal["shared", "private"]
MEMORIES: tuple[Memory, ...] = ("shared", "private")
"""Global arrays, and each processor's private arrays, in huge pages if the system grants them."""
PIECE = 1 << 19
"""Elements of a piece: 4 to 13 MB, which a processor moves in 0.2 to 2 ms."""
MOST_PIECES = 64
"""Most pieces of a processor's block."""
UNPLACED = Placement()
"""A placement without known states, with which all times count."""
TOLERANCE = 1e-13
"""Largest relative error with which a value of STREAM counts as right."""
LIMITS = Limits(clean_fraction=0.05, spread=1.5)
"""Limits of the pieces: on a busy computer few are undisturbed on all processors at once, but those few are right."""
STAMP = np.dtype(
    [
        *(("memory", "U7"), ("processors", "i4"), ("rank", "i4"), ("repeat", "i4"), ("kernel", "U5"), ("piece", "i4")),
        *SPAN.descr,
        *(("placed_before_ns", "f4"), ("placed_after_ns", "f4")),
    ]
)


Answer = tuple[list[Words], list[Words], list[float]]
"""Answer of a processor, for each memory: stamps, readings of the placement, and the largest error."""


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
        Elements of a whole array.
    repeats : int
        Repeats of the kernels; the first is for warming up.
    piece : int
        Elements of a piece.
    """
    a, b, c = (machine.empty(elements) for _ in range(3))
    answers = machine.run(_program, a, b, c, repeats, piece).results
    return [_ran(k, memory, answers) for k, memory in enumerate(MEMORIES)]


def _ran(k: int, memory: Memory, answers: Sequence[Answer]) -> Ran:
    """Return the run in one memory, from the answers of the processors."""
    readings = farthest(np.stack([seen[k] for _, seen, _ in answers]))
    stamps = [_stamped(taken[k], memory, rank, len(answers), readings) for rank, (taken, _, _) in enumerate(answers)]
    return Ran(memory, np.concatenate(stamps), max(errors[k] for _, _, errors in answers))


def note_placement(stamps: NDArray[np.void], p: int, log: PlacementLog) -> None:
    """Log the placement of the CPUs before and after each kernel, at the times that processor 0 stamped."""
    mine = stamps[stamps["rank"] == 0]
    first, last = (mine[mine["piece"] == piece] for piece in (0, mine["piece"].max(initial=0)))
    log.note(p, first["start"] * 1e-9, first["placed_before_ns"])
    log.note(p, last["end"] * 1e-9, last["placed_after_ns"])


def stream_rows(ran: Ran, elements: int, placement: Placement = UNPLACED) -> list[Stream]:
    """Return a row for each kernel of one run of STREAM, in arrays of the given number of elements."""
    p = int(ran.stamps["rank"].max()) + 1
    rows = []
    for kernel, moved, allocated in zip(KERNELS, BYTES, WRITE_ALLOCATE, strict=True):
        # the first repeat is for warming up
        stamps = ran.stamps[(ran.stamps["kernel"] == kernel) & (ran.stamps["repeat"] > 0)]
        main = placement.is_main(stamps["placed_before_ns"], stamps["placed_after_ns"])
        whole = stamps[main] if main.any() else stamps
        best_ns = min(_wall(whole[whole["repeat"] == k]) for k in np.unique(whole["repeat"]))
        pieces = of_pieces(stamps, p, placement)
        median_ns = elements / sum(1 / one.median for one in pieces)
        others = zip(*(elsewhere_ns(one.windows, placement) or () for one in pieces), strict=True)
        why = [] if ran.error <= TOLERANCE else [f"the values are wrong: relative error {ran.error:.3g}"]
        why += [f"processor {rank}: {reason}" for rank, one in enumerate(pieces) for reason in one.why]
        best_ns = min(best_ns, median_ns)
        rows.append(
            Stream(
                processors=p,
                kernel=kernel,
                GBps=moved * elements / best_ns,
                GBps_write_allocate=(moved + allocated) * elements / best_ns,
                median_GBps=moved * elements / median_ns,
                best_ns=round(best_ns),
                median_ns=median_ns,
                elsewhere_GBps=[_all_GBps(state, moved) for state in others] or None,
                repeats=len(np.unique(whole["repeat"])),
                clean_fraction=float(np.mean([one.clean_fraction for one in pieces])),
                verified=ran.error <= TOLERANCE,
                relative_error=ran.error,
                valid=not why,
                why=why,
            )
        )
    return rows


def _all_GBps(element_ns: Sequence[float | None], moved: int) -> float | None:
    """Return the GB/s of all processors, from the ns that each takes per element; None if one has no time."""
    known = [ns for ns in element_ns if ns is not None]
    return moved * sum(1 / ns for ns in known) if len(known) == len(element_ns) else None


def of_pieces(stamps: NDArray[np.void], p: int, placement: Placement) -> list[Result]:
    """Return for each processor the time per element, from the pieces of one kernel that ran undisturbed.

    Parameters
    ----------
    stamps : ndarray of STAMP
        Stamps of one kernel.
    p : int
        Number of processors.
    placement : Placement
    """
    spans, order = [], []
    for rank in range(p):
        mine = np.sort(stamps[stamps["rank"] == rank], order="start")
        order.append(mine)
        spans.append(np.zeros(mine.size, SPAN))
        for name in SPAN.names or ():
            spans[rank][name] = mine[name]
    windows = together(spans, timer_ns=0.0, limits=LIMITS)
    for name in ("placed_before_ns", "placed_after_ns"):
        windows[name] = np.concatenate([mine[name] for mine in order])
    mark_moved(windows, placement)
    return [summarise((rank,), windows[windows["rank"] == rank], "median", limits=LIMITS) for rank in range(p)]


def _wall(stamps: NDArray[np.void]) -> float:
    """Return the time from the first start to the last end, in ns."""
    return float(stamps["end"].max() - stamps["start"].min())


def _stamped(taken: Words, memory: Memory, rank: int, p: int, readings: NDArray[np.float64]) -> NDArray[np.void]:
    """Return the stamps of one processor as STAMP, from an array of shape (repeats, kernels, pieces, 4)."""
    repeats, kernels, pieces, _ = taken.shape
    stamps = np.zeros((repeats, kernels, pieces), STAMP)
    stamps["memory"], stamps["processors"], stamps["rank"] = memory, p, rank
    stamps["repeat"] = np.arange(repeats)[:, None, None]
    stamps["kernel"] = np.array(KERNELS)[None, :, None]
    stamps["piece"] = np.arange(pieces)
    for k, name in enumerate(SPAN.names or ()):
        stamps[name] = taken[..., k]
    stamps["placed_before_ns"] = readings[:, :-1, None]
    stamps["placed_after_ns"] = readings[:, 1:, None]
    return stamps.ravel()


def _program(proc: Processor, x: GlobalArray, y: GlobalArray, z: GlobalArray, repeats: int, piece: int) -> Answer:
    """Run STREAM on a processor's blocks and on its private arrays; return the stamps, readings and errors of both."""
    mine = proc.block(x.size)
    size = x.view[mine].size
    private = [Pages(8 * size, huge=True) for _ in range(3)]
    memories = [[one.view[mine] for one in (x, y, z)], [one.words.view(np.float64) for one in private]]
    piece = max(piece, -(-size // MOST_PIECES))
    taken = [np.zeros((repeats, len(KERNELS), max(1, -(-size // piece)), 4), np.int64) for _ in memories]
    seen = [np.zeros((repeats, len(KERNELS) + 1), np.int64) for _ in memories]
    totals = [0 for _ in memories]
    for (a, b, c), stamps, readings in zip(memories, taken, seen, strict=True):
        a[:], b[:], c[:] = 2.0, 2.0, 0.0
        stream(
            proc.sync, proc.rank, a, b, c, SCALAR, piece, stamps[:0], readings
        )  # compile it or load it, before anything is timed
    for repeat in range(repeats):  # in turn, so that a slow moment falls on both
        for k, ((a, b, c), stamps, readings) in enumerate(zip(memories, taken, seen, strict=True)):
            turn = slice(repeat, repeat + 1)
            totals[k] = stream(proc.sync, proc.rank, a, b, c, SCALAR, piece, stamps[turn], readings[turn])
    right = expected(repeats)
    errors = [max(map(_error, arrays, right)) for arrays in memories]
    wrong = [float(total != a.view(np.int64).sum()) for (a, _, _), total in zip(memories, totals, strict=True)]
    return taken, seen, list(map(max, errors, wrong))


def _error(values: Floats, value: float) -> float:
    """Return the largest relative error of the values of a block; zero for an empty one."""
    return max(abs(float(end(values)) / value - 1) for end in (np.min, np.max)) if values.size else 0.0
