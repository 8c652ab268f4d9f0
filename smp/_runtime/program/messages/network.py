"""The interface between messages and the networks of a machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ...memory.nets import LoopNetwork
from ...protocols.loop_packets import OF_LOOPS
from ...protocols.packet_heads import PARTIAL, PICKLED, TYPES
from ...protocols.python_messages import FULL as FULL
from ...protocols.python_messages import OTHER as OTHER
from ...protocols.python_messages import POSTED as POSTED
from .handlers import Handlers
from .packets import decoded

Packet = tuple[int, int, bytes | memoryview]
"""A packet that has come: the processor that sent it, its head, and its words, to be read before the next poll."""
Taken = tuple[int, int, int, Any]
"""A packet that was taken: number of the network, processor that sent it, head, and arguments or words.

A message of numbers has their tuple, and its head says nothing of their types.  Any other packet has words, as bytes.
"""


class Transmissions(NamedTuple):
    """Counts of a network on which the transmission of a packet may fail."""

    attempts: int
    """Number of transmissions."""
    failures: int
    """Number of those that failed, and were repeated or given up."""


class Network(Protocol):
    """The two networks of a machine, 0 (LEFT) and 1 (RIGHT), as one processor uses them.

    Each network is a bounded queue for every ordered pair of processors.  A processor uses it from one thread.

    Attributes
    ----------
    longest : int
        Largest number of words of a packet, at least 7.
    handlers : Handlers or None
        The handlers of this processor, once it has some.
    """

    longest: int
    handlers: Handlers | None

    @property
    def transmissions(self) -> Transmissions | None:
        """The transmissions of this processor so far; None if no transmission of this network fails."""

    @property
    def loops(self) -> LoopNetwork | None:
        """The networks as compiled loops use them; None if the processors share no memory."""

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        """Append a packet to the queue to a processor, if there is room; return True if it was appended.

        ``head`` has 37 bits.
        """

    @property
    def send_numbers(self) -> Callable[[int, int, int, tuple[Any, ...]], int]:
        """Return the function ``send_numbers(networks, to, head, args)``, which posts a message of a few numbers.

        It posts on one of the networks, if there is room, and returns POSTED or FULL.  It returns OTHER if this network
        has no quick way to do it, or not with these arguments.  They are not checked: the caller then looks closer, and
        posts by `try_post`.
        """

    @property
    def take(self) -> Callable[[int], Taken | None]:
        """Return the function ``take(networks)``, which takes a packet, and returns None if there is none.

        It takes from the queues of all senders in turn.  ``networks`` is 1 for LEFT, 2 for RIGHT, 3 for both, from
        which packets are taken in turn.
        """

    @property
    def take_soon(self) -> Callable[[int], Taken | None]:
        """Return the function ``take_soon(networks)``: `take`, after a look for some microseconds if that pays."""

    def sent_numbers(self) -> int:
        """Return the number of messages that `send_numbers` has posted."""

    def wait(self, doing: str, networks: int, deadline: int = 0, room: tuple[int, int] | None = None) -> bool:
        """Sleep until a packet may have come, or there may be room; return False if the deadline has come first.

        Parameters
        ----------
        doing : str
            What the processor waits for, for messages.
        networks : int
            Networks on which a packet ends the wait: 1 for LEFT, 2 for RIGHT, 3 for both.
        deadline : int
            In ns of the clock of `Port.deadline`; 0 for none.
        room : tuple of int, optional
            Networks, as above, and a processor: room in one of these queues ends the wait.

        Raises
        ------
        Aborted
            If another processor has failed.
        """


class Plain:
    """`Network.send_numbers` and `Network.take` of a network without machine code.

    Parameters
    ----------
    try_poll : callable
        Takes a packet from networks, as `Network.take` does, and returns the number of its network, and the packet.
    """

    def __init__(self, try_poll: Callable[[int], tuple[int, Packet] | None]) -> None:
        self._try_poll = try_poll

    def send_numbers(self, networks: int, to: int, head: int, args: tuple[Any, ...]) -> int:
        return OTHER

    def take(self, networks: int) -> Taken | None:
        found = self._try_poll(networks)
        if found is None:
            return None
        network, (source, head, words) = found
        if head >= OF_LOOPS or head & (PICKLED | PARTIAL):
            return network, source, head, bytes(words)
        return network, source, head & ~TYPES, decoded(head, words)
