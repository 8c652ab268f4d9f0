"""Layout of the header of a machine's segment.

sync words │ a board for each processor │ six sets of slots │ inboxes │ rings │ records of streams │ a ring of text each
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..memory.segment import PAGE, Segment
from ..protocols import wait
from ..protocols.barriers import OPEN
from ..protocols.inboxes import LINE
from ..protocols.rings import ring_words, slots_for
from ..protocols.text_ring import RING_WORDS
from ..protocols.waiters import TABLE_WORDS
from .last_seen import BOARD

SYNC = 2 * PAGE  # bytes of the words of ``wait`` and ``placement``
SETS = 2 * OPEN
"""Sets of slots; see `slots`."""
SLOT = 1 << 16  # bytes


def boards_at(rank: int) -> int:
    """Return the offset of a processor's board."""
    return SYNC + rank * BOARD


def slots_at(size: int) -> int:
    """Return the offset of the first slot."""
    return -(-boards_at(size) // PAGE) * PAGE


def records_at(size: int) -> int:
    """Return the offset of the table of records."""
    return rings_at(size) + 2 * 8 * ring_words(size, slots_for(size))


def inboxes_at(size: int) -> int:
    """Return the offset of the first inbox."""
    return slots_at(size) + SETS * size * SLOT


def rings_at(size: int) -> int:
    """Return the offset of the rings of the first network."""
    return -(-(inboxes_at(size) + 8 * LINE * size) // PAGE) * PAGE


def introduce(words: NDArray[np.int64], size: int) -> None:
    """Write where the tables lie into the shared words of a new segment."""
    words[[wait.TABLE, wait.INBOX, wait.PROCESSORS]] = records_at(size), inboxes_at(size), size


def clear_messages(segment: Segment, size: int) -> None:
    """Empty all rings and inboxes before a run, if the previous one used them."""
    words = segment.words(0, wait.SHARED_WORDS)
    if words[wait.MESSAGING]:
        words[wait.MESSAGING] = 0
        start, stop = inboxes_at(size), records_at(size)
        np.frombuffer(segment.bytes_at(start, stop - start), np.uint8).fill(0)


def texts_at(size: int) -> int:
    """Return the offset of the first ring of text; they follow one another, `RING_WORDS` words each."""
    return records_at(size) + 8 * TABLE_WORDS


def header(size: int) -> int:
    """Return the bytes of the segment's header for ``size`` processors.

    A record takes memory once a stream has it, and a ring of text once its processor prints.
    """
    return -(-(texts_at(size) + 8 * RING_WORDS * size) // PAGE) * PAGE
