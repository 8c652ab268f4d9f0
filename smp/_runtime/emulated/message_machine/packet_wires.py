"""The wires between the nodes, with contention: packets wait for each other in links and queues of limited room.

    posted ── packets of the message ──▶ output queue ── links, switches ──▶ input queue ──▶ taken, one by one
              │ wait here while the output queue is full: no further message finds room

A message or a block is as many packets as its bytes take.  They enter the network as fast as it takes them, and may
come in another order.  The one that is taken last stands for the whole.  A processor takes the others in its polls,
too, and receives each of them.  While it only waits, they are taken here, one after the time to receive the other, as
its polls would take them.  A device that moves blocks takes them as they come.

The networks themselves are machine code: see ``interconnect``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from smp.machines import MachineFile

from ..interconnect.building import State
from ..interconnect.events import SHORT
from ..interconnect.layout import NEVER, NONE
from ..interconnect.machine_code import core
from ..interconnect.prices import prices_of
from .software import Software

ARRIVALS, ROOM = 1, 2  # what a node is watched for
SEED = 1


@dataclass(slots=True)
class _Sent:
    """A message or block under way.

    Attributes
    ----------
    packet : object
        What it stands for.
    device : bool
        Whether a device takes it.
    left : int
        Packets of it that were not taken yet.
    """

    packet: Any
    device: bool
    left: int


class PacketWires:
    """Wires with contention; see `Wires`.

    Parameters
    ----------
    file : MachineFile
    size : int
        Number of nodes.
    software : Software
    """

    whole = False

    def __init__(self, file: MachineFile, size: int, software: Software) -> None:
        self._prices, self._size, self._software, self._core = prices_of(file), size, software, core()
        self._channels = self._prices.interface.channels
        self.clear()

    def clear(self) -> None:
        self._state = State(self._prices, self._size, SEED, contention=True)
        self._at = self._state.address
        self._now = 0
        self._sent: dict[int, _Sent] = {}  # by number
        self._number = 0
        self._outside = [[deque[tuple[int, int, int]]() for _ in range(self._size)] for _ in range(self._channels)]
        self._under_way = [0] * self._size
        self._polling = [False] * self._size
        for node in range(self._size):
            self._core.smp_watch(self._at, 0, node, ARRIVALS)

    def post(
        self, now: int, channel: int, source: int, to: int, nbytes: int, lasting: int, device: bool, packet: Any
    ) -> bool:
        if not self.has_room(channel, source):
            return False
        number, payload = self._number, self._software.payload
        self._number += 1
        self._sent[number] = _Sent(packet, device, self._software.packets(nbytes))
        self._under_way[to] += 1
        left, outside = max(nbytes, 1), self._outside[channel][source]
        while left > 0:
            part = min(left, payload)
            left -= part
            outside.append((to, part, number))
        self._enter(channel, source, now)
        return True

    def has_room(self, channel: int, source: int) -> bool:
        return not self._outside[channel][source]

    def advance(self, now: int) -> list[int]:
        changed: list[int] = []
        self._now = max(now, self._now)
        while True:
            time = self._core.smp_advance(self._at, self._now)
            node = self._core.smp_woken(self._at)
            if node == NONE:
                return changed
            if node == SHORT:
                self._state.grow()
                continue
            for channel in range(self._channels):
                self._take_by_device(channel, node, time)
                self._enter(channel, node, time)
            if self._polling[node] and self._receive_part(node, time):
                self._watch(node, time + self._software.receive, False)
            else:
                changed.append(node)
                self._watch(node, time, self._some_wait(node, time))

    def polls(self, node: int, only: bool) -> None:
        self._polling[node] = only

    def waiting(self, channel: int, node: int) -> bool:
        return self._core.smp_waiting(self._at, self._now, node, channel) > 0

    def first(self, channel: int, node: int) -> Any:
        """Return what the first packet stands for: nothing, if it is not the last one of its message."""
        sent = self._sent[self._core.smp_first(self._at, node, channel)]
        return sent.packet if sent.left == 1 else None

    def take(self, now: int, channel: int, node: int) -> None:
        self._take(now, channel, node)
        for one in range(self._channels):  # the room that this packet leaves may go back to the node's own output
            self._enter(one, node, now)
        self._watch(node, now, self._some_wait(node, now))

    def next_event(self) -> int | None:
        due = self._core.smp_next_event(self._at)
        return None if due == NEVER else due

    def left(self, node: int) -> bool:
        return self._under_way[node] > 0

    def _enter(self, channel: int, node: int, now: int) -> None:
        """Let packets enter the network that wait outside."""
        outside = self._outside[channel][node]
        while outside:
            to, nbytes, tag = outside[0]
            status = self._core.smp_inject(self._at, now, node, channel, to, nbytes, tag)
            if status == 0:
                break
            if status > 0:
                outside.popleft()
            else:
                self._state.grow()
        if outside:
            self._watch(node, now, self._some_wait(node, now))

    def _take_by_device(self, channel: int, node: int, now: int) -> None:
        """Let a device take the packets of blocks that have come, but for the last ones."""
        while self._core.smp_waiting(self._at, now, node, channel) > 0:
            sent = self._sent[self._core.smp_first(self._at, node, channel)]
            if sent.left == 1 or not sent.device:
                break
            self._take(now, channel, node)

    def _receive_part(self, node: int, now: int) -> bool:
        """Take a packet that is not the last one of its message; return False if there is none."""
        for channel in range(self._channels):
            if self._core.smp_waiting(self._at, now, node, channel) > 0:
                if self.first(channel, node) is not None:
                    return False
                self._take(now, channel, node)
                self._enter(channel, node, now)
                return True
        return False

    def _take(self, now: int, channel: int, node: int) -> None:
        number = self._core.smp_take(self._at, now, node, channel)
        sent = self._sent[number]
        sent.left -= 1
        if sent.left == 0:
            del self._sent[number]
            self._under_way[node] -= 1

    def _some_wait(self, node: int, now: int) -> bool:
        return any(self._core.smp_waiting(self._at, now, node, channel) > 0 for channel in range(self._channels))

    def _watch(self, node: int, now: int, come: bool) -> None:
        """Watch a node: for arrivals, unless something has come already, and for room if packets wait outside."""
        room = any(self._outside[channel][node] for channel in range(self._channels))
        self._core.smp_watch(self._at, now, node, (0 if come else ARRIVALS) | (ROOM if room else 0))
