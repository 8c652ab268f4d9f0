"""Layout of the header of a machine's segment.

sync words │ a board for each processor │ six sets of slots for all │ records of streams
"""

from __future__ import annotations

from ..memory.segment import PAGE
from ..protocols.barriers import OPEN
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
    return slots_at(size) + SETS * size * SLOT


def header(size: int) -> int:
    """Return the bytes of the segment's header for ``size`` processors; a record takes memory once a stream has it."""
    return records_at(size) + 8 * TABLE_WORDS
