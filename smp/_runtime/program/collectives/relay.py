"""Parts on their way between processors that share memory.

They pass through rows of bytes, one row for each processor, in one round or in several:

    a window of the own parts    copy it into the own row, except for the part that stays here
                                 ─ barrier ─
    that window of all rows      copy the parts for this processor out of the rows, the right neighbour's first

No two processors read the same row first.  A window is a range of bytes:

    parts of one length          of each part
    parts of different lengths   of all that a processor sends, in the order in which it is read: the lengths of its
                                 parts, the part for its left neighbour, the part for the one before, ...

Two sets of rows are used in turn, so a round takes one barrier.  A row is written again in the second round after its
own.  This is after the barrier of the round in between, to which no processor comes before it has read the row.

Short parts need one round, through the slots of the processors.  For long parts there are rows that are kept for the
rest of the run.  They are so short that they stay in the caches, so main memory is read and written only once.  The
first window of parts of different lengths goes through the slots in any case: from the lengths in it, all processors
know how many rounds there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...memory.shared_elements import elements_of
from ..port import Port
from ..shared import SharedMemory
from .stage import LINE

SHORT = 1 << 15
"""Bytes that go through a slot."""
WINDOW = 1 << 19
"""Bytes that a processor sends in a round, if they do not fit into a slot: two rows take the cache of one core."""


class Relay:
    """The rows of bytes through which the processors of a run pass parts on."""

    def __init__(self, port: Port, memory: SharedMemory) -> None:
        self._port, self._memory = port, memory
        self._sets: NDArray[np.uint8] | None = None
        self._turn = 0
        above, below = slice(port.rank + 1, port.size), slice(0, port.rank)
        self._others = [ranks for ranks in (above, below) if ranks.start < ranks.stop]

    def equal(self, description: str, data: NDArray[Any], out: NDArray[Any]) -> None:
        """Pass on parts of one length.

        Parameters
        ----------
        description : str
            What the processors must agree on; it names dtype and shape.
        data, out : ndarray (P, ...)
            The parts for all processors, and those from all: contiguous, and the same memory or apart.
        """
        port, size, rank = self._port, self._port.size, self._port.rank
        mine, theirs = (octets(array).reshape(size, -1) for array in (data, out))
        length, short = mine.shape[1], data.nbytes <= SHORT
        window = length if short else self._window
        for start in range(0, max(length, 1), max(window, 1)):
            stop = min(start + window, length)
            rows = self._memory.slots.next().octets if short else self._rows(description)
            windows = rows[:, : size * window].reshape(size, size, window)[:, :, : stop - start]
            sent, received = windows[rank], windows[:, rank]
            for others in self._others:
                sent[others] = mine[others, start:stop]
            port.synchronise(description)
            for others in self._others:
                theirs[others, start:stop] = received[others]
            theirs[rank, start:stop] = mine[rank, start:stop]

    def unequal(self, description: str, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Pass on parts of different lengths, and return those from all processors, by rank.

        Parameters
        ----------
        description : str
            What the processors must agree on; it names the dtype and all of the shape but the length.
        parts : sequence of ndarray (n, ...)
            The parts for all processors, contiguous.
        """
        port, size, rank = self._port, self._port.size, self._port.rank
        dtype, shape = parts[0].dtype, parts[0].shape[1:]
        lengths = octets(np.array([len(part) for part in parts], np.int64))
        steps = np.arange(1, size)
        sent = [lengths, *(octets(parts[target]) for target in ((rank - steps) % size).tolist())]
        places = np.cumsum([0, *(len(each) for each in sent[:-1])]).tolist()

        def send(row: NDArray[np.uint8], start: int, stop: int) -> None:
            for place, each in zip(places, sent, strict=True):
                inside, there = overlap(place, len(each), start, stop)
                row[there] = each[inside]

        rows = self._memory.slots.next().octets
        send(rows[rank], 0, SHORT)
        port.synchronise(description)
        table = rows[:, : len(lengths)].copy().view(np.int64)  # row i: the lengths of the parts that processor i sends
        nbytes = table * (math.prod(shape) * dtype.itemsize)
        ordered = np.take_along_axis(nbytes, (np.arange(size)[:, None] - steps) % size, axis=1)
        ends = len(lengths) + np.cumsum(ordered, axis=1)
        received = [np.empty((length, *shape), dtype) for length in table[:, rank]]
        received[rank][...] = parts[rank]
        theirs = [octets(each) for each in received]

        def receive(rows: NDArray[np.uint8], start: int, stop: int) -> None:
            for step in range(1, size):
                source = (rank + step) % size
                place = int(ends[source, step - 1]) - len(theirs[source])
                inside, there = overlap(place, len(theirs[source]), start, stop)
                theirs[source][inside] = rows[source, there]

        receive(rows, 0, SHORT)
        for start in range(SHORT, int(ends.max(initial=0)), WINDOW):
            rows = self._rows(description)
            send(rows[rank], start, start + WINDOW)
            port.synchronise(description)
            receive(rows, start, start + WINDOW)
        return received

    @property
    def _window(self) -> int:
        """Bytes of each part that are sent in a round, in whole cache lines."""
        return -(-WINDOW // (max(self._port.size - 1, 1) * LINE)) * LINE

    def _rows(self, description: str) -> NDArray[np.uint8]:
        """Return the rows for the next round of long parts: one of two sets, in turn."""
        if self._sets is None:
            self._port.synchronise(description)  # so that a mismatch names the collective, and not the allocation
            size = self._port.size
            sets = self._port.allocate((2, size, size * self._window), np.dtype(np.uint8))
            self._port.synchronise("end of allocation")
            self._sets = elements_of(sets).all
        self._turn = 1 - self._turn
        rows: NDArray[np.uint8] = self._sets[self._turn]
        return rows


def octets(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous array, in the same memory."""
    return array.reshape(-1).view(np.uint8)


def overlap(place: int, length: int, start: int, stop: int) -> tuple[slice, slice]:
    """Return what a window, ``start`` to ``stop``, has of bytes at a place: the slice of them, and that of the window.

    Both are empty if it has none of them.
    """
    first = max(place, start)
    last = max(first, min(place + length, stop))
    return slice(first - place, last - place), slice(first - start, last - start)
