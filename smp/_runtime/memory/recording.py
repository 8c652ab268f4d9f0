"""The events of the streams of one process while a run is recorded, and the names of what they refer to."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..protocols import wait, waiters
from ..protocols.event_rings import COUNT, EVENT, EVENTS, FIRST, RING_WORDS, STARTS


class StreamEvents(NamedTuple):
    """The events of one stream.

    Attributes
    ----------
    stream : int
        Number of the stream within its processor.
    events : int64 array (n, 4)
        A row for each event that is left, in order (see ``event_rings``).
    dropped : int
        Number of events before these.
    """

    stream: int
    events: NDArray[np.int64]
    dropped: int


class Rings:
    """The rings of a process's streams; on an emulated machine, those of all processors.

    Parameters
    ----------
    words : callable
        Returns int64 words of the machine's memory, from an offset in bytes: `Segment.words`.
    name_of : callable
        Returns the name of the cell at an address; empty if it is not known.
    now : callable
        Returns the time of an event, as `atomics.stamp` does in machine code.

    Attributes
    ----------
    functions : dict of int: str
        Names of the functions of the threads that were started, by the number of the thread.
    kept : list
        Cells that the process got to know; they are kept so that events can be named at the end.
    """

    def __init__(
        self, words: Callable[[int, int], NDArray[np.int64]], name_of: Callable[[int], str], now: Callable[[], int]
    ) -> None:
        self.name_of, self.now = name_of, now
        self.functions: dict[int, str] = {}
        self.kept: list[object] = []
        self._words, self._threads = words, itertools.count()
        self._rings: dict[int, NDArray[np.int64]] = {}  # by the number of the stream's record

    def give(self, words: NDArray[np.int64]) -> None:
        """Give the stream of a record a ring.  Its memory is paged in as it is written."""
        record = int(words[waiters.INDEX])
        if record not in self._rings:
            self._rings[record] = np.zeros(RING_WORDS, np.int64)
        words[waiters.RING] = self._rings[record].ctypes.data

    def take_back(self) -> None:
        """Let the streams note no further events."""
        table = self._table()
        for record in self._rings:
            table[record, waiters.RING] = 0

    def note(self, own: NDArray[np.int64], kind: int, at: int, other: int, time: int | None = None) -> None:
        """Note an event of the calling stream, whose record is given, of a time or of now; see `event_rings.note`."""
        ring = self._rings[int(own[waiters.INDEX])]
        k = FIRST + EVENT * (int(ring[COUNT]) % EVENTS)
        ring[k : k + EVENT] = self.now() if time is None else time, kind, at, other
        ring[COUNT] += 1

    def starts(self, own: NDArray[np.int64], function: str) -> int:
        """Note that the calling stream starts a thread; return the number of the thread."""
        thread = next(self._threads)
        self.functions[thread] = function
        self.note(own, STARTS, 0, thread)
        return thread

    def of(self, rank: int) -> list[StreamEvents]:
        """Return the events of the streams whose records have this rank, ordered by stream."""
        table = self._table()
        found = [
            _events(int(table[record, waiters.STREAM]), ring)
            for record, ring in list(self._rings.items())
            if table[record, waiters.RANK] == rank
        ]
        return sorted(found, key=lambda each: each.stream)

    def whose(self, records: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ranks in some records, -1 for the parent, and the numbers of their streams."""
        table = self._table()
        return table[records, waiters.RANK], table[records, waiters.STREAM]

    def _table(self) -> NDArray[np.int64]:
        """Return the table of records, a row for each."""
        joined, table = (int(self._words(8 * word, 1)[0]) for word in (wait.RECORDS, wait.TABLE))
        return self._words(table, (joined + 1) * waiters.RECORD).reshape(-1, waiters.RECORD)


def _events(stream: int, ring: NDArray[np.int64]) -> StreamEvents:
    count, rows = int(ring[COUNT]), ring[FIRST:].reshape(-1, EVENT)
    rows = rows[:count].copy() if count <= EVENTS else np.roll(rows, -(count % EVENTS), axis=0)
    return StreamEvents(stream, rows, max(0, count - EVENTS))
