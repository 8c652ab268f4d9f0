"""The memory of a node in which its processors meet in a collective.

    set 0   │ slot of the first processor │ slot of the second │ ...          round k takes set k modulo SETS
    set 1   │ slot of the first processor │ slot of the second │ ...
    ...
    slot    │ NUMBER │ LENGTH │ SIGN │ VOTES │ the bytes, if they fit │

    another processor of the node                    the first one
    puts its part into its slot, NUMBER last ──────▶ NUMBER: this part has come
                                                     exchanges the parts of the node with those of other nodes
    NUMBER: the result has come              ◀────── puts the result into its own slot, NUMBER last

NUMBER is stored with release and loaded with acquire, so a reader that sees it sees the slot as it was put.  It has the
number of the run, so what an earlier run has left is never taken for new, and need not be cleared.  The slots are those
of the host (see ``shared_memory.slots``).  Three of the six sets would be enough, since at most three rounds may be
open.  A processor that puts its part for round k + 3 has left round k, so the first one has taken its part of round k.
The first one puts the result of round k + 3 when all have come to it, so all have left round k, with its result.
"""

from __future__ import annotations

from typing import NamedTuple

from ...memory.segment import Segment
from ...protocols.entry_points import core
from ...shared_memory.layout import SETS, SLOT, slots_at

HEADER = 32  # bytes
NUMBER, LENGTH, SIGN, VOTES = range(4)  # words of the header
ROOM = SLOT - HEADER
"""Bytes that fit into a slot."""
LONG = -1
"""Length of bytes that do not fit; they come by a message."""


class Part(NamedTuple):
    """The part of some processors in a collective, or its result.

    Attributes
    ----------
    sign : int
        Signature of the description; negative if processors differ.
    votes : int
    data : bytes or None
        None if they do not fit into a slot.
    """

    sign: int
    votes: int
    data: bytes | None


class Meeting:
    """The slots of one node as one of its processors uses them.

    Parameters
    ----------
    place, count : int
        Place of the processor among those of the node, and their number.
    """

    def __init__(self, segment: Segment, place: int, count: int) -> None:
        self._place, at = place, slots_at(count)
        octets = segment.bytes_at(at, SETS * count * SLOT)
        starts = [[(turn * count + of) * SLOT for of in range(count)] for turn in range(SETS)]
        self._addresses = [[segment.address + at + start for start in row] for row in starts]
        self._headers = [[octets[start : start + HEADER].cast("q") for start in row] for row in starts]
        self._bytes = [[octets[start + HEADER : start + SLOT] for start in row] for row in starts]
        self._load, self._store = core().load_word, core().store_word

    def put(self, number: int, sign: int, votes: int, data: bytes) -> bool:
        """Put a part into the own slot; return False if its bytes do not fit, and have to be sent."""
        turn, place = number % SETS, self._place
        header, fits = self._headers[turn][place], len(data) <= ROOM
        if data and fits:
            self._bytes[turn][place][: len(data)] = data
        header[LENGTH], header[SIGN], header[VOTES] = len(data) if fits else LONG, sign, votes
        self._store(self._addresses[turn][place], number)
        return fits

    def has(self, number: int, place: int) -> bool:
        """Return True if the processor at a place has put its part for a round."""
        return self._load(self._addresses[number % SETS][place]) == number

    def get(self, number: int, place: int) -> Part:
        """Return the part that the processor at a place has put."""
        header = self._headers[number % SETS][place]
        length = header[LENGTH]
        data = None if length == LONG else bytes(self._bytes[number % SETS][place][:length])
        return Part(header[SIGN], header[VOTES], data)
