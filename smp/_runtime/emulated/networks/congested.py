"""A network that congests: each processor has one input, and a packet that finds it taken has to be sent again.

    from b   ══════ packet ══════▶┐
                                  ├─▶ input of a ─▶ buffer, for one packet ─▶ processor a, when it polls
    from c         ══════ packet ═X
                                  └ failed: c sends it again after a time-out

    transmission   takes latency + words * per_word, and its sender is busy meanwhile; it arrives if the input is free
                   when it begins; otherwise it takes as long, and fails
    input          free, unless a packet is arriving, or is in the buffer, or a failed transmission is still going on;
                   so failures cause more failures
    time-out       begins at the end of a failed transmission; until it has passed, its sender transmits nothing to
                   this input, which counts as no room.  After EQUAL failures in a row it doubles with each
                   further one, so senders that disturb each other move apart, and at last one finds the input free
    processor      takes packets out of its buffer when it polls, thus while it waits for a message or for a time-out;
                   while it computes or sends, the buffer stays full.  A sleeping processor takes a moment to wake, so a
                   second packet right after the first fails

So it does not pay to send to a processor that is busy.  If processors send as soon as they can, delays can make them
quicker.

LEFT and RIGHT are two such networks, each with an input at every processor.  A processor that waits for room takes
packets out of its buffers meanwhile, so inputs become free as queues do, and what ``program.messages.networks`` says
about deadlocks holds here too.

    try_post     transmit      one step: is the input free?
                 time passes   the transmission
                 post          one step, if it was free: the packet is in the buffer, and the receiver is woken

Source: Synthetic-perturbation tuning of MIMD programs, section 3.2.1, says of the iPSC-1: "Heavily used message-passing
provokes communication failures, which then require retransmissions."  The model is in the spirit of that, no more.
"""

from __future__ import annotations

import numpy as np

from ...loops.interpreter import Interpreter
from ...loops.interpreter import here as running
from ...program.messages.network import Packet, Transmissions
from ...program.messages.packets import LONGEST
from ...protocols import wait
from ...protocols.message_waits import NETWORKS
from .network import QueueNetwork
from .queues import Queues

EQUAL = 8
"""Failures in a row after which the time-outs are equal."""
DOUBLINGS = 16
"""Number of times that a time-out doubles at most: it is then longer than all transmissions that collide with it."""


class Inputs(Queues):
    """The inputs of all processors, which are queues for one packet from any sender.

    Parameters
    ----------
    size : int
        Number of processors.
    latency, per_word, timeout : int
        Times in ns; see `smp.networks.congested`.
    """

    longest = 1 + LONGEST // 8  # so that every message is one packet

    def __init__(self, size: int, latency: int, per_word: int, timeout: int) -> None:
        self._latency, self._per_word, self._timeout = latency, per_word, timeout
        super().__init__(size, room=1)

    def clear(self) -> None:
        super().clear()
        self._arriving = np.zeros((NETWORKS, self.size), bool)
        self._noise = np.zeros((NETWORKS, self.size), np.int64)  # when the last failed transmission ends
        self._again = np.zeros((NETWORKS, self.size, self.size), np.int64)  # by sender: when its time-out has passed
        self._failed = np.zeros((NETWORKS, self.size, self.size), np.int64)  # by sender: its failures in a row

    def transmit(self, network: int, sender: int, to: int, words: int) -> tuple[bool, int] | None:
        """Begin a transmission; return whether it will arrive, and when it ends; None if a time-out has not passed."""
        now = _emulator().time()
        if now < self._again[network, sender, to]:
            return None
        end = now + self._latency + words * self._per_word
        free = not (self._arriving[network, to] or self._noise[network, to] > now or self.has_packet(network, to))
        if free:
            self._arriving[network, to] = True
            self._failed[network, sender, to] = 0
        else:
            self._noise[network, to] = max(self._noise[network, to], end)
            self._again[network, sender, to] = end + self._time_out(int(self._failed[network, sender, to]))
            self._failed[network, sender, to] += 1
        return free, end

    def _time_out(self, failures: int) -> int:
        return self._timeout << min(max(0, failures - EQUAL + 1), DOUBLINGS)

    def append(self, network: int, to: int, packet: Packet) -> bool:
        self._arriving[network, to] = False
        return super().append(network, to, packet)

    def room_for(self, network: int, sender: int, to: int) -> int:
        return int(self._again[network, sender, to] <= _emulator().time())

    def room_at(self, networks: int, sender: int, to: int) -> int:
        """Return the time at which there is room on one of the networks."""
        return min(int(self._again[network, sender, to]) for network in range(NETWORKS) if networks >> network & 1)

    def take(self, networks: int, to: int, for_loop: bool = False) -> tuple[int, Packet, bool] | None:
        found = super().take(networks, to, for_loop)
        return None if found is None else (*found[:2], False)  # no sender is woken, since none knows that it has room


def transmit(inputs: Inputs, network: int, sender: int, to: int, words: int) -> tuple[bool, int] | None:
    """Begin a transmission: one step."""
    return inputs.transmit(network, sender, to, words)


class CongestedNetwork(QueueNetwork):
    """The inputs of all processors as one processor uses them; see `Network`."""

    _queues: Inputs
    transmissions = Transmissions(0, 0)

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        emulator, inputs = _emulator(), self._queues
        begun = emulator.step(transmit, (inputs, network, self._rank, to, len(data) >> 3))
        if begun is None:
            return False
        arrives, end = begun
        emulator.pass_time(end - emulator.time())
        attempts, failures = self.transmissions
        self.transmissions = Transmissions(attempts + 1, failures + (not arrives))
        return arrives and super().try_post(network, to, head, data)

    def _asleep(self, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        if not room[0]:
            return super()._asleep(networks, room, ticket, deadline)
        if wait.aborted(self._memory.sync):  # or a sender without a time-out would not see it
            return wait.ABORTED
        again = self._queues.room_at(room[0], self._rank, room[1])
        status = super()._asleep(networks, room, ticket, min(again, deadline) if deadline else again)
        return wait.OK if status == wait.EXPIRED and not 0 < deadline <= again else status


def _emulator() -> Interpreter:
    assert running.interpreter is not None
    return running.interpreter
