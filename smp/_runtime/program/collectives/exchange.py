"""A port's exchange, in which every processor gets the blocks of all, with a record of the traffic.

Every processor gets the blocks of all processors and combines them in the order of the ranks.  The same floats
therefore come out, bit for bit, on every processor and in every repeat.  The operator, dtype, shape and root, on which
the processors must agree, are part of the barrier's signature.  If they do not agree, all processors find out at that
barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..port import Buffer, Port
from ..steps import Recorder
from .tickets import Ticket, Tickets

WORD = 8
"""Bytes that count as one element of a value that is sent as a pickle."""
KEPT = 1000  # texts that are kept


class Exchange:
    """A port's ``exchange`` that records its traffic: the processor writes its own block and reads those of all."""

    def __init__(self, port: Port, recorder: Recorder, tickets: Tickets) -> None:
        self.port, self.rank, self.size = port, port.rank, port.size
        self.recorder, self._tickets = recorder, tickets
        self._agreed: dict[tuple[str, np.dtype[Any], tuple[int, ...]], str] = {}

    def __call__(self, name: str, parts: Sequence[Buffer], agreed: str = "", itemsize: int = WORD) -> list[Buffer]:
        """Return the blocks of all, by rank, given this processor's; they must be read before the next collective.

        ``agreed`` is the text on which all must agree, if that is more than the name.
        """
        began = self.begin()
        blocks = self.port.exchange(agreed or name, *parts)
        self._record(name, itemsize, blocks, began)
        return blocks

    def split(
        self,
        name: str,
        parts: Sequence[Buffer],
        result: Callable[[list[Buffer]], Any],
        agreed: str = "",
        itemsize: int = WORD,
    ) -> Ticket:
        """Begin an exchange; the result of the ticket is made from the blocks of all."""

        def finish(votes: int, blocks: list[Buffer]) -> Any:
            self._record(name, itemsize, blocks, self.port.clock())
            return result(blocks)

        return self._tickets.begin(agreed or name, finish, block=parts)

    def _record(self, name: str, itemsize: int, blocks: list[Buffer], began: float) -> None:
        lengths = [len(block) for block in blocks]
        self.record(name, itemsize, sum(lengths), lengths[self.rank], began)

    def begin(self) -> float:
        """Return the time at which a collective begins that is not split, after those that are open have ended."""
        self._tickets.settle()
        return self.port.clock()

    def record(
        self, name: str, itemsize: int, read: int, written: int, began: float, nbytes: int | None = None
    ) -> None:
        """Record a collective that has ended: the bytes that this processor has read and written.

        ``nbytes`` is the length of its value, if that is known.
        """
        if self.port.priced is not None:
            self.port.priced(name, read, written, began, nbytes)
        self.recorder.exchanged(name, itemsize, read, written, self.port.clock() - began)

    def agreed(self, name: str, mine: NDArray[Any]) -> str:
        """Return the text for a collective on arrays of one dtype and shape; making it takes longer than a barrier."""
        key = (name, mine.dtype, mine.shape)
        text = self._agreed.get(key)
        if text is None:
            if len(self._agreed) == KEPT:
                self._agreed.clear()
            text = self._agreed[key] = f"{name} of {mine.dtype}{list(mine.shape)}"
        return text
