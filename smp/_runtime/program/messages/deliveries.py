"""The delivery of blocks: by one copy where processors share memory, by messages elsewhere.

    by copy        sender      copies its array into the port of the receiver    one copy, of the whole or by chunks
                               posts one packet with the number of bytes         once all is copied
                   receiver    counts the bytes when it takes the packet
    by messages    sender      posts packets with a place and some bytes
                   receiver    copies the bytes of each packet to their place, and counts them

A copy needs no fence of its own.  The post publishes its packet by a store that releases all earlier stores of its
thread (the stamp, see ``rings``), and the receiver finds the packet by a load that acquires.  So the receiver sees the
whole copy.  NumPy copies and machine code posts in the same thread, in two calls that no compiler can exchange.  Long
copies of the C library may use stores that a release does not wait for; it ends such a copy with a fence.
"""

from __future__ import annotations

import struct
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .network import POSTED
from .networks import RIGHT
from .ports import BlockPort, Ports

CHUNK = 1 << 16
"""Bytes of a part of a queued block, where processors share memory."""
LONGEST = 256
"""Words of the longest packet that is used, with those in front of the data."""
_LANDED = struct.Struct("=qq")  # number of the port, bytes that count
_PART = struct.Struct("=qqqq")  # number of the port, bytes that count, place of the first byte, bytes


class Block:
    """A block on its way, of which parts are sent.

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

    def __init__(self, to: int, port: BlockPort, data: NDArray[Any], at: int) -> None:
        self.to, self.port, self.octets, self.place = to, port, data.view(np.uint8), at * data.itemsize
        self.counted, self.sent, self.done = True, 0, False


class Delivery(Protocol):
    """A way in which blocks get to ports."""

    def send(self, to: int, port: BlockPort, data: NDArray[Any], at: int) -> None:
        """Send contiguous elements of the port's dtype, which fit; while there is no room, poll and wait."""

    def try_part(self, block: Block) -> bool:
        """Send the next part of a block if there is room, without polling; return False if there is none."""


class ByCopy:
    """Delivery by one copy; see `Delivery`."""

    def __init__(self, ports: Ports) -> None:
        self._known, self._messenger = ports.known, ports.messenger
        self._landed = ports.messenger.handlers.reserve("block", self._took)

    def send(self, to: int, port: BlockPort, data: NDArray[Any], at: int) -> None:
        assert port._places is not None
        port._places[to, at : at + len(data)] = data
        messenger, landed = self._messenger, self._landed
        if messenger.send_numbers(RIGHT, to, landed.head, (port.number, data.nbytes)) != POSTED:
            messenger.send_words(to, landed, _LANDED.pack(port.number, data.nbytes))

    def try_part(self, block: Block) -> bool:
        before, rows = block.sent, block.port._rows
        assert rows is not None
        part = block.octets[before : before + CHUNK]
        start = block.place + before
        rows[block.to, start : start + len(part)] = part
        block.sent += len(part)
        if block.sent == len(block.octets):
            packet = _LANDED.pack(block.port.number, len(block.octets) if block.counted else 0)
            block.done = self._messenger.try_words(block.to, self._landed, packet)
        return block.done or block.sent > before

    def _took(self, source: int, number: int, counted: int) -> None:
        self._known[number]._came(source, counted)


class ByMessages:
    """Delivery by messages of one packet each; see `Delivery`."""

    def __init__(self, ports: Ports) -> None:
        self._known, self._messenger = ports.known, ports.messenger
        self._part = ports.messenger.handlers.reserve("part of a block", self._took)
        self._most = 8 * min(ports.machine.network.longest, LONGEST) - _PART.size

    def send(self, to: int, port: BlockPort, data: NDArray[Any], at: int) -> None:
        block = Block(to, port, data, at)
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

    def _took(self, source: int, number: int, counted: int, place: int, nbytes: int, *words: int) -> None:
        port = self._known[number]
        octets = np.array(words, np.int64).view(np.uint8)[:nbytes]
        port.data.reshape(-1).view(np.uint8)[place : place + nbytes] = octets
        port._came(source, counted)
