"""Networks on which a packet that was posted is in flight, until a step of its own lets it come.

    sender        post      the packet is in flight, and has a stream of its own
    that stream   deliver   one packet comes; the stream wakes the receiver, and ends
    receiver      poll      takes a packet that has come

The schedule chooses when the stream makes its step, so a packet can be in flight for any number of steps of other
streams.  A later packet to another processor can come earlier, and so can its consequences.  If order is kept, the
stream of a packet delivers the oldest one in flight from its sender to its receiver on its network.  If not, it
delivers its own packet.  The emulator cannot end a run, or find a deadlock, while such a stream is left.

A schedule that never chooses the stream would let `Processor.quiet` begin one round after the other.  So a packet comes
at the latest in the poll that is the LATEST-th in vain since it was posted.  Its stream then finds nothing to do.

A receiver puts the packets of a long message together in the order in which they come.  So if order is not kept, one
packet holds a whole message.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...loops.interpreter import here as running
from ...program.messages.network import Packet
from ...protocols.message_waits import NETWORKS
from .network import QueueNetwork
from .queues import WHOLE, BySender, Queues

LATEST = 8
"""Number of polls in vain of which the last one finds a packet at the latest."""


class DelayedQueues(Queues):
    """Queues with packets in flight; see `Queues`.

    Parameters
    ----------
    size, room : int
        Number of processors, and number of packets that are in flight or have come, for each queue.
    ordered : bool
        Whether the packets of a queue come in the order in which they were posted.
    """

    def __init__(self, size: int, room: int, ordered: bool) -> None:
        self._ordered = ordered
        if not ordered:
            self.longest = WHOLE
        super().__init__(size, room)

    def clear(self) -> None:
        super().clear()
        self._flying: list[list[BySender[tuple[Packet, int]]]] = self._of_all()
        self._vain = np.zeros((NETWORKS, self.size), np.int64)  # polls that would have found nothing

    def append(self, network: int, to: int, packet: Packet) -> bool:
        sender = packet[0]
        if not self.has_room(network, sender, to):
            return False
        self._flying[network][to].add(sender, (packet, self._vain[network, to] + LATEST))
        return True

    def room_for(self, network: int, sender: int, to: int) -> int:
        return super().room_for(network, sender, to) - self._flying[network][to].count(sender)

    def take(self, networks: int, to: int, for_loop: bool = False) -> tuple[int, Packet, bool] | None:
        found = super().take(networks, to, for_loop)
        if found is not None:
            return found
        for network in range(NETWORKS):
            if networks >> network & 1:
                self._vain[network, to] += 1
                self._deliver_due(network, to)
        return super().take(networks, to, for_loop)

    def deliver(self, network: int, to: int, packet: Packet) -> bool:
        """Let a packet come, or the oldest one if order is kept; return False if it has come already."""
        sender = packet[0]
        flying = self._flying[network][to]
        for place, (other, _) in enumerate(flying.get(sender, ())):
            if self._ordered or other is packet:
                self._queues[network][to].add(sender, flying.take(sender, place)[0])
                return True
        return False

    def _deliver_due(self, network: int, to: int) -> None:
        """Let the packets come that have been in flight for the largest number of polls."""
        flying = self._flying[network][to]
        for sender in sorted(flying):
            while sender in flying and flying[sender][0][1] <= self._vain[network, to]:
                self._queues[network][to].add(sender, flying.take(sender)[0])

    def packets_left(self, to: int) -> bool:
        """Let all packets to a processor come, and return True if there are some."""
        for network in range(NETWORKS):
            self._vain[network, to] += LATEST
            self._deliver_due(network, to)
        return super().packets_left(to)


def deliver(queues: DelayedQueues, network: int, to: int, packet: Packet) -> bool:
    """Let a packet come that is in flight, or an earlier one; return False if it has come already: one step."""
    return queues.deliver(network, to, packet)


class DelayedNetwork(QueueNetwork):
    """Queues with packets in flight as one processor uses them; see `Network`."""

    def _posted(self, network: int, to: int, packet: Packet) -> None:
        assert running.interpreter is not None
        running.interpreter.spawn(self._rank, partial(self._deliver, network, to, packet))

    def _deliver(self, network: int, to: int, packet: Packet) -> None:
        """Let a packet come, in a stream of its own."""
        assert running.interpreter is not None
        if running.interpreter.step(deliver, (self._queues, network, to, packet)):
            self._wake(to)
