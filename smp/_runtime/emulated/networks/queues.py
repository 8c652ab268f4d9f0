"""The networks of an emulated machine: bounded queues, each operation on which is one step.

This is what a network means; the rings of the host are queues like these, made of many steps.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeVar

import numpy as np

from ...program.messages.network import Packet
from ...program.messages.packets import LONGEST
from ...protocols import rings
from ...protocols.loop_packets import OF_LOOPS
from ...protocols.message_waits import NETWORKS

Item = TypeVar("Item")
WHOLE = 1 + LONGEST // 8
"""Words of the longest message: the length of its pickle, and the pickle."""


class BySender(dict[int, deque[Item]]):
    """Queues of one processor, by sender; those that are empty are missing."""

    def count(self, sender: int) -> int:
        """Return the length of a queue."""
        return len(self.get(sender, ()))

    def add(self, sender: int, item: Item) -> None:
        """Append an item to a queue."""
        self.setdefault(sender, deque()).append(item)

    def take(self, sender: int, place: int = 0) -> Item:
        """Remove and return an item of a queue."""
        queue = self[sender]
        item = queue[place]
        del queue[place]
        if not queue:
            del self[sender]
        return item


class Queues:
    """The queues of both networks, for all pairs of processors.

    Parameters
    ----------
    size, room : int
        Number of processors, and number of packets that each queue holds.
    """

    longest = rings.PAYLOAD
    """Words of the longest packet."""

    def __init__(self, size: int, room: int) -> None:
        self.size, self.room = size, room
        self.clear()

    def clear(self) -> None:
        """Empty all queues."""
        self._queues: list[list[BySender[Packet]]] = self._of_all()
        self._next = np.zeros((NETWORKS, self.size), np.int64)
        self._turns = [0] * self.size  # the network at which each processor looks first

    def _of_all(self) -> list[list[BySender[Any]]]:
        return [[BySender() for _ in range(self.size)] for _ in range(NETWORKS)]

    def has_room(self, network: int, sender: int, to: int) -> bool:
        """Return True if a packet finds room in a queue."""
        return self.room_for(network, sender, to) > 0

    def has_packet(self, network: int, to: int) -> bool:
        """Return True if a packet has come to a processor."""
        return bool(self._queues[network][to])

    def packets_left(self, to: int) -> bool:
        """Return True if a packet to a processor was posted and not taken."""
        return any(self.has_packet(network, to) for network in range(NETWORKS))

    def append(self, network: int, to: int, packet: Packet) -> bool:
        """Append a packet if there is room; return True if it was appended."""
        sender = packet[0]
        if not self.has_room(network, sender, to):
            return False
        self._queues[network][to].add(sender, packet)
        return True

    def room_for(self, network: int, sender: int, to: int) -> int:
        """Return the number of packets that find room in a queue."""
        return self.room - self._queues[network][to].count(sender)

    def take(self, networks: int, to: int, for_loop: bool = False) -> tuple[int, Packet, bool] | None:
        """Take a packet from the queues of all senders in turn, and of the networks in turn.

        Return the number of its network, the packet, and whether its queue was full; None if all are empty.  If
        ``for_loop``, a packet that is not of loops is returned, but it stays in its queue.
        """
        turn = self._turns[to]
        for network in (turn, 1 - turn):
            if networks >> network & 1 and self.has_packet(network, to):
                self._turns[to] = 1 - network
                queues, first = self._queues[network][to], int(self._next[network, to])
                sender = min(queues, key=lambda sender: (sender - first) % self.size)
                packet = queues[sender][0]
                if for_loop and packet[1] < OF_LOOPS:
                    return network, packet, False
                self._next[network, to] = (sender + 1) % self.size
                was_full = not self.has_room(network, sender, to)
                return network, queues.take(sender), was_full
        return None


def post(queues: Queues, network: int, to: int, packet: Packet) -> bool:
    """Append a packet if there is room: one step."""
    return queues.append(network, to, packet)


def poll(queues: Queues, networks: int, to: int) -> tuple[int, Packet, bool] | None:
    """Take a packet: one step."""
    return queues.take(networks, to)


def poll_for_loop(queues: Queues, networks: int, to: int) -> tuple[int, Packet, bool] | None:
    """Take a packet of loops, or return one that is not of loops without taking it: one step."""
    return queues.take(networks, to, for_loop=True)


def room_for(queues: Queues, network: int, sender: int, to: int) -> int:
    """Return the number of packets for which there is room: one step."""
    return queues.room_for(network, sender, to)


def look(queues: Queues, rank: int, networks: int, room: int, to: int) -> bool:
    """Return True if a packet has come on one of the networks, or there is room on one: one step."""
    return any(
        (networks >> network & 1 and queues.has_packet(network, rank))
        or (room >> network & 1 and queues.has_room(network, rank, to))
        for network in range(NETWORKS)
    )
