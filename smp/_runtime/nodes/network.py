"""The two networks of a processor of a machine of several nodes, with a bounded queue from every other processor.

    sender       a credit for each packet that finds room at the receiver: CREDITS in all; none left: no room
    receiver     queues packets until the program takes them; gives back credits, HALF at a time

A queue never holds more than CREDITS packets, and the receiver takes packets off the mail at any time.  So no packet
stands in the way of another one, or of a message of the runtime.
"""

from __future__ import annotations

from collections import deque

from ..program.messages.handlers import Handlers
from ..program.messages.network import Packet, Plain, Transmissions
from .progress import Progress

NETWORKS, CREDITS = 2, 32
HALF = CREDITS // 2
LONGEST = 512
"""Words of the longest packet: it is sent at once, whatever its length."""


class CreditedNetwork:
    """The networks of one processor in a run; see `Network`."""

    longest = LONGEST
    handlers: Handlers | None = None
    loops = None
    transmissions: Transmissions | None = None

    def __init__(self, progress: Progress, size: int) -> None:
        self._progress, self._size = progress, size
        self.begin_run()
        plain = Plain(self.try_poll)
        self.send_numbers, self.take, self.take_soon = plain.send_numbers, plain.take, plain.take
        progress.on("packet", self._came)
        progress.on("credit", self._credited)

    def begin_run(self) -> None:
        """Forget the previous run; call it before messages of the new one are carried out."""
        self._queues: list[deque[Packet]] = [deque() for _ in range(NETWORKS)]
        self._room = [[CREDITS] * self._size for _ in range(NETWORKS)]
        self._taken = [[0] * self._size for _ in range(NETWORKS)]  # packets whose credits were not given back yet
        self._turn = 0  # the network at which the next poll looks first
        self.doing, self.used = "", False

    def _came(self, source: int, network: int, head: int, data: bytes) -> None:
        self.used = True
        self._queues[network].append((source, head, data))

    def _credited(self, source: int, network: int, credits: int) -> None:
        self._room[network][source] += credits

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        room = self._room[network]
        if not room[to]:
            self._progress.look()
            if not room[to]:
                return False
        with self._progress.lock:
            room[to] -= 1
            self._progress.send(to, "packet", network, head, bytes(data))
        return True

    def try_poll(self, networks: int) -> tuple[int, Packet] | None:
        if not self.waiting(networks):
            self._progress.look()
        with self._progress.lock:
            for network in (self._turn, 1 - self._turn):
                if networks >> network & 1 and self._queues[network]:
                    self._turn = 1 - network
                    packet = self._queues[network].popleft()
                    self._give_back(network, packet[0])
                    return network, packet
        return None

    def _give_back(self, network: int, source: int) -> None:
        taken = self._taken[network]
        taken[source] += 1
        if taken[source] == HALF:
            self._progress.send(source, "credit", network, taken[source])
            taken[source] = 0

    def waiting(self, networks: int) -> bool:
        """Return True if a packet has come on one of the networks."""
        return any(networks >> network & 1 and self._queues[network] for network in range(NETWORKS))

    def sent_numbers(self) -> int:
        return 0

    def wait(self, doing: str, networks: int, deadline: int = 0, room: tuple[int, int] | None = None) -> bool:
        def ready() -> bool:
            if room is not None:
                wanted, to = room
                if any(wanted >> network & 1 and self._room[network][to] for network in range(NETWORKS)):
                    return True
            return self.waiting(networks)

        self.doing = doing
        try:
            return self._progress.until(ready, deadline)
        finally:
            self.doing = ""
