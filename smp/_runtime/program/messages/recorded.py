"""The networks of a processor in a run whose events are recorded."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ...memory.recording import Rings
from ...memory.threads import Threads
from ...protocols.event_rings import GETS, SENDS
from ...protocols.loop_packets import OF_LOOPS
from ...protocols.message_waits import NETWORKS
from .handlers import Handlers
from .network import OTHER, Network, Taken


class RecordedNetwork:
    """A `Network` that notes each packet which the program posts or takes; those of compiled loops are not noted.

    Packets of one sender on one network come in order.  So the k-th that the sender notes there is the k-th that the
    receiver notes, and both give it the number k.
    """

    def __init__(self, network: Network, threads: Threads, rings: Rings) -> None:
        self._network, self._threads, self._rings = network, threads, rings
        self._counts: defaultdict[tuple[int, int, int], int] = defaultdict(int)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    @property
    def handlers(self) -> Handlers | None:
        return self._network.handlers

    @handlers.setter
    def handlers(self, handlers: Handlers | None) -> None:
        self._network.handlers = handlers

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        before = self._rings.now()  # or the receiver could note the packet as taken before it was sent
        posted = self._network.try_post(network, to, head, data)
        if posted:
            self._note(SENDS, network, to, before)
        return posted

    def send_numbers(self, networks: int, to: int, head: int, args: tuple[Any, ...]) -> int:
        """Leave all messages to `try_post`."""
        return OTHER

    def take(self, networks: int) -> Taken | None:
        return self._taken(self._network.take(networks))

    def take_soon(self, networks: int) -> Taken | None:
        return self._taken(self._network.take_soon(networks))

    def _taken(self, found: Taken | None) -> Taken | None:
        if found is not None:
            network, source, head, _ = found
            if head < OF_LOOPS:
                self._note(GETS, network, source)
        return found

    def _note(self, kind: int, network: int, other: int, time: int | None = None) -> None:
        packet = self._counts[kind, network, other]
        self._counts[kind, network, other] += 1
        self._rings.note(self._threads.own().words, kind, network + NETWORKS * packet, other, time)
