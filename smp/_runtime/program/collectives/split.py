"""Collectives that a processor begins now and waits for later."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..port import Buffer
from .combine import Combining
from .operators import Operator
from .segments import Boundary
from .tickets import Ticket, Tickets, truth
from .transport import Transport


def _no_result(votes: int, blocks: list[Buffer]) -> None:
    """Return the result of a barrier."""


class Split:
    """Collectives that are begun without waiting.  Each takes what the method of `Processor` of its name takes.

    Other processors may call the same collective without splitting it.  There is one exception: a reduction or scan
    of long arrays by a ufunc, which all processors must split, or none.
    """

    def __init__(self, tickets: Tickets, size: int, combining: Combining, transport: Transport) -> None:
        self._begin, self._size = tickets.begin, size
        self._combining, self._transport = combining, transport

    def barrier(self) -> Ticket:
        """Begin a barrier; the result is None."""
        return self._begin("barrier", _no_result)

    def any(self, x: bool) -> Ticket:
        """Begin a vote; the result is True if ``x`` is true on at least one processor."""
        return self._begin("any", lambda votes, _: votes > 0, truth("split.any", x))

    def all(self, x: bool) -> Ticket:
        """Begin a vote; the result is True if ``x`` is true on all processors."""
        return self._begin("all", lambda votes, _: votes == self._size, truth("split.all", x))

    def count(self, x: bool) -> Ticket:
        """Begin a vote; the result is the number of processors on which ``x`` is true."""
        return self._begin("count", lambda votes, _: votes, truth("split.count", x))

    def broadcast(self, value: Any, root: int = 0, *, out: NDArray[Any] | None = None) -> Ticket:
        """Begin a broadcast; the result is the value of processor ``root``."""
        ticket: Ticket = self._transport.broadcast(True, value, root, out)
        return ticket

    def reduce(
        self,
        value: Any,
        op: Operator = np.add,
        *,
        segments: Boundary | None = None,
        out: NDArray[Any] | None = None,
    ) -> Ticket:
        """Begin a reduction; the value may be changed at once, and ``out`` is filled by the wait."""
        ticket: Ticket = self._combining.reduce(True, value, op, segments, out)
        return ticket

    def scan(
        self,
        value: Any,
        op: Operator = np.add,
        *,
        exclusive: bool = False,
        reverse: bool = False,
        segments: Any = None,
        identity: Any = None,
        along: bool = False,
        out: NDArray[Any] | None = None,
    ) -> Ticket:
        """Begin a scan; the value may be changed at once, and ``out`` is filled by the wait."""
        ticket: Ticket = self._combining.scan(True, value, op, exclusive, reverse, segments, identity, along, out)
        return ticket
