"""Keys moved into parts of ascending ranges: what the fast forms of sort and argsort begin with.

    cells     0 1 2 ............ 4095    equal steps from a low to a high key of a sample; the keys beyond go into the
                                         first and the last, NaN into the last
    count     every stream counts the keys of its block by cell
    parts     0 │ 1 │ 2 │ ... │  127     neighbouring cells, so that each part has about as many keys
    move      every stream moves the keys of its block, each into the next free place of its part

No key of a part is less than one of the part before, so the parts sort on their own, each in a core's cache.  Where
most keys would share a few cells, the steps are taken on the bits of the keys as floating-point numbers: these grow
about as the logarithm.

Moving is bound by memory: a key is read twice and written once into a line that is read first.  A processor has
too few entries for the pages and lines of so many places to write to, so the next line of each is asked for early.

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
"""Two counters for each fit a core's first cache."""
MOST_PARTS = 128
EVEN = 1 / 64
"""A scale is good enough if no cell has a larger share of the keys."""
_AHEAD = 16  # keys between asking for a line and writing into it
_AT_ONCE = 1024  # keys whose cells are found at once, by vector instructions
_APART = 32  # words between what two streams count in: no line is written by both, nor fetched with its neighbour
_PIECE = 1 << 16  # keys that are converted at once
Numbers = NDArray[np.int64]


class Scale(NamedTuple):
    """Which cell a key falls into: ``(key - low) * factor``, cut to 0 ... CELLS - 1."""

    low: float
    factor: float
    by_bits: bool


@inline
def ordered_bits(value: Any) -> Any:
    """The bits of a float64 as an integer that grows with it, in a float64 again."""
    bits = np.float64(value).view(np.int64)
    return np.float64(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF))


@inline
def find_cells(keys: Keys, scale: Scale, cells: NDArray[np.uint16]) -> None:
    """Write the cell of each key; a larger key has no smaller cell, whatever is lost in rounding."""
    last = np.float64(CELLS - 1)
    for i in range(len(keys)):
        key = np.float64(keys[i])
        x = ((ordered_bits(key) if scale.by_bits else key) - scale.low) * scale.factor
        x = x if x < last and key == key else last  # NaN equals nothing
        cells[i] = np.uint16(np.int32(x if x > 0.0 else 0.0))


@local
def count_cells(keys: Keys, scale: Scale, counts: NDArray[np.uint32]) -> None:
    """Add the keys of each cell to ``counts[0] + counts[1]``: of two keys in turn, none waits for the other's count."""
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
    """Move each key to the next place of its part, ``at[table[cell]]``, and its number, from ``first`` on, as well."""
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
    """Whether compiled loops take the array as it is."""
    return keys.flags.carray and keys.dtype.isnative


def pieces(keys: Keys, block: slice) -> Iterator[tuple[int, Keys]]:
    """Yield (place of the first, keys) for the keys of a block: at once, or what must be converted bit by bit."""
    step = max(1, block.stop - block.start) if is_plain(keys) else _PIECE
    for start in range(block.start, block.stop, step):
        some = keys[start : min(start + step, block.stop)]
        yield start, some if is_plain(keys) else np.array(some, keys.dtype.newbyteorder("="))


def heaviest(sample: Keys, scale: Scale) -> float:
    """Return the share of the keys that the fullest cell has."""
    counts = np.zeros((2, CELLS), np.uint32)
    count_cells(sample, scale, counts)
    return float(counts.sum(axis=0).max() / len(sample))


def scale_of(sample: Keys) -> Scale | None:
    """Return the scale whose fullest cell has the fewest keys; None where all keys would share one.

    Parameters
    ----------
    sample : ndarray of shape (s,)
        Ascending, NaN last.
    """
    numbers = sample.astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    found = []
    for by_bits in (False, True) if len(numbers) else ():
        values = ordered_bits(numbers) if by_bits else numbers
        beyond = len(values) >> 7  # so few do not stretch the scale
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
        Any layout and byte order; fewer than 2**32.
    scale : Scale
    parts : int
        At most `MOST_PARTS`; some may stay empty.
    streams : int
    into : plain ndarray of shape (n,)
        For the keys; it shares no memory with them.
    numbers : int64 array of shape (n,), optional
        For the index that each key had.

    Returns
    -------
    int64 array of shape (parts,)
        Where each part ends; the next begins there.
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
    ends = np.cumsum(sizes).reshape(sizes.shape)  # parts in turn, and in each the streams in turn
    starts = np.zeros((streams, parts + _APART), np.uint64)
    starts[:, :parts] = (ends - sizes).T
    side_by_side(*(partial(move_all, k) for k in range(streams)))
    return ends[:, -1]


def each_part(do: Callable[[slice], None], ends: Numbers, streams: int) -> None:
    """Call ``do`` for every part: a stream that is free takes the largest that is left."""
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
