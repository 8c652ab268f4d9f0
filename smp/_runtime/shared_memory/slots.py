"""Slots: shared memory in which every processor leaves what it brings to a collective.

    set 0   │ slot of processor 0 │ slot of processor 1 │ ...        the collective of round k of the barrier takes
    set 1   │ slot of processor 0 │ slot of processor 1 │ ...        set k modulo SETS
    ...
    slot    │ length, 8 bytes │ offset, 8 │ boundary, 1 │ unused, 7 │ kind, 8 │ the bytes, if they fit │

A slot is written by its processor, published by the arrival at the barrier, and read by all after they have left it.
Bytes that do not fit into the slot go into a block of the processor's own, and the slot has the offset of that block.
Each slot has at most one such block, which grows.  ``kind`` is a word for those who write and read the bytes.

Six sets are enough (SETS), because at most three rounds may be open.  A processor writes its slot of the set of round k
again before it arrives in round k + 6, or in a later one.  By then it has left round k + 3, so all have arrived there,
and have left, and read, round k.  The set follows from the round, so all processors take the same one, also if a
collective was refused on one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..memory.segment import Segment
from ..program.port import Buffer
from ..program.shared import SlotSet
from ..protocols.wait import ROUND
from .layout import SETS, SLOT, slots_at

BOUNDARY, HEADER = 16, 32
_LENGTH, _OFFSET, _KIND = 0, 1, 3  # words of the header
ROOM = SLOT - HEADER
"""Bytes that fit into a slot."""


class Slots:
    """The slots of all processors, as one of them uses them.

    Parameters
    ----------
    segment : Segment
        The machine's segment, whose header has the slots.
    sync : int64 array
        The processor's own words (see ``wait``), with the number of the next round.
    ask : callable
        ``ask(nbytes) -> offset`` asks the parent for a block of memory.

    Attributes
    ----------
    sets : list of SlotSet
        The sets, which lie at equal distances.
    """

    def __init__(
        self, segment: Segment, rank: int, size: int, sync: NDArray[np.int64], ask: Callable[[int], int]
    ) -> None:
        octets = np.frombuffer(segment.bytes_at(slots_at(size), SETS * size * SLOT), np.uint8)
        slots = octets.reshape(SETS, size, SLOT)
        self.sets = [SlotSet(each[:, HEADER:], each[:, BOUNDARY]) for each in slots]
        self._all, self._size = slots, size
        self._used: dict[tuple[int, int], tuple[memoryview, memoryview]] = {}  # headers and bytes of slots
        self._segment, self._rank, self._words, self._ask = segment, rank, sync.data, ask
        self.new_run()

    def new_run(self) -> None:
        """Forget the previous run, whose blocks are gone."""
        self._own = [(0, 0)] * SETS  # offset and length of this processor's own block of each set

    def turn(self) -> int:
        """Return the number of the set of the next round."""
        return int(self._words[ROUND]) % SETS

    def next(self) -> SlotSet:
        """Return the set of the next round."""
        return self.sets[self.turn()]

    def put(self, parts: Sequence[Buffer], kind: int = 0) -> int:
        """Write bytes, given in parts, into this processor's slot of the next set; return the number of the set."""
        views = [memoryview(part) for part in parts]
        length = sum(len(view) for view in views)
        turn, offset = self.turn(), 0
        if length <= ROOM:
            place = self._slot(turn, self._rank)[1]
        else:
            offset = self._block(turn, length)
            place = self._segment.bytes_at(offset, length)
        at = 0
        for view in views:
            place[at : at + len(view)] = view
            at += len(view)
        header, _ = self._slot(turn, self._rank)
        header[_LENGTH], header[_OFFSET], header[_KIND] = length, offset, kind
        return turn

    def announce(self, turn: int, front: bytes, length: int) -> None:
        """Write the first bytes of ``length`` into this processor's slot, which writes the others by itself.

        The kind is the number of these first bytes.
        """
        header, row = self._slot(turn, self._rank)
        header[_LENGTH], header[_OFFSET], header[_KIND] = length, 0, len(front)
        row[: len(front)] = front

    def _slot(self, turn: int, rank: int) -> tuple[memoryview, memoryview]:
        """Return the header of a slot as words, and its bytes."""
        found = self._used.get((turn, rank))
        if found is None:
            row = self._all[turn, rank]
            found = self._used[turn, rank] = row[:HEADER].view(np.int64).data, row[HEADER:].data
        return found

    def _block(self, turn: int, length: int) -> int:
        offset, room = self._own[turn]
        if room < length:
            offset = self._ask(length)
            self._own[turn] = offset, length
        return offset

    def get(self, turn: int) -> list[Buffer]:
        """Return the bytes of all processors, by rank, as views of shared memory; valid until the set is used again."""
        return [self.of(turn, rank)[1] for rank in range(self._size)]

    def of(self, turn: int, rank: int) -> tuple[int, memoryview]:
        """Return the kind and the bytes of one processor; see `get`."""
        header, row = self._slot(turn, rank)
        length, offset = header[_LENGTH], header[_OFFSET]
        block = self._segment.bytes_at(offset, length) if offset else row[:length]
        return header[_KIND], block
