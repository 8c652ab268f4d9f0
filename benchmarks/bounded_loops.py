"""Hot loops of smp on data in the nearest cache, as `bounds.py` measures and analyses them.

A loop is measured as a sum of calls with signs: long runs minus short runs, and minus what restores the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from bursts import Act
from cells import floor_of_a_pair, pair_of_operations
from numpy.typing import NDArray

import smp
from smp._runtime.loops.atomics import compare_exchange_pair, exchange, pause, store_release
from smp._runtime.memory.cells import Cells
from smp.compiled import compare_exchange, fetch_add, load
from smp.kernels.grids.red_black import relax_rectangle
from smp.kernels.lists.fast import mark, walk
from smp.kernels.sorting.by_vectors import vectors
from smp.kernels.sorting.by_vectors.blocks import split_block
from smp.kernels.sorting.by_vectors.vectors import MOST_VECTORS, sort_few, split_vector
from smp.kernels.sorting.counting import count
from smp.kernels.sorting.parts import CELLS, MOST_PARTS, Scale, move, scale_of
from smp.microbench.sections.instruction.probe import add

Words = NDArray[Any]
CHAIN = 32_000
"""Additions of a chain that are timed."""
PACKS = "v(perm(d|ps|q|pd)|p?compress(d|ps))"
"""Instructions that pack a vector which is split; two of them, if chosen lanes are stored."""


class Part(NamedTuple):
    """A cycle of a loop: how to get its code, how to find it, and how many units a round of it does."""

    name: str
    loop: Callable[..., Any]
    args: tuple[Any, ...]
    mark: str
    units: Callable[[tuple[str, ...]], float]
    without: str = "call"
    through_memory: bool = False


class Loop(NamedTuple):
    """A loop with its cycles, and calls that time it: the sum of their times with signs is that of some units."""

    name: str
    parts: tuple[Part, ...]
    acts: tuple[Act, ...]
    signs: tuple[int, ...]
    units: float


def lanes_of(line: str, size: int) -> float:
    """Return the elements of a size that the longest vector of an instruction holds."""
    bits = {"x": 128, "y": 256, "z": 512}
    return max(bits[kind] for kind in re.findall(r"%([xyz])mm", line)) / (8 * size)


def a_round(units: float) -> Callable[[tuple[str, ...]], float]:
    """Return a function that counts the units of a round, whose number is always the same."""
    return lambda marks: units


def per_mark(number: float) -> Callable[[tuple[str, ...]], float]:
    """Return a function that counts the units of a round, if each mark stands for a number of them."""
    return lambda marks: number * len(marks)


def per_lane(size: int, marks_a_vector: int = 1) -> Callable[[tuple[str, ...]], float]:
    """Return a function that counts the units of a round, if each lane of the marked vectors stands for one."""
    return lambda marks: sum(lanes_of(line, size) for line in marks) / marks_a_vector


def placed(n: int, dtype: Any, first: int = 0) -> Words:
    """Return an array of zeros that begins some elements after a multiple of 64 bytes."""
    size = np.dtype(dtype).itemsize
    whole: Words = np.zeros(n + 256, dtype)
    start = -(whole.ctypes.data // size) % (64 // size) + first
    return whole[start : start + n]


def chain() -> tuple[Act, ...]:
    """Return a long and a short run of additions, each of which needs the one before; their difference is `CHAIN`."""
    span = np.zeros(4, np.int64)
    return partial(add, 3 * CHAIN // 2, 1, 2, span), partial(add, CHAIN // 2, 1, 2, span)


# Sorting.


@smp.local
def copied(sources: Words, keys: Words) -> None:
    for r in range(len(sources)):
        for i in range(len(keys)):
            keys[i] = sources[r, i]


@smp.local
def copied_and_split(sources: Words, keys: Words, pivot: Any) -> int:
    total = 0
    for r in range(len(sources)):
        for i in range(len(keys)):
            keys[i] = sources[r, i]
        total += split_block(keys, 0, len(keys), pivot)
    return total


@smp.local
def networks(keys: Words, few: int) -> None:
    """Sort blocks of a few keys."""
    for first in range(0, len(keys) - few + 1, few):
        sort_few(keys, first, keys, first, few)


@smp.local
def moved(keys: Words, scale: Scale, table: Words, starts: Words, at: Words, into: Words) -> None:
    for i in range(len(starts)):
        at[i] = starts[i]
    move(keys, scale, table, at, into, None, 0)


def random_keys(n: int, dtype: Any, seed: int = 0) -> Words:
    """Return random keys of any value."""
    numbers = np.random.default_rng(seed).random(n)
    return (numbers * 2**32).astype(dtype) if np.dtype(dtype).kind == "u" else numbers.astype(dtype)


def sorting() -> Iterator[Loop]:
    """Yield the loops of sorting."""
    for dtype in (np.uint32, np.float64) if vectors.has_vectors() else ():
        name, size = np.dtype(dtype).name, np.dtype(dtype).itemsize
        longer, shorter = 24_576 // size, 8_192 // size
        runs, pivot = 8, np.median(random_keys(999, dtype)).astype(dtype)
        acts: list[Act] = []
        for n in (longer, shorter):
            sources, keys = random_keys(runs * n, dtype).reshape(runs, n), placed(n, dtype)
            acts += [partial(copied_and_split, sources, keys, pivot), partial(copied, sources, keys)]
        keys = random_keys(longer, dtype)
        marks = 2 if vectors.store_chosen(size) else 1
        part = Part("", split_block, (keys, 0, longer, pivot), PACKS, per_lane(size, marks))
        yield Loop(f"split by a pivot, {name}", (part,), tuple(acts), (1, -1, -1, 1), runs * (longer - shorter))
        few = MOST_VECTORS * vectors.width() // size
        part = Part("", networks, (keys, few), "vp?min|vp?max", a_round(few))
        both = tuple(partial(networks, placed(n, dtype), few) for n in (longer, shorter))
        yield Loop(f"network of {few} keys, {name}", (part,), both, (1, -1), longer - shorter)
    keys = np.random.default_rng(0).integers(0, CELLS, 4096).astype(np.uint32)
    few_counts, counts = np.zeros(CELLS, np.uint8), np.zeros(CELLS, np.uint32)
    looks = Part("looking at keys", count, (keys, 0, few_counts, counts), "vpmax", per_lane(4))
    counts_them = Part("counting them", count, (keys, 0, few_counts, counts), "incb", per_mark(1))
    longs: tuple[Act, ...] = tuple(partial(count, keys[:n], 0, few_counts, counts) for n in (4096, 1024))
    yield Loop("counting, uint32 below 4096", (looks, counts_them), longs, (1, -1), 3072)
    yield moves()


def moves() -> Loop:
    """Return the loop that moves keys to their parts."""
    keys = random_keys(3072, np.uint32)
    scale = scale_of(np.sort(keys))
    assert scale is not None
    table = (np.arange(CELLS) * MOST_PARTS // CELLS).astype(np.uint8)
    acts: list[Act] = []
    for n in (3072, 1024):
        cells = np.clip((keys[:n] - scale.low) * scale.factor, 0, CELLS - 1).astype(np.int64)
        held = np.bincount(table[cells], minlength=MOST_PARTS)
        starts = np.zeros(MOST_PARTS, np.uint64)
        starts[:] = np.cumsum(held) - held
        into, at = placed(n + 64, np.uint32), starts.copy()
        acts.append(partial(moved, keys[:n], scale, table, starts, at, into))
    given = (keys[:n], scale, table, starts, into, None, 0)
    parts = (
        Part("finding their cells", move, given, "vcvttp[sd]2", per_lane(8)),
        Part("moving them", move, given, "prefetchw", per_mark(1)),
    )
    return Loop("moving keys to 128 parts, uint32", parts, tuple(acts), (1, -1), 2048)


# Sweeps and lists.


@smp.local
def swept(grid: Words, times: int) -> float:
    change = 0.0
    for _ in range(times):
        change += relax_rectangle(grid, 1, grid.shape[0] - 1, 1, grid.shape[1] - 1, 0, 0.25, 0.0)
    return change


def sweeps() -> Iterator[Loop]:
    """Yield the loops of relaxation; they differ in the columns, so the edges of the rows do not count."""
    times = 20
    for dtype, columns in ((np.float64, (576, 320)), (np.float32, (1152, 640))):
        name, size = np.dtype(dtype).name, np.dtype(dtype).itemsize
        acts: list[Act] = []
        for each in columns:
            grid = placed(6 * each, dtype).reshape(6, each)
            grid[:] = np.random.default_rng(0).random(grid.shape)
            acts.append(partial(swept, grid, times))
        part = Part("", relax_rectangle, (grid, 1, 5, 1, each - 1, 0, 0.25, 0.0), "v?mulp[sd]", per_lane(size, 2))
        cells = times * 2 * (columns[0] - columns[1])  # half of those in four rows
        yield Loop(f"sweep, {name}", (part,), tuple(acts), (1, -1), cells)


@smp.stream
def walked(marked: Words, words: Words, seconds: Words, cursors: int, links: Words, shared: Words) -> None:
    for i in range(len(words)):
        words[i] = marked[i]
    shared[0], shared[1], shared[2] = 0, len(seconds), 0
    walk(words, seconds, cursors, links, shared)


def lists() -> Iterator[Loop]:
    """Yield the loop of list ranking; all sublists have the same length, so that all cursors walk to the end."""
    acts: list[Act] = []
    for n in (3072, 1024):
        order = np.random.default_rng(0).permutation(n)
        successor = np.empty(n, np.int32)
        successor[order] = np.append(order[1:], order[-1])
        starts = order[:: n // 64]
        words, seconds = successor.copy(), np.empty(len(starts), np.int64)
        mark(words, starts, seconds)
        marked, links = words.copy(), np.zeros((len(starts) + 1, 2), np.int64)
        shared = np.array([0, len(starts), 0], np.int64)
        args = (words, seconds, 64, links, shared)
        acts += [partial(walked, marked, *args), partial(copied, marked.reshape(1, n), words)]
    part = Part("", walk, args, "prefetcht0", per_mark(1), without="call|lock")
    yield Loop("walk along 64 sublists, int32", (part,), tuple(acts), (1, -1, -1, 1), 2048)


# Cells and single instructions.


@smp.stream
def compared(words: Words, n: int) -> None:
    for k in range(n):
        compare_exchange(words, 0, k, k + 1)


@smp.stream
def compared_in_pairs(words: Words, n: int) -> None:
    for k in range(n):
        compare_exchange_pair(words, 0, k, 0, k + 1, 0)


@smp.stream
def compared_in_pairs_and_single(words: Words, other: int, n: int) -> None:
    for k in range(n):
        compare_exchange_pair(words, 0, k, 0, k + 1, 0)
        compare_exchange(words, other, k + 1, k + 1)


@smp.stream
def locked(words: Words, n: int) -> None:
    """Lock a word, store a value, and unlock."""
    for k in range(n):
        seen = load(words, 0)
        if compare_exchange(words, 0, seen, seen | 2) == seen:
            store_release(words, 1, k)
            store_release(words, 0, seen + 4)


@smp.stream
def exchanged(words: Words, n: int) -> None:
    for k in range(n):
        exchange(words, 0, k)


@smp.stream
def added(words: Words, n: int) -> None:
    for _ in range(n):
        fetch_add(words, 0, 1)


@smp.stream
def paused(words: Words, n: int) -> None:
    for _ in range(n):
        pause()


@smp.local
def filled(out: Words, value: float, times: int) -> None:
    for _ in range(times):
        for i in range(len(out)):
            out[i] = value


@smp.local
def packed(source: Words, out: Words, pivot: Any, a: int, b: int, times: int) -> int:
    """Split vectors, and store them at given distances, whatever the number of keys that come first."""
    total = 0
    for _ in range(times):
        left, right = 0, len(out)
        for at in range(0, len(source), vectors.split_lanes_of(source)):
            total += split_vector(source, at, out, left, right, pivot)
            left, right = left + a, right - b
    return total


def restored(loop: Callable[..., Any], words: Words, *args: Any) -> Act:
    """Return a call of a loop on words that are 0 before."""

    def do() -> None:
        words[:] = 0
        loop(words, *args)

    return do


def of_cells(cells: Cells) -> Iterator[Loop]:
    """Yield a cell's pair of operations and its floor, as `cells.py` compares them."""
    words, out = placed(32, np.int64), np.zeros(1, np.int64)
    pairs: tuple[tuple[str, Callable[..., Any], Any, float], ...] = (
        ("writeef and readfe of a cell", pair_of_operations, cells, 0.5),
        ("compare_exchange and store", floor_of_a_pair, words, 1),
    )
    for name, loop, first, units in pairs:
        part = Part("", loop, (first, 9, out), "lock", per_mark(units), through_memory=True)
        yield Loop(name, (part,), tuple(partial(loop, first, n, out) for n in (1500, 500)), (1, -1), 1000)


def instructions() -> Iterator[Loop]:
    """Yield loops of single instructions, or of a few of them."""
    words = placed(32, np.int64)
    for name, loop, marked, args in (
        ("compare_exchange", compared, "lock", ()),
        ("compare_exchange_pair", compared_in_pairs, "lock", ()),
        ("the pair, then one of its words", compared_in_pairs_and_single, r"lock\s+cmpxchg16b", (0,)),
        ("the pair, then a word elsewhere", compared_in_pairs_and_single, r"lock\s+cmpxchg16b", (16,)),
        ("lock by compare_exchange, two stores", locked, "lock", ()),
        ("exchange", exchanged, "xchg", ()),
        ("fetch_add", added, "lock", ()),
        ("pause", paused, "pause", ()),
    ):
        part = Part("", loop, (words, *args, 9), marked, per_mark(1), through_memory=True)
        acts = tuple(restored(loop, words, *args, n) for n in (1500, 500))
        yield Loop(name, (part,), acts, (1, -1), 1000)
    for name, first in (("64 bytes stored to a line", 0), ("64 bytes stored across two lines", 1)):
        out = placed(2048, np.float64, first)
        part = Part("", filled, (out, 1.0, 9), "v?movup", lambda marks: sum(lanes_of(line, 64) for line in marks))
        acts = tuple(partial(filled, out, 1.0, times) for times in (15, 5))
        yield Loop(name, (part,), acts, (1, -1), 10 * out.nbytes / 64)
    source, target = random_keys(2048, np.uint32), placed(4096, np.uint32)
    n, marks = vectors.split_lanes_of(source), 2 if vectors.store_chosen(source.itemsize) else 1
    for name, steps in (("stored to whole lines", (n, n)), ("stored anywhere", (n // 2 + 1, n // 2 - 1))):
        given = (source, target, np.uint32(1 << 31), *steps)
        part = Part("", packed, (*given, 9), PACKS, per_mark(1 / marks))
        both = tuple(partial(packed, *given, times) for times in (15, 5))
        if vectors.has_vectors():
            yield Loop(f"{n} keys split, {name}", (part,), both, (1, -1), 10 * len(source) / n)
