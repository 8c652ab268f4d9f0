"""Move keys into parts of ascending ranges, which is the first step of the fast forms of sort and argsort.

    cells     0 1 2 ............ 4095    equal steps from a low to a high key of a sample; the keys beyond go into the
                                         first and the last, NaN into the last
    count     every stream counts the keys of its block by cell
    parts     0 │ 1 │ 2 │ ... │  127     neighbouring cells, so that all parts have about equally many keys
    move      every stream moves the keys of its block, each into the next free place of its part

No key of a part is less than a key of the part before, so each part is sorted on its own, in a core's cache.  If most
keys would share a few cells, the steps are taken on the bits of the keys as floating-point numbers, which grow about
like the logarithm.

Moving is bound by memory: a key is read twice, and written once into a line that is read first.  A CPU keeps track of
fewer pages and lines than there are places to write to, so the next line of each place is prefetched.

Sources: Helman, JaJa and Bader's sample sort, for the two steps; Sanders and Winkel, Super scalar sample sort, for
finding the part of a key without a branch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import inline, local
from smp._runtime.loops.atomics import prefetch_write
from smp._runtime.program.processor import share

from ..in_process import side_by_side
from .keys import Keys

CELLS = 4096
"""Number of cells; two counters for each fit a core's first-level cache."""
MOST_PARTS = 128
EVEN = 1 / 64
"""A scale is good enough if every cell has less than this share of the keys."""
_AHEAD = 16  # keys between the prefetch of a line and the write into it
_AT_ONCE = 1024  # keys whose cells are found at once, by vector instructions
_APART = 32  # words between the places of two streams: no line is written by both, or fetched with its neighbour
_PIECE = 1 << 16  # keys that are converted at once
Numbers = NDArray[np.int64]


class Scale(NamedTuple):
    """Scale that maps a key to its cell: ``(key - low) * factor``, cut to 0 ... CELLS - 1."""

    low: float
    factor: float
    by_bits: bool


@inline
def ordered_bits(value: Any) -> Any:
    """Return the bits of a float64 as an integer that grows with it, converted to a float64 again."""
    bits = np.float64(value).view(np.int64)
    return np.float64(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF))


@inline
def find_cells(keys: Keys, scale: Scale, cells: NDArray[np.uint16]) -> None:
    """Write the cell of each key into ``cells``; in spite of rounding, a larger key never has a smaller cell."""
    last = np.float64(CELLS - 1)
    for i in range(len(keys)):
        key = np.float64(keys[i])
        x = ((ordered_bits(key) if scale.by_bits else key) - scale.low) * scale.factor
        x = x if x < last and key == key else last  # NaN equals nothing
        cells[i] = np.uint16(np.int32(x if x > 0.0 else 0.0))


@local
def count_cells(keys: Keys, scale: Scale, counts: NDArray[np.uint32]) -> None:
    """Count the keys of each cell in ``counts[0]`` and ``counts[1]`` alternately; no count waits for the one before."""
    cells, even, odd = np.empty(_AT_ONCE, np.uint16), counts[0], counts[1]
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : min(start + _AT_ONCE, len(keys))]
        find_cells(some, scale, cells)
        for i in range(0, len(some) - 1, 2):
            even[cells[i]] += np.uint32(1)
            odd[cells[i + 1]] += np.uint32(1)
        if len(some) & 1:
            even[cells[len(some) - 1]] += np.uint32(1)


@local
def move(
    keys: Keys,
    scale: Scale,
    table: NDArray[np.uint8],
    at: NDArray[np.uint64],
    into: Keys,
    numbers: Numbers | None,
    first: int,
) -> None:
    """Move each key, and its number counted from ``first``, to the next place of its part, ``at[table[cell]]``."""
    cells = np.empty(_AT_ONCE, np.uint16)
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : min(start + _AT_ONCE, len(keys))]
        find_cells(some, scale, cells)
        for i in range(len(some)):
            part = table[cells[i]]
            place = at[part]
            at[part] = place + np.uint64(1)
            into[place] = some[i]
            prefetch_write(into, place + np.uint64(_AHEAD))
            if numbers is not None:
                numbers[place] = first + start + i
                prefetch_write(numbers, place + np.uint64(_AHEAD))


def is_plain(keys: Keys) -> bool:
    """Return True if compiled loops take the array as it is."""
    return keys.flags.carray and keys.dtype.isnative


def native(keys: Keys) -> Keys:
    """Return a copy of keys that compiled loops take."""
    return np.array(keys, keys.dtype.newbyteorder("="))


def pieces(keys: Keys, block: slice) -> Iterator[tuple[int, Keys]]:
    """Yield (place of the first key, keys) for a block: all at once, or in pieces if the keys must be converted."""
    step = max(1, block.stop - block.start) if is_plain(keys) else _PIECE
    for start in range(block.start, block.stop, step):
        some = keys[start : min(start + step, block.stop)]
        yield start, some if is_plain(keys) else native(some)


def heaviest(sample: Keys, scale: Scale) -> float:
    """Return the share of the keys that are in the fullest cell."""
    counts = np.zeros((2, CELLS), np.uint32)
    count_cells(sample, scale, counts)
    return float(counts.sum(axis=0).max() / len(sample))


def scale_of(sample: Keys) -> Scale | None:
    """Return a scale that is good enough, else the one with the fewest keys in its fullest cell, or None.

    None means that all keys would share one cell.

    Parameters
    ----------
    sample : ndarray of shape (s,)
        Some of the keys, ascending, NaN last.
    """
    numbers = sample.astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    found = []
    for by_bits in (False, True) if len(numbers) else ():
        values = ordered_bits(numbers) if by_bits else numbers
        beyond = len(values) >> 7  # outliers at each end, which do not stretch the scale
        low, span = values[beyond], values[-1 - beyond] / 2 - values[beyond] / 2  # halves do not overflow
        factor = (CELLS - 1) / 2 / span if span > 0 else 0.0
        if 0 < factor < np.inf:
            found.append(Scale(float(low), float(factor), by_bits))
    evenly = (scale for scale in found if heaviest(sample, scale) < EVEN)
    return next(evenly, None) or min(found, key=lambda scale: heaviest(sample, scale), default=None)


def partition(
    keys: Keys, scale: Scale, parts: int, streams: int, into: Keys, numbers: Numbers | None = None
) -> Numbers:
    """Move all keys into parts.

    Parameters
    ----------
    keys : ndarray of shape (n,)
        Fewer than 2**32 keys, of any layout and byte order.
    scale : Scale
    parts : int
        Number of parts, at most `MOST_PARTS`; some may stay empty.
    streams : int
        Number of streams.
    into : plain ndarray of shape (n,)
        Receives the keys; it shares no memory with them.
    numbers : int64 array of shape (n,), optional
        Receives the index that each key had.

    Returns
    -------
    int64 array of shape (parts,)
        End of each part; the next part begins there.
    """
    blocks = [share(len(keys), k, streams) for k in range(streams)]
    counts = np.zeros((streams, 2, CELLS), np.uint32)

    def count(k: int) -> None:
        for _, some in pieces(keys, blocks[k]):
            count_cells(some, scale, counts[k])

    def move_all(k: int) -> None:
        for first, some in pieces(keys, blocks[k]):
            move(some, scale, table, starts[k], into, numbers, first)

    side_by_side(*(partial(count, k) for k in range(streams)))
    held = counts.sum(axis=1, dtype=np.int64)
    every = held.sum(axis=0)
    table = ((np.cumsum(every) - every) * parts // max(1, len(keys))).clip(max=parts - 1).astype(np.uint8)
    sizes = np.stack([np.bincount(table, each, parts) for each in held], axis=1).astype(np.int64)
    ends = np.cumsum(sizes).reshape(sizes.shape)  # part after part, and within a part stream after stream
    starts = np.zeros((streams, parts + _APART), np.uint64)
    starts[:, :parts] = (ends - sizes).T
    side_by_side(*(partial(move_all, k) for k in range(streams)))
    return ends[:, -1]


def each_part(do: Callable[[slice], None], ends: Numbers, streams: int) -> None:
    """Call ``do`` for every part; a free stream takes the largest part that is left."""
    starts = np.concatenate(([0], ends[:-1]))
    todo = deque(slice(starts[part], ends[part]) for part in np.argsort(ends - starts))

    def work() -> None:
        while True:
            try:
                part = todo.pop()
            except IndexError:
                return
            do(part)

    side_by_side(*[work] * streams)
