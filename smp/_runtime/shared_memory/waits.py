"""Waits of the streams of a machine, which the parent reads from their records (see ``waiters``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from ..memory.segment import Block, Segment
from ..memory.watchdog import noted
from ..program.place import Place
from ..program.who_waits import RUNS, Row
from ..protocols import wait, waiters
from ..protocols.barriers import ARRIVALS
from ..protocols.stream_slots import PARKED

Records = NDArray[np.int64]


class Waits:
    """The records of one machine's streams, as its parent reads them.

    Parameters
    ----------
    segment : Segment
    size : int
        Number of processors.
    seen : callable
        Returns where a processor was last seen, by its rank.
    """

    def __init__(self, segment: Segment, size: int, seen: Callable[[int], Place]) -> None:
        self._segment, self._size, self._seen = segment, size, seen
        self._shared = segment.words(0, wait.SHARED_WORDS)

    def running(self) -> Records:
        """Return the records of the processors' streams; none if a wait began or ended while they were copied."""
        joined = int(self._shared[wait.RECORDS])
        words = self._segment.words(int(self._shared[wait.TABLE]), (joined + 1) * waiters.RECORD)
        live = words.reshape(-1, waiters.RECORD)[1:]
        table = live.copy()
        if (live[:, waiters.WAITS] != table[:, waiters.WAITS]).any():  # a wait began or ended during the copy
            return live[:0]
        running: Records = table[(table[:, waiters.ACTIVE] != 0) & (table[:, waiters.RANK] >= 0)]
        return running

    def all_wait(self, records: Records) -> bool:
        """Return True if every stream of every processor waits without a deadline, or is parked."""
        ops, status = records[:, waiters.OP], records[:, waiters.STATUS] & waiters.STATE
        queued = (ops != 0) & (status == waiters.WAITING) & ((records[:, waiters.UNTIL] == 0) | (ops == PARKED))
        at = records[:, waiters.BARRIER_AT]
        missing = (self._shared[at] - records[:, waiters.BARRIER_SUM]) & ARRIVALS != 0
        waits = queued | ((ops == 0) & (at != 0) & missing & (records[:, waiters.BARRIER_UNTIL] == 0))
        return len(np.unique(records[:, waiters.RANK])) == self._size and bool(waits.all())

    def named(self, records: Records) -> bytes:
        """Return bytes that are the same at two looks if the same waits go on; none if some stream does not wait."""
        return records[:, [waiters.INDEX, waiters.WAITS]].tobytes() if self.all_wait(records) else b""

    def all_private(self, records: Records, private: Collection[Block]) -> bool:
        """Return True if all cells that are waited for lie in these blocks, or belong to one processor alone."""
        cells = records[~np.isin(records[:, waiters.OP], (0, PARKED))][:, [waiters.WHERE, waiters.SHARED]]
        offsets = cells[:, 0] - cells[:, 1]
        outside = (offsets < 0) | (offsets >= self._segment.size)  # of a thread or a team, private to its processor
        return all(
            bool(out) or any(block.offset <= offset < block.offset + block.nbytes for block in private)
            for out, offset in zip(outside, offsets, strict=True)
        )

    def rows(self, records: Records, asked: int) -> list[Row]:
        """Return a row for each stream that shows what it does.

        ``asked`` is the number of the last request to the watches.  A watch that has answered it has noted what the
        streams of its processor do, and at which line.  The rows of other processors show where they were last seen.
        """
        shown = records[records[:, waiters.OP] != PARKED]
        shown = shown[np.lexsort((shown[:, waiters.STREAM], shown[:, waiters.RANK]))]
        answers = dict(zip(records[:, waiters.RANK].tolist(), abs(answers_of(records)).tolist(), strict=False))
        return [self._row(record, answers.get(int(record[waiters.RANK])) == asked) for record in shown]

    def _row(self, record: NDArray[np.int64], answered: bool) -> Row:
        rank = int(record[waiters.RANK])
        what, place = noted(record) if answered else ("a wait", str(self._seen(rank)))
        since = int(record[waiters.SINCE if record[waiters.OP] != 0 else waiters.BARRIER_SINCE])
        waits = record[waiters.OP] != 0 or record[waiters.BARRIER_AT] != 0
        return Row(
            processor=str(rank),
            stream=str(record[waiters.STREAM]),
            what=what if waits else RUNS,
            place=place,
            since=f"{(time.monotonic_ns() - since) / 1e9:.2f} s" if waits else "",
        )


def answers_of(records: Records) -> NDArray[np.int64]:
    """Return the last answer of each processor's watch (see ``watchdog``)."""
    answers: NDArray[np.int64] = records[records[:, waiters.STREAM] == 0][:, waiters.WATCHED]
    return answers
