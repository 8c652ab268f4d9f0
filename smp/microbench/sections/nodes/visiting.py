"""The program that copies the words of patterns, each pattern in a few supersteps.

array    block of processor 0 │ block of processor 1 │ ...         block: ROOM times the most words

good     a run of words from a random place of a block                        one copy for each block
bad      word k is in line k of an order that is the same for all processors  one copy with a list of indices
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp._runtime.program.superstep import Superstep

from .patterns import Pattern

LINE = 8
"""Words of a cache line of 64 bytes; on a machine with longer lines, two processors' words share more of them."""

Indices = NDArray[np.int64]


def block_words(good: int, bad: int) -> int:
    """Return the words of a processor's block, given the most words of patterns of both families."""
    return max(2 * good, LINE * bad)


def visit(
    proc: Processor, array: GlobalArray, nodes: Sequence[int], patterns: Sequence[Pattern], repeats: int, seed: int
) -> None:
    """Visit patterns one after another, ``repeats`` supersteps each; the run's record has the times.

    Parameters
    ----------
    proc : Processor
    array : GlobalArray of float64
        A block for each processor.
    nodes : sequence of int
        Node of each processor.
    patterns : sequence of Pattern
    repeats : int
    seed : int
        Seed of the places.
    """
    block = len(array) // proc.size
    order = np.random.default_rng(seed).permutation(block // LINE) * LINE  # the same on all processors
    rng = np.random.default_rng([seed, proc.rank])
    near = [rank for rank in range(proc.size) if nodes[rank] == nodes[proc.rank]]
    far = [rank for rank in range(proc.size) if nodes[rank] != nodes[proc.rank]]
    most = max(pattern.words for pattern in patterns)
    local = np.ones(most)
    for pattern in patterns:
        owners = rng.permutation(far)[: pattern.owners].tolist()
        parts = []
        for near_words, far_words in (
            (pattern.near_reads, pattern.far_reads),
            (pattern.near_writes, pattern.far_writes),
        ):
            each = [(int(rng.choice(near)), near_words[proc.rank])]
            each += [(rank, len(part)) for rank, part in zip(owners, _split(far_words[proc.rank], owners), strict=True)]
            parts.append([(rank, words) for rank, words in each if words])
        places = [
            _runs(part, block, rng) if pattern.family == "good" else _scattered(part, block, order, proc.rank)
            for part in parts
        ]
        for _ in range(repeats):
            with proc.superstep(pattern.family) as step:
                _copy_in(step, array, places[0], local)
                step.compute()
                _copy_out(step, array, places[1], local)


def _split(words: int, owners: Sequence[int]) -> list[range]:
    """Return an equal part of the words for each owner."""
    ends = [words * k // max(len(owners), 1) for k in range(len(owners) + 1)]
    return [range(start, end) for start, end in pairwise(ends)]


def _runs(parts: list[tuple[int, int]], block: int, rng: np.random.Generator) -> list[slice]:
    starts = [rank * block + int(rng.integers(0, block - words, endpoint=True)) for rank, words in parts]
    return [slice(start, start + words) for start, (_, words) in zip(starts, parts, strict=True)]


def _scattered(parts: list[tuple[int, int]], block: int, order: Indices, rank: int) -> list[Indices]:
    lines = [owner * block + order[:words] + rank % LINE for owner, words in parts]
    return [np.concatenate(lines)] if lines else []


def _size(place: slice | Indices) -> int:
    return place.stop - place.start if isinstance(place, slice) else len(place)


def _copy_in(
    step: Superstep, array: GlobalArray, places: Sequence[slice | Indices], local: NDArray[np.float64]
) -> None:
    at = 0
    for place in places:
        step.copy_in(array, place, out=local[at : at + _size(place)])
        at += _size(place)


def _copy_out(
    step: Superstep, array: GlobalArray, places: Sequence[slice | Indices], local: NDArray[np.float64]
) -> None:
    at = 0
    for place in places:
        step.copy_out(array, place, local[at : at + _size(place)])
        at += _size(place)
