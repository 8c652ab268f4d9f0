"""Both networks of a machine that has one channel: a packet is taken only if nothing has come before it.

    LEFT   a   c       ┐
                       ├──▶  one channel, one queue at the receiver:  c  b  a ──▶
    RIGHT    b         ┘

A poll of one network finds nothing while a packet of the other one is the first in the queue.
"""

from __future__ import annotations

from typing import Any

from .wires import Wires


class OneChannel:
    """Wires that carry both networks on channel 0 of others; see `Wires`.

    Parameters
    ----------
    wires : Wires
        The wires that the packets take.
    """

    def __init__(self, wires: Wires) -> None:
        self._wires, self.whole = wires, wires.whole
        self.polls = wires.polls
        self.clear, self.advance, self.next_event, self.left = wires.clear, wires.advance, wires.next_event, wires.left

    def post(
        self, now: int, channel: int, source: int, to: int, nbytes: int, lasting: int, device: bool, packet: Any
    ) -> bool:
        return self._wires.post(now, 0, source, to, nbytes, lasting, device, (channel, packet))

    def has_room(self, channel: int, source: int) -> bool:
        return self._wires.has_room(0, source)

    def waiting(self, channel: int, node: int) -> bool:
        if not self._wires.waiting(0, node):
            return False
        found = self._wires.first(0, node)
        return found is None or bool(found[0] == channel)

    def first(self, channel: int, node: int) -> Any:
        found = self._wires.first(0, node)
        return None if found is None else found[1]

    def take(self, now: int, channel: int, node: int) -> None:
        self._wires.take(now, 0, node)
