"""The interface between messages and the networks of a machine."""

from __future__ import annotations

from typing import Protocol

from ...memory.nets import LoopNetwork

Packet = tuple[int, int, bytes | memoryview]
"""A packet that has come: the processor that sent it, its head, and its words, to be read before the next poll."""


class Network(Protocol):
    """The two networks of a machine, 0 (LEFT) and 1 (RIGHT), as one processor uses them.

    Each network is a bounded queue for every ordered pair of processors.  A processor uses it from one thread.

    Attributes
    ----------
    longest : int
        Largest number of words of a packet, at least 7.
    """

    longest: int

    @property
    def loops(self) -> LoopNetwork | None:
        """The networks as compiled loops use them; None if the processors share no memory."""

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        """Append a packet to the queue to a processor, if there is room; return True if it was appended.

        ``head`` has 37 bits.
        """

    def try_poll(self, networks: int) -> tuple[int, Packet] | None:
        """Take a packet of a handler from a queue to this processor, from those of all senders in turn; None if none.

        ``networks`` is 1 for LEFT, 2 for RIGHT, 3 for both, from which packets are taken in turn.  Return the number of
        the network, 0 or 1, and the packet.  Packets of loops are taken out of the queues and kept for the loops.
        """

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
