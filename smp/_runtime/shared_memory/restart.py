"""Makes the memory of a machine ready for new processors, after those before them have ended in any state.

    wait       for the threads of this process, and of processes forked from it, that were in operations on cells
    free       each cell: no lock, no queues; its value stays, and so does its state, full or empty
    forget     the words of the last run, and the processors' records and texts; those of this process's threads stay

A processor that is killed changes the state of a cell wholly or not at all: it is stored last, and unlocks the cell.
The value is stored just before, so it can be the new one although the state is the old one.
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
from ..protocols.entry_points import core
from ..protocols.stream_slots import LOCKED
from ..protocols.text_ring import FIRST, RING_WORDS
from ..protocols.waiters import INDEX, RANK, RECORD, STATE, STATUS, WAITING
from .layout import clear_messages, texts_at

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
    words = segment.words(0, wait.SHARED_WORDS)
    joined = int(words[wait.RECORDS])
    records = segment.words(int(words[wait.TABLE]), (joined + 1) * RECORD).reshape(-1, RECORD)[1:]
    states = [_states(cells) for cells in threads.known() if isinstance(cells, Cells)]
    theirs = (records[:, INDEX] != 0) & (records[:, RANK] >= 0)  # not those of this process, or of a stream that joins
    _until(lambda: not (records[~theirs, STATUS] & STATE == WAITING).any(), PATIENCE)
    _until(lambda: not any((each & LOCKED).any() for each in states), HELD)
    for each in states:
        each &= FULL
    records[theirs] = 0
    core().part(segment.address, joined, int((np.flatnonzero(~theirs) + 1).max(initial=0)))
    clear_messages(segment, size)
    for rank in range(size):
        segment.words(texts_at(size) + 8 * RING_WORDS * rank, FIRST)[:] = 0
    words[: wait.OF_A_RUN] = 0


def _until(done: Callable[[], bool], patience: float) -> None:
    end = time.monotonic() + patience
    while not done() and time.monotonic() < end:
        time.sleep(0.001)


def _states(cells: Cells) -> NDArray[np.int64]:
    block = cells._block
    return block.segment.words(block.offset, cells._n * cells._words)[:: cells._words]
