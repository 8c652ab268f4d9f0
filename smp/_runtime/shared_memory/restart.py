"""Makes the memory of a machine ready for new processors, after those before them have ended in any state.

    wait       for the threads of this process, and of processes forked from it, that were in operations on cells
    free       each cell: no lock, no queues; its value stays, and so does its state, full or empty
    forget     the words, boards, records and texts of the processors; the records of this process's threads stay

A processor that is killed changes a cell wholly or not at all, as other streams see it: the state word is stored last.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..memory.cells import Cells
from ..memory.segment import Segment
from ..memory.waiting_threads import WaitingThreads
from ..protocols import wait
from ..protocols.cell import FULL
from ..protocols.stream_slots import LOCKED
from ..protocols.text_ring import FIRST, RING_WORDS
from ..protocols.waiters import RANK, RECORD, STATE, STATUS, WAITING
from .layout import boards_at, clear_messages, introduce, texts_at

PATIENCE = 5.0  # seconds after which a wait that has not ended was one of a process that is gone
HELD = 0.2  # the same for a lock, which is held for less than a microsecond


def make_ready(segment: Segment, threads: WaitingThreads, size: int) -> None:
    """Make a segment ready for new processors.

    Parameters
    ----------
    segment : Segment
        The segment; its ABORT is set, so no wait goes on.
    threads : WaitingThreads
        The threads of this process, which know its cells.
    size : int
        Number of processors.
    """
    records, states = _records(segment), [_states(cells) for cells in threads.known() if isinstance(cells, Cells)]
    others = records[:, RANK] < 0
    _until(lambda: not (records[others, STATUS] & STATE == WAITING).any(), PATIENCE)
    _until(lambda: not any((words & LOCKED).any() for words in states), HELD)
    for words in states:
        words &= FULL
    records[~others] = 0
    clear_messages(segment, size)
    segment.words(0, boards_at(size) // 8)[:] = 0
    introduce(segment.words(0, wait.SHARED_WORDS), size)
    segment.words(0, wait.SHARED_WORDS)[wait.RECORDS] = np.flatnonzero(others).max(initial=0)
    for rank in range(size):
        segment.words(texts_at(size) + 8 * RING_WORDS * rank, FIRST)[:] = 0


def _until(done: Callable[[], bool], patience: float) -> None:
    end = time.monotonic() + patience
    while not done() and time.monotonic() < end:
        time.sleep(0.001)


def _records(segment: Segment) -> NDArray[np.int64]:
    """Return the records of all streams that have joined, and record 0, which is none."""
    words = segment.words(0, wait.SHARED_WORDS)
    return segment.words(int(words[wait.TABLE]), (int(words[wait.RECORDS]) + 1) * RECORD).reshape(-1, RECORD)


def _states(cells: Cells) -> NDArray[np.int64]:
    block = cells._block
    return block.segment.words(block.offset, cells._n * cells._words)[:: cells._words]
