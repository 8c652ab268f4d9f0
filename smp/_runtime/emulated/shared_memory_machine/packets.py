"""Messages in shared memory: a packet lies on lines that its sender writes and its receiver fetches.

    sender      a miss for each line              the receiver has read it before
    receiver    a line from another cache         the sender has written it

The lines of packets have no addresses here, so their transfers do not queue with others on the bus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...loops.interpreter import here as running
from ...program.messages.network import Packet
from ..networks.kinds import ROOM
from ..networks.network import QueueNetwork
from ..networks.queues import Queues

HEAD = 16
"""Bytes of a packet that are not its data: its state, and what it is."""


class LineQueues(Queues):
    """Queues of packets that lie on lines; see `Queues`.

    Parameters
    ----------
    size, line : int
        Number of processors, and bytes of a line.
    miss, fetch : int
        Time of a line from memory and of one from another cache, in ps.
    """

    def __init__(self, size: int, line: int, miss: int, fetch: int) -> None:
        self._line, self.miss, self.fetch = line, miss, fetch
        super().__init__(size, ROOM)

    def lines(self, packet: Packet) -> int:
        """Return the number of lines of a packet."""
        return -(-(HEAD + len(packet[2])) // self._line)


class LineNetwork(QueueNetwork):
    """These queues as one processor uses them; see `Network`."""

    _queues: LineQueues

    def _posted(self, network: int, to: int, packet: Packet) -> None:
        _pass(self._queues.lines(packet) * self._queues.miss)
        super()._posted(network, to, packet)

    def taken(self, how: Callable[..., Any], networks: int) -> tuple[int, Packet] | None:
        found = super().taken(how, networks)
        if found is not None:
            _pass(self._queues.lines(found[1]) * self._queues.fetch)
        return found


class LineKind:
    """The network of a machine with caches; see `networks.kinds.Kind`."""

    timed = True

    def __init__(self, line: int, miss: int, fetch: int) -> None:
        self._times = line, miss, fetch

    def queues(self, size: int) -> LineQueues:
        return LineQueues(size, *self._times)

    def of_a_processor(self) -> type[QueueNetwork]:
        return LineNetwork


def _pass(picoseconds: int) -> None:
    assert running.interpreter is not None
    running.interpreter.pass_picoseconds(picoseconds)
