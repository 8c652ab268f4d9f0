"""The program of one processor that visits patterns; it returns its time stamps, one row for each piece."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp._runtime.protocols import wait
from smp._runtime.protocols.placement import UNKNOWN

from .loops import FAMILIES, GOOD, STAMPS, supersteps

SPINS = 1 << 40  # looks of a wait while measuring: a wait that blocked would add its wake-up to the phase


class Order(NamedTuple):
    """A visit, in the form that a processor needs."""

    family: int
    reads: NDArray[np.int64]
    writes: NDArray[np.int64]
    footprint: int
    repeats: int
    piece: int
    pieces: tuple[int, int]


class Sizes(NamedTuple):
    """Words of a cache line, of the largest cache that a processor has to itself, and of the largest pattern."""

    line: int
    cache: int
    most: int


def warm(proc: Processor, shared: GlobalArray, sizes: Sizes) -> None:
    """Compile or load the loop on every processor, before anything is timed."""
    out, few, move = np.zeros((1, 1, STAMPS), np.int64), np.zeros(8, shared.dtype), _memmove()
    for family in range(len(FAMILIES)):
        supersteps(proc.sync, proc.rank, family, shared.view, few, few, 1, 1, 8, 0, sizes.line, 8, 0, move, out, out)


def visit_all(
    proc: Processor, shared: GlobalArray, sizes: Sizes, orders: list[Order], turn: int, roomy: bool
) -> NDArray[np.int64]:
    """Visit patterns one after another.

    The parts of a pattern go round the processors from visit to visit, and Good's runs begin at random places in the
    arrays.  The time of a pattern then does not depend on how quickly one processor's pages can be copied.

    Parameters
    ----------
    proc : Processor
    shared : GlobalArray
    sizes : Sizes
    orders : list of Order
    turn : int
        Number of the round, from which the places and the random accesses follow.
    roomy : bool
        True if every processor has a CPU of its own: it then spins, and probes the placement of the CPUs.

    Returns
    -------
    ndarray (n, STAMPS) int64
        Stamps of each visit: the pieces of copy-in, superstep by superstep, then those of copy-out.
    """
    own = _local(sizes.cache + sizes.most, shared.dtype)
    spoiler, local = own[: sizes.cache], own[sizes.cache :]
    rng = np.random.default_rng([turn, proc.rank])
    found: list[NDArray[np.int64]] = []
    usual, move = int(proc.sync[wait.RETRIES]), _memmove()
    if roomy:
        proc.sync[wait.RETRIES] = SPINS
    for k, (family, every_reads, every_writes, footprint, repeats, piece, pieces) in enumerate(orders):
        copy_in, copy_out = (np.zeros((repeats, count, STAMPS), np.int64) for count in pieces)
        part = (proc.rank + turn + k) % proc.size
        reads, writes = int(every_reads[part]), int(every_writes[part])
        good = family == GOOD
        room = (sizes.most - max(reads, writes)) // sizes.line * good
        ours, theirs = rng.integers(0, room, 2, endpoint=True) * sizes.line
        supersteps(
            proc.sync,
            proc.rank if roomy else UNKNOWN,
            family,
            shared.view,
            local[ours:],
            spoiler,
            reads,
            writes,
            piece,
            proc.rank * sizes.most + theirs if good else proc.rank,
            1 if good else sizes.line,
            footprint,
            (turn * proc.size + proc.rank) << 32,
            move,
            copy_in,
            copy_out,
        )
        found += [copy_in.reshape(-1, STAMPS), copy_out.reshape(-1, STAMPS)]
    proc.sync[wait.RETRIES] = usual
    return np.concatenate(found)


def _memmove() -> int:
    """Return the address of the C function that copies the elements of a slice."""
    return ctypes.cast(ctypes.CDLL(None).memmove, ctypes.c_void_p).value or 0


_kept: dict[Any, NDArray[Any]] = {}


def _local(words: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return this processor's local array, which is kept from batch to batch so that its pages stay."""
    if len(_kept.get(dtype, ())) < words:
        _kept[dtype] = np.ones(words, dtype)
    return _kept[dtype]
