"""Transfers: blocks that a processor sends part by part, several at a time.

    start_block           send a first part; put the rest into the queue, at a random place
    serve_blocks          for each transfer in the queue, in turn: send two parts
                          ─ poll ─
                          again, until all are sent
    complete              send the rest of one transfer

If several processors send to the same one, packets queue there and hold up their senders.  A processor that sends parts
of several blocks in turn, and in another order than other processors, spreads its packets over the receivers.  The
order is drawn from the seed of the run and the rank.  A transfer that finds no room is passed over.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 7.4, for interleaving in a random order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .deliveries import Block, Delivery
from .messenger import Messenger
from .networks import BOTH, EMPTY, RIGHT
from .ports import BlockPort

PARTS = 2
"""Parts of each transfer that are sent in a round."""


class Transfer:
    """A block that is sent part by part, as `Processor.start_block` returns it.

    Attributes
    ----------
    to : int
        Processor that gets the block.
    port : port
        Port at which it lands there.
    at : int
        Place of its first element in the port.
    data : ndarray
        The block.  It must not be changed before the transfer is done, which smp does not check.
    remaining : int
        Number of elements that are not sent yet, rounded up.
    done : bool
        Whether all is sent.
    """

    __slots__ = ("_block", "_then", "_transfers", "at", "data")

    def __init__(
        self, transfers: Transfers, block: Block, data: NDArray[Any], at: int, then: Callable[[Transfer], object] | None
    ) -> None:
        self.data, self.at = data, at
        self._transfers, self._block, self._then = transfers, block, then

    @property
    def to(self) -> int:
        return self._block.to

    @property
    def port(self) -> BlockPort:
        return self._block.port

    @property
    def remaining(self) -> int:
        return -(-(len(self._block.octets) - self._block.sent) // self.data.itemsize)

    @property
    def done(self) -> bool:
        return self._block.done

    def complete(self) -> None:
        """Send the rest of this transfer; poll and wait while there is no room.

        Raises
        ------
        HandlerError
            If it is called in a handler, or on another stream than the program's.
        """
        self._transfers.complete(self)

    def __repr__(self) -> str:
        state = "sent" if self.done else f"{self.remaining:,} of {self.data.size:,} elements remain"
        return f"<block to {self.port!r} of processor {self.to}: {state}>"


class Transfers:
    """The queue of one processor's transfers.

    Parameters
    ----------
    ready : callable
        ``ready(call)`` returns the messenger, or raises an error if the program may not make that call now.
    delivery : Delivery
        The way in which blocks get to ports.
    draw : numpy.random.Generator
        Draws the places in the queue.
    """

    def __init__(self, ready: Callable[[str], Messenger], delivery: Delivery, draw: np.random.Generator) -> None:
        self._ready, self._delivery, self._draw = ready, delivery, draw
        self._queue: list[Transfer] = []
        self._calling = False  # whether the ``then`` of a transfer runs

    def __len__(self) -> int:
        return len(self._queue)

    def start(self, transfer: Transfer) -> None:
        """Queue a transfer, and send its first part if there is room."""
        self._queue.insert(int(self._draw.integers(len(self._queue), endpoint=True)), transfer)
        if not self._calling:  # otherwise a chain of transfers, each started by another one's ``then``, would recurse
            self._try_part(transfer)

    def serve(self, rounds: int | None, deadline: int = 0) -> bool:
        """Send two parts of each transfer in turn, for a number of rounds, or until all are sent.

        Return False if the deadline, as for `Network.wait`, has come first.
        """
        messenger, left = self._ready("proc.serve_blocks"), rounds
        while self._queue and left != 0:
            moved = [self._try_parts(transfer) for transfer in tuple(self._queue)]
            if left is not None:
                left -= 1
            if left is not None or any(moved):
                messenger.serve()
            elif not messenger.make_room(self._queue[0].to, RIGHT, BOTH, EMPTY, deadline):
                return False
        return True

    def complete(self, transfer: Transfer) -> None:
        """Send the rest of a transfer; see `Transfer.complete`."""
        messenger = self._ready("transfer.complete")
        while not transfer.done:
            if not self._try_part(transfer):
                messenger.make_room(transfer.to, RIGHT, BOTH, EMPTY)

    def _try_parts(self, transfer: Transfer) -> bool:
        """Send the parts of a round; return True if there was room for one."""
        moved = 0
        while moved < PARTS and not transfer.done and self._try_part(transfer):
            moved += 1
        return moved > 0

    def _try_part(self, transfer: Transfer) -> bool:
        """Send a part if there is room; after the last one, call ``then``; return True if there was room."""
        if not self._delivery.try_part(transfer._block):
            return False
        if transfer.done:
            self._queue.remove(transfer)
            if transfer._then is not None:
                outer, self._calling = self._calling, True
                try:
                    transfer._then(transfer)
                finally:
                    self._calling = outer
        return True
