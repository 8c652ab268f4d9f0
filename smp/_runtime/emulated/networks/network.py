"""The networks of an emulated machine, as one processor and its loops use them."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Any

from smp.errors import Unsupported

from ...loops.atomics import load
from ...loops.interpreter import here as running
from ...program.messages.network import Packet, Plain
from ...protocols import barriers, message_waits, wait
from ...protocols.inboxes import EVENTS, notify
from ...protocols.loop_packets import OF_HANDLERS, OF_LOOPS, Polled
from ...shared_memory.memory import ProcessorMemory
from ...shared_memory.networks import SleepingNetwork
from .queues import Queues, look, poll, poll_for_loop, post, room_for

_WORDS = struct.Struct("=4q")  # of a packet of loops


class QueueNetwork(SleepingNetwork):
    """The queues of one processor; see `Network`."""

    def __init__(
        self,
        memory: ProcessorMemory,
        rank: int,
        queues: Queues,
        here: Callable[[], object],
        aborted: Callable[[], object],
    ) -> None:
        super().__init__(here, aborted)
        self.longest = queues.longest
        self._memory, self._rank, self._queues = memory, rank, queues
        self.loops: QueueLoops = QueueLoops(self, rank, queues)
        plain = Plain(lambda networks: self.taken(poll, networks))
        self.send_numbers, self.take, self.take_soon = plain.send_numbers, plain.take, plain.take
        memory.shared[wait.MESSAGING] = 1

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        packet = (self._rank, head, data)
        if not _step(post, self._queues, network, to, packet):
            return False
        self._posted(network, to, packet)
        return True

    def _posted(self, network: int, to: int, packet: Packet) -> None:
        """Wake the receiver of a packet, which has come."""
        self._wake(to)

    def _wake(self, rank: int) -> None:
        """Wake a processor if it sleeps in its inbox."""
        notify(message_waits.inbox_of(self._memory.sync, rank))

    def taken(self, how: Callable[..., Any], networks: int) -> tuple[int, Packet] | None:
        """Poll in one step, and wake the sender of the packet if it may wait for room."""
        found = _step(how, self._queues, networks, self._rank)
        if found is None:
            return None
        network, packet, was_full = found
        if was_full:
            self._wake(packet[0])
        return network, packet

    def _asleep(self, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        sync = self._memory.sync
        inbox = message_waits.inbox_of(sync, self._rank)
        message_waits.begin_sleep(sync, inbox, ticket)
        status = wait.CHANGING
        while status == wait.CHANGING:
            seen = load(inbox, EVENTS)
            ended = ticket >= 0 and barriers.passed(sync, ticket)
            if ended or self._come(networks, room):
                status = wait.OK
            else:
                status = message_waits.sleep(sync, inbox, seen, deadline)
        message_waits.end_sleep(sync, inbox, ticket)
        return status

    def _come(self, networks: int, room: tuple[int, int]) -> bool:
        """Return True if a packet has come on one of the networks, or there is room."""
        return bool(_step(look, self._queues, self._rank, networks, *room))


class QueueLoops:
    """The queues of one processor as its loops use them; see `LoopNetwork`."""

    def __init__(self, network: QueueNetwork, rank: int, queues: Queues) -> None:
        self._network, self._rank, self._queues = network, rank, queues
        self._kept: tuple[deque[Packet], deque[Packet]] = deque(), deque()
        self._sent = self._taken = 0

    def post(self, network: int, to: int, kind: int, a: int, b: int, c: int, d: int) -> bool:
        posted = self._network.try_post(network, to, kind | OF_LOOPS, _WORDS.pack(a, b, c, d))
        self._sent += posted
        return posted

    def poll(self, network: int) -> Polled:
        kept = self._kept[network]
        found = (network, kept.popleft()) if kept else self._network.taken(poll_for_loop, 1 << network)
        if found is None:
            return False, 0, -1, 0, 0, 0, 0
        source, head, data = found[1]
        if head < OF_LOOPS:
            return True, OF_HANDLERS, source, 0, 0, 0, 0
        self._taken += 1
        return True, head - OF_LOOPS, source, *_WORDS.unpack(data)

    def room(self, network: int, to: int) -> int:
        return int(_step(room_for, self._queues, network, self._rank, to))

    def wait(self, networks: int, room: int, to: int) -> None:
        if not any(networks >> network & 1 and kept for network, kept in enumerate(self._kept)):
            self._network.wait("a packet, in a loop", networks, room=(room, to))

    def native(self) -> int:
        raise Unsupported(
            "a loop that sends packets on an emulated machine must be made by smp.stream, which is interpreted there, "
            "not by smp.local"
        )

    def totals(self) -> tuple[int, int]:
        return self._sent, self._taken

    def kept(self) -> tuple[int, int, int] | None:
        packets = [packet for kept in self._kept for packet in kept]
        return (len(packets), packets[0][0], packets[0][1] - OF_LOOPS) if packets else None

    def keep(self, network: int, packet: tuple[int, int, bytes]) -> None:
        source, kind, words = packet
        self._kept[network].append((source, kind | OF_LOOPS, words))


def _step(meaning: Any, *args: Any) -> Any:
    """Carry out an operation on queues as one step."""
    assert running.interpreter is not None
    return running.interpreter.step(meaning, args)
