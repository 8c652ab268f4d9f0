"""The queues of a message machine: what is on the wires, and has come to a processor.

    try_post     send      a step within the sender's work: the packet is on the wires
    courier      arrive    a step at the time of the next arrival: it wakes the processors to which something has come
    poll         take      a step: the oldest that has come to this processor; then the processor receives it

A courier is a stream of its own, which ends after its step and lets the next one begin.  The run cannot end, and no
deadlock is found, while something is under way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...loops.interpreter import here as running
from ...program.messages.network import Packet
from ...protocols.loop_packets import OF_LOOPS
from ..networks.kinds import ROOM
from ..networks.queues import WHOLE, Queues
from .software import Software
from .wires import Wires

NEVER = 1 << 62


class Load(NamedTuple):
    """A message or a block as the wires and the receiver see it.

    Attributes
    ----------
    nbytes : int
    lasting : int
        Time in which the sender or its device puts the packets on the wires, in ps.
    device : bool
        Whether devices move it.
    receiving : int
        Time of the receiver for what arrives last, in ps.
    """

    nbytes: int
    lasting: int
    device: bool
    receiving: int


Sent = tuple[Packet, int]
"""A packet, and the processor time to receive it, in ps."""


class WireQueues(Queues):
    """The queues of all processors; see `Queues`.

    Attributes
    ----------
    software : Software
        The work at both ends.
    wires : Wires
        The way between them.
    notify : dict of callable
        For each processor with a network, the function that says that something may have come.
    """

    longest = WHOLE
    """A message is one packet, since messages can overtake each other; the wires cut it into packets of their own."""

    def __init__(self, size: int, software: Software, wires: Wires) -> None:
        self.software, self.wires = software, wires
        self.notify: dict[int, Callable[[], object]] = {}
        super().__init__(size, ROOM)

    def clear(self) -> None:
        super().clear()
        self.wires.clear()
        self._due = NEVER  # time of the courier that comes first
        self._changed: set[int] = set()
        self.notify.clear()

    def room_for(self, network: int, sender: int, to: int) -> int:
        self._advance()
        return ROOM if self.wires.has_room(network, sender) else 0

    def has_packet(self, network: int, to: int) -> bool:
        self._advance()
        return self.wires.waiting(network, to)

    def packets_left(self, to: int) -> bool:
        return self.wires.left(to)

    def send(self, network: int, to: int, packet: Packet, load: Load) -> bool:
        """Put a packet that stands for a message or block on the wires; return False if there is no room."""
        self._advance()
        return self.wires.post(
            _now(), network, packet[0], to, load.nbytes, load.lasting, load.device, (packet, load.receiving)
        )

    def take_sent(self, networks: int, to: int, for_loop: bool) -> tuple[int, Sent | None, int] | None:
        """Take what has come first to a processor, from the networks in turn.

        Return the network, what was taken, and the number of packets before it that are parts of what has not come as
        a whole.  If ``for_loop``, a packet that is not of loops is returned, but stays.
        """
        self._advance()
        turn = self._turns[to]
        for network in (turn, 1 - turn):
            if networks >> network & 1 and self.wires.waiting(network, to):
                self._turns[to] = 1 - network
                return network, *self._take_from(network, to, for_loop)
        return None

    def _take_from(self, network: int, to: int, for_loop: bool) -> tuple[Sent | None, int]:
        parts = 0
        while self.wires.waiting(network, to):
            found: Sent | None = self.wires.first(network, to)
            if found is None or not (for_loop and found[0][1] < OF_LOOPS):
                self.wires.take(_now(), network, to)
            if found is not None:
                return found, parts
            parts += 1
            self._advance()
        return None, parts

    def watch(self) -> None:
        """Have a courier come at the next arrival, or now if processors have not been notified yet."""
        due = _now() if self._changed else self.wires.next_event()
        if due is not None and due < self._due:
            self._due = due
            assert running.interpreter is not None
            running.interpreter.spawn(0, self._carry, at=due)

    def _carry(self) -> None:
        assert running.interpreter is not None
        for rank in running.interpreter.step(arrive, (self,)):
            if rank in self.notify:
                self.notify[rank]()
        if _now() >= self._due:
            self._due = NEVER
        self.watch()

    def arrive(self) -> list[int]:
        """Return the processors that something may have come to, or that may have room, since the last courier."""
        self._changed.update(self.wires.advance(_now()))
        changed, self._changed = sorted(self._changed), set()
        return changed

    def _advance(self) -> None:
        """Let all come that has arrived by now; a courier notifies the processors."""
        self._changed.update(self.wires.advance(_now()))
        if self._changed:
            self.watch()


def send(queues: WireQueues, network: int, to: int, packet: Packet, load: Load) -> bool:
    """Put a packet on the wires if there is room: one step."""
    return queues.send(network, to, packet, load)


def take(queues: WireQueues, networks: int, to: int, for_loop: bool) -> tuple[int, Sent | None, int] | None:
    """Take a packet: one step."""
    return queues.take_sent(networks, to, for_loop)


def arrive(queues: WireQueues) -> list[int]:
    """Let all come that has arrived by now, and return the processors to which it has come: one step."""
    return queues.arrive()


def catch_up() -> None:
    """Let all others come to the time of the running stream: one step."""


def _now() -> int:
    assert running.interpreter is not None
    return running.interpreter.picoseconds()
