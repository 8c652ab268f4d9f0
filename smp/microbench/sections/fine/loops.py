"""List ranking by streams, timed without its set-up: everything that the algorithms need is made before.

program     make lists, cells and streams │ start them │ sleep                                  │ wake
stream                                    │ come to the line │ note the time │ rank │ note the time │ the last wakes

The streams wait for one another at a starting line.  The measured time runs from when the first stream leaves the line
until the last one is done.  This one wakes the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._runtime.loops.atomics import clock, fetch_add, futex_wait, futex_wake, load, pause, store
from smp._runtime.loops.compiler import inline, local, stream
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor
from smp._runtime.protocols.wait import aborted
from smp.errors import Aborted
from smp.kernels.lists.lists import Nodes
from smp.kernels.lists.on_streams import jump_rounds, rank_sublists, shared_out
from smp.kernels.lists.reid_miller import default_sublists
from smp.kernels.lists.serial import walk
from smp.kernels.lists.stream_barrier import Meeting, meeting
from smp.kernels.lists.sublists import Key, cut
from smp.kernels.lists.wyllie_cells import rank_nodes

Words = NDArray[np.int64]
COME, OPEN, DONE, ENDED = 0, 16, 32, 48
"""Words of a starting line: number of streams that have come; 1 if all have; number that are done; 1 if all are."""
LINE_WORDS = 64
SPINS, FEW = 1 << 20, 1 << 10
"""Looks at the line before a stream sleeps: if each stream has a CPU, and if streams take turns."""
SLICE_NS = 20_000_000
"""Longest sleep between two looks, in ns."""


@inline
def line_up(line: Words, streams: int, looks: int, sync: Words) -> int:
    """Wait until all streams have come to the line; return the time."""
    if fetch_add(line, COME, 1) + 1 == streams:
        store(line, OPEN, 1)
        futex_wake(line, OPEN, streams)
    while load(line, OPEN) == 0:
        looks -= 1
        if looks > 0:
            pause()
        else:
            futex_wait(line, OPEN, 0, SLICE_NS)
            if aborted(sync):
                raise Aborted
    return clock()


@inline
def finish(line: Words, streams: int) -> int:
    """Return the time; the last stream to finish wakes the program."""
    end = clock()
    if fetch_add(line, DONE, 1) + 1 == streams:
        store(line, ENDED, 1)
        futex_wake(line, ENDED, 1)
    return end


@stream
def until_all_are_done(line: Words, sync: Words) -> None:
    """Sleep until the last stream is done, which leaves the CPUs to the streams.

    Raises
    ------
    Aborted
        When the run fails.
    """
    while load(line, ENDED) == 0:
        futex_wait(line, ENDED, 0, SLICE_NS)
        if aborted(sync):
            raise Aborted


@local
def timed_walk(successor: Nodes, ranks: Nodes, head: int, span: Words) -> None:
    """Rank a list one node after another, into an existing array, and note the times of start and end."""
    span[0] = clock()
    walk(successor, head, 0, 1, ranks)
    span[1] = clock()


@stream
def by_two_lists(
    line: Words,
    streams: int,
    looks: int,
    sync: Words,
    span: Words,
    successor: Nodes,
    ranks: Nodes,
    source: Nodes,
    target: Nodes,
    head: int,
    start: int,
    stop: int,
    rounds: int,
    at: Meeting,
) -> None:
    """Run `jump_rounds` from the line on."""
    span[0] = line_up(line, streams, looks, sync)
    jump_rounds(successor, ranks, source, target, head, False, start, stop, rounds, at)
    span[1] = finish(line, streams)


@stream
def by_cells(
    line: Words,
    streams: int,
    looks: int,
    sync: Words,
    span: Words,
    cells: Cells,
    successor: Nodes,
    ranks: Nodes,
    head: int,
    start: int,
    stop: int,
    rounds: int,
    at: Meeting,
) -> None:
    """Run `rank_nodes` from the line on."""
    span[0] = line_up(line, streams, looks, sync)
    rank_nodes(cells, successor, ranks, head, False, start, stop, rounds, at)
    span[1] = finish(line, streams)


@stream
def by_sublists(
    line: Words,
    streams: int,
    looks: int,
    sync: Words,
    span: Words,
    successor: Nodes,
    ranks: Nodes,
    key: Key,
    count: int,
    first: int,
    numbers: Words,
    starts: Words,
    links: Words,
    offsets: Words,
    scans: bool,
    at: Meeting,
) -> None:
    """Run `rank_sublists` from the line on."""
    span[0] = line_up(line, streams, looks, sync)
    rank_sublists(successor, ranks, key, count, first, False, numbers, starts, links, offsets, scans, at)
    span[1] = finish(line, streams)


Prepared = tuple[Callable[..., None], Sequence[tuple[Any, ...]]]
"""Loop of the streams, and for each stream the arguments that follow ``span``."""


def _touched(array: GlobalArray) -> NDArray[Any]:
    """Return the view of an array, written once so that the system has given it memory."""
    array.view[...] = 0
    return array.view


def _two_lists(proc: Processor, successor: GlobalArray, ranks: GlobalArray, head: int, streams: int) -> Prepared:
    n = len(successor)
    source, target = (_touched(proc.empty((n, 2), successor.dtype)) for _ in range(2))
    rounds, at = (n - 1).bit_length(), meeting(proc, streams)
    parts = shared_out(slice(0, n), streams)
    return by_two_lists, [(successor.view, ranks.view, source, target, head, *part, rounds, at) for part in parts]


def _cells(proc: Processor, successor: GlobalArray, ranks: GlobalArray, head: int, streams: int) -> Prepared:
    n = len(successor)
    cells = proc.cells(n, full=True)  # which touches them; writing a node does not wait for an empty cell
    rounds, at = (n - 1).bit_length(), meeting(proc, streams)
    parts = shared_out(slice(0, n), streams)
    return by_cells, [(cells, successor.view, ranks.view, head, *part, rounds, at) for part in parts]


def _sublists(proc: Processor, successor: GlobalArray, ranks: GlobalArray, head: int, streams: int) -> Prepared:
    n = len(successor)
    pieces, at = cut(n, head, default_sublists(n, streams), 0), meeting(proc, streams)
    links, offsets = (_touched(proc.zeros(shape, np.int64)) for shape in ((pieces.count + 1, 2), (pieces.count + 2,)))
    how = successor.view, ranks.view, pieces.key, pieces.count, pieces.first
    return by_sublists, [(*how, *pieces.share(k, streams), links, offsets, k == 0, at) for k in range(streams)]


PREPARED = {"wyllie-cells": _cells, "wyllie-streams": _two_lists, "reid-miller-streams": _sublists}


def program(
    proc: Processor, name: str, successor: GlobalArray, ranks: GlobalArray, head: int, streams: int
) -> tuple[int, int, int]:
    """Rank a list by streams of the only processor.

    Returns
    -------
    int
        Time in ns from when the first stream leaves the line until the last stream is done.
    int, int
        Retries and traps at nodes and at the barrier.
    """
    loop, shares = PREPARED[name](proc, successor, ranks, head, streams)
    successor.view.sum(), ranks.view.sum()  # read into the caches, as far as they fit there
    line, spans = np.zeros(LINE_WORDS, np.int64), np.zeros((streams, 2), np.int64)
    looks = SPINS if streams <= len(usable_cpus()) else FEW
    with proc.streams(streams) as pool:
        before = proc.counters()
        for span, share in zip(spans, shares, strict=True):
            pool.start(loop, line, streams, looks, proc.sync, span, *share)
        until_all_are_done(line, proc.sync)
        after = proc.counters()
    retries, traps = (int(after[what].sum() - before[what].sum()) for what in ("retries", "traps"))
    return int(spans[:, 1].max() - spans[:, 0].min()), retries, traps
