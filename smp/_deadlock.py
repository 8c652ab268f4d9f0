"""Whether a run can still go on: the parent's look at the records of all streams.

    look                 all streams wait, without a deadline                    │ remember how often each has waited
    look again, later    the same waits go on: nobody ran at any moment between  │ ask the watches (see ``_watch``)
    look once more       all have told that no other thread runs in their        │ nothing can change any more: a
                         processes, and the same waits still go on               │ deadlock, proved

A wait at the barrier counts only while not all have arrived.  A thread of the parent's own might change a cell that the
parent made: where there is one, a deadlock is suspected, not claimed.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _records, _wait
from ._core import core
from ._segments import Block, Segment
from ._team import PARKED
from ._watch import OURS, Waiter, noted
from ._whereabouts import told
from .barrier import ARRIVALS

TICK, SOON = 0.25, 0.05
"""Seconds between two looks, and after one that found all waiting."""


class DeadlockLook:
    """The looks at one run.

    Parameters
    ----------
    segment : Segment
    size : int
        Processors.
    streams : sequence of Waiter
        The parent's own.
    """

    def __init__(self, segment: Segment, size: int, streams: Sequence[Waiter]) -> None:
        self._segment, self._size, self._streams = segment, size, streams
        self._shared = segment.words(0, _wait.SHARED_WORDS)
        self._before = b""
        self._asked = 0
        self._suspected = False
        self._next = time.monotonic() + TICK

    def wait(self) -> float:
        """Seconds until the next look."""
        return max(0.0, self._next - time.monotonic())

    def look(self, private: Collection[Block]) -> str | None:
        """Look, if it is time to; return the table of who waits for what, once it is certain that nobody can go on.

        Parameters
        ----------
        private : collection of Block
            What processors have made in this run: the parent does not have it.
        """
        if time.monotonic() < self._next:
            return None
        records = self._running()
        waits = records[:, [_records.INDEX, _records.WAITS]].tobytes() if self._all_wait(records) else b""
        same = waits != b"" and waits == self._before
        certain = same and self._asked != 0 and self._answered(records)
        self._asked = core().rouse(self._segment.address) if same and not certain else 0
        self._before = waits
        self._next = time.monotonic() + (SOON if waits else TICK)
        if not certain:
            return None
        waiting = records[records[:, _records.OP] != PARKED]
        waiting = waiting[np.lexsort((waiting[:, _records.STREAM], waiting[:, _records.RANK]))]
        table = told([self._row(record) for record in waiting])
        if not self._out_of_reach(waiting, private):
            if not self._suspected:
                warnings.warn(
                    f"it seems that no processor can go on, unless a thread of this process helps: {table}",
                    stacklevel=2,
                )
            self._suspected = True
            return None
        return table

    def _running(self) -> NDArray[np.int64]:
        """The records of the processors' streams."""
        joined = int(self._shared[_wait.RECORDS])
        words = self._segment.words(int(self._shared[_wait.TABLE]), (joined + 1) * _records.RECORD)
        live = words.reshape(-1, _records.RECORD)[1:]
        table = live.copy()
        if (live[:, _records.WAITS] != table[:, _records.WAITS]).any():  # what was copied is not of one wait
            return live[:0]
        running: NDArray[np.int64] = table[(table[:, _records.ACTIVE] != 0) & (table[:, _records.RANK] >= 0)]
        return running

    def _all_wait(self, records: NDArray[np.int64]) -> bool:
        ops, status = records[:, _records.OP], records[:, _records.STATUS] & _records.STATE
        queued = (ops != 0) & (status == _records.WAITING) & ((records[:, _records.UNTIL] == 0) | (ops == PARKED))
        at = records[:, _records.BARRIER_AT]
        missing = (self._shared[at] - records[:, _records.BARRIER_SUM]) & ARRIVALS != 0
        waits = queued | ((ops == 0) & (at != 0) & missing & (records[:, _records.BARRIER_UNTIL] == 0))
        return len(np.unique(records[:, _records.RANK])) == self._size and bool(waits.all())

    def _answered(self, records: NDArray[np.int64]) -> bool:
        """Whether every processor's watch has answered what it was asked with last."""
        return bool((records[records[:, _records.STREAM] == 0][:, _records.WATCHED] == self._asked).all())

    def _out_of_reach(self, waiting: NDArray[np.int64], private: Collection[Block]) -> bool:
        """Whether the parent has no thread that could change any of the cells."""
        others = set(sys._current_frames()) - {threading.get_ident()}
        others -= {thread.ident for thread in threading.enumerate() if thread.name.startswith(OURS)}
        others -= {stream.thread for stream in self._streams if stream.words[_records.OP] != 0}
        if not others:
            return True
        cells = waiting[waiting[:, _records.OP] != 0][:, [_records.WHERE, _records.SHARED]]
        offsets = cells[:, 0] - cells[:, 1]
        outside = (offsets < 0) | (offsets >= self._segment.size)  # of a thread or a team: its processor's own
        return all(
            bool(out) or any(block.offset <= offset < block.offset + block.nbytes for block in private)
            for out, offset in zip(outside, offsets, strict=True)
        )

    def _row(self, record: NDArray[np.int64]) -> tuple[str, str, str, str, str]:
        what, place = noted(record)
        since = record[_records.SINCE if record[_records.OP] != 0 else _records.BARRIER_SINCE]
        seconds = (time.monotonic_ns() - int(since)) / 1e9
        return str(record[_records.RANK]), str(record[_records.STREAM]), what, place, f"{seconds:.2f} s"
