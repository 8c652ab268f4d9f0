"""The delivery of blocks: by one copy where processors share memory, by messages elsewhere.

    by copy        sender      copies its array into the port of the receiver    one copy, of the whole or by chunks
                               posts one packet with the number of bytes         once all is copied
                   receiver    counts the bytes when it takes the packet
    by messages    sender      posts packets with a place and some bytes
                   receiver    copies the bytes of each packet to their place, and counts them

A copy needs no fence of its own.  The post publishes its packet by a store that releases all earlier stores (the stamp,
see ``rings``), and the receiver finds the packet by a load that acquires.  So the receiver sees the whole copy.
"""

from __future__ import annotations

import struct
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .messenger import Message
from .ports import BlockPort, Ports

CHUNK = 1 << 16
"""Bytes of a part of a queued block, where processors share memory."""
LONGEST = 256
"""Words of the longest packet that is used, with those in front of the data."""
_LANDED = struct.Struct("=qq")  # number of the port, bytes that count
_PART = struct.Struct("=qqqq")  # number of the port, bytes that count, place of the first byte, bytes


class Block:
    """A block on its way.

    Attributes
    ----------
    to : int
        Processor that gets it.
    port : BlockPort
    octets : uint8 ndarray (n,)
        The bytes.
    place : int
        Place of the first byte in the port.
    counted : bool
        Whether its elements count for expectations.
    sent : int
        Bytes that were copied, or posted, so far.
    done : bool
        Whether the last packet was posted.
    """

    __slots__ = ("counted", "done", "octets", "place", "port", "sent", "to")

    def __init__(self, to: int, port: BlockPort, octets: NDArray[np.uint8], place: int) -> None:
        self.to, self.port, self.octets, self.place = to, port, octets, place
        self.counted, self.sent, self.done = True, 0, False


class Delivery(Protocol):
    """A way in which blocks get to ports."""

    def send(self, block: Block) -> None:
        """Send all of a block; while there is no room, poll and wait."""

    def try_part(self, block: Block) -> bool:
        """Send the next part of a block if there is room, without polling; return False if there is none."""


class ByCopy:
    """Delivery by one copy; see `Delivery`."""

    def __init__(self, ports: Ports) -> None:
        self._ports, self._messenger = ports, ports.messenger
        self._landed = ports.messenger.handlers.reserve("block", self._took)

    def send(self, block: Block) -> None:
        self._copy(block, block.octets)
        self._messenger.send_words(block.to, self._landed, self._packet(block))

    def try_part(self, block: Block) -> bool:
        before = block.sent
        self._copy(block, block.octets[before : before + CHUNK])
        if block.sent == len(block.octets):
            block.done = self._messenger.try_words(block.to, self._landed, self._packet(block))
        return block.done or block.sent > before

    @staticmethod
    def _packet(block: Block) -> bytes:
        return _LANDED.pack(block.port.number, len(block.octets) if block.counted else 0)

    def _copy(self, block: Block, part: NDArray[np.uint8]) -> None:
        """Copy the next part of a block."""
        start, rows = block.place + block.sent, block.port._rows
        assert rows is not None
        rows[block.to, start : start + len(part)] = part
        block.sent += len(part)

    def _took(self, message: Message, number: int, counted: int) -> None:
        self._ports[number]._came(message.source, counted)


class ByMessages:
    """Delivery by messages of one packet each; see `Delivery`."""

    def __init__(self, ports: Ports) -> None:
        self._ports, self._messenger = ports, ports.messenger
        self._part = ports.messenger.handlers.reserve("part of a block", self._took)
        self._most = 8 * min(ports.machine.network.longest, LONGEST) - _PART.size

    def send(self, block: Block) -> None:
        while not block.done:
            stop, words = self._next(block)
            self._messenger.send_words(block.to, self._part, words)
            block.sent, block.done = stop, stop == len(block.octets)

    def try_part(self, block: Block) -> bool:
        stop, words = self._next(block)
        if not self._messenger.try_words(block.to, self._part, words):
            return False
        block.sent, block.done = stop, stop == len(block.octets)
        return True

    def _next(self, block: Block) -> tuple[int, bytes]:
        """Return the byte after the next part, and the words of its packet."""
        part = block.octets[block.sent : block.sent + self._most].tobytes()
        counted = len(part) if block.counted else 0
        head = _PART.pack(block.port.number, counted, block.place + block.sent, len(part))
        return block.sent + len(part), head + part + bytes(-len(part) % 8)

    def _took(self, message: Message, number: int, counted: int, place: int, nbytes: int, *words: int) -> None:
        port = self._ports[number]
        octets = np.array(words, np.int64).view(np.uint8)[:nbytes]
        port.data.reshape(-1).view(np.uint8)[place : place + nbytes] = octets
        port._came(message.source, counted)
