"""The wires between the nodes, without contention: each packet arrives when its way takes it there.

    posted ── latency + hops * hop + the time on one link ──▶ arrived ──▶ taken

Packets of one sender to one receiver arrive in the order in which they were posted.  The queues have room for all.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any, Protocol

from .times import Times

CHANNELS = 2


class Wires(Protocol):
    """The wires of a machine; its calls come in the order of virtual time.

    Attributes
    ----------
    whole : bool
        Whether a message or block comes as a whole, and not packet by packet.
    """

    whole: bool

    def clear(self) -> None:
        """Forget all packets."""

    def post(
        self, now: int, channel: int, source: int, to: int, nbytes: int, lasting: int, device: bool, packet: Any
    ) -> bool:
        """Post a message or a block; return False if there is no room.

        The sender, or its device, puts the packets into the network during the time ``lasting``.
        """

    def has_room(self, channel: int, source: int) -> bool:
        """Return True if the output queue of a node has room."""

    def advance(self, now: int) -> list[int]:
        """Let all come that has arrived until now; return the nodes that may have something to take, or room."""

    def polls(self, node: int, only: bool) -> None:
        """Note whether the processor of a node does nothing but poll."""

    def waiting(self, channel: int, node: int) -> bool:
        """Return True if something has arrived at a node and was not taken."""

    def first(self, channel: int, node: int) -> Any:
        """Return what has arrived first, which exists; None if it is a part of what has not arrived as a whole."""

    def take(self, now: int, channel: int, node: int) -> None:
        """Take it."""

    def next_event(self) -> int | None:
        """Return the time of the next change; None if nothing is under way."""

    def left(self, node: int) -> bool:
        """Return True if something is under way to a node, or waits there."""


class FreeWires:
    """Wires without contention, on which messages and blocks come as a whole; see `Wires`.

    Parameters
    ----------
    size : int
        Number of nodes.
    times : Times
        Times of messages and blocks.
    """

    whole = True

    def __init__(self, size: int, times: Times) -> None:
        self._size, self._times = size, times
        self.clear()

    def clear(self) -> None:
        self._flying: list[tuple[int, int, int, int, Any]] = []
        self._arrived: list[list[deque[Any]]] = [[deque() for _ in range(self._size)] for _ in range(CHANNELS)]
        self._number = 0
        self._under_way = [0] * self._size
        self._latest: dict[tuple[int, int, int], int] = {}  # arrival of the last packet, by its way

    def post(
        self, now: int, channel: int, source: int, to: int, nbytes: int, lasting: int, device: bool, packet: Any
    ) -> bool:
        way = (channel, source, to)
        arrival = max(now + lasting + self._times.last_packet(source, to, nbytes, device), self._latest.get(way, 0))
        self._latest[way] = arrival
        heapq.heappush(self._flying, (arrival, self._number, channel, to, packet))
        self._number += 1
        self._under_way[to] += 1
        return True

    def has_room(self, channel: int, source: int) -> bool:
        return True

    def advance(self, now: int) -> list[int]:
        changed = []
        while self._flying and self._flying[0][0] <= now:
            _, _, channel, to, packet = heapq.heappop(self._flying)
            self._arrived[channel][to].append(packet)
            changed.append(to)
        return changed

    def polls(self, node: int, only: bool) -> None:
        """Do nothing: messages come as a whole."""

    def waiting(self, channel: int, node: int) -> bool:
        return bool(self._arrived[channel][node])

    def first(self, channel: int, node: int) -> Any:
        return self._arrived[channel][node][0]

    def take(self, now: int, channel: int, node: int) -> None:
        self._under_way[node] -= 1
        self._arrived[channel][node].popleft()

    def next_event(self) -> int | None:
        return self._flying[0][0] if self._flying else None

    def left(self, node: int) -> bool:
        return self._under_way[node] > 0
