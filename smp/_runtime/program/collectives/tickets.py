"""Tickets: a processor begins a collective, does other work, and waits for the result later.

    ticket = proc.split.any(x)      arrives, and does not wait                    the round is open
    ...                             computation that does not need the answer
    ticket.done()                   asks whether all have arrived, without waiting
    ticket.wait()                   waits until all have arrived                  the round is left

Rounds are left in the order in which they were begun, so a wait first leaves all earlier ones, and notes their results.
A collective that is not split also leaves all open rounds before its own.  It makes no difference to the other
processors which of them split a collective.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from smp.errors import PhaseError

from ...protocols.barriers import OPEN
from ...source.titles import place
from ..port import Port


class _Round:
    """A round that this processor has begun: its number, the collective, where it was begun, and its votes."""

    def __init__(self, number: int, description: str, file: str, line: int) -> None:
        self.number, self.description, self._file, self._line = number, description, file, line
        self.votes: int | None = None
        self.ticket: Callable[[], Ticket | None] = lambda: None

    def __str__(self) -> str:
        return f"{self.description!r}, begun at {place(self._file, self._line)}"


class Ticket:
    """A collective that this processor has begun with ``proc.split``; wait for it before dropping the ticket."""

    def __init__(self, tickets: Tickets, begun: _Round, result: Callable[[int], Any]) -> None:
        self._tickets, self._round, self._result = tickets, begun, result

    def done(self) -> bool:
        """Return True if all processors have begun this collective, so that `wait` will not wait.

        Raises
        ------
        Aborted
            If another processor has failed.
        """
        return self._round.votes is not None or self._tickets.passed(self._round)

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until all processors have begun this collective; return its result, on each call the same one.

        Parameters
        ----------
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If the other processors have not begun it in time.  The ticket remains, and can be waited for again.
        CollectiveMismatch
            Ends the run, if another processor has begun another collective.
        """
        if self._round.votes is None:
            self._tickets.leave(self._round, timeout)
        return self._result(self._round.votes or 0)

    def __repr__(self) -> str:
        return f"<ticket for {self._round}, {'open' if self._round.votes is None else 'waited for'}>"


class Tickets:
    """The open rounds of one processor, the earliest first."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.open: list[_Round] = []

    def begin(self, description: str, vote: bool, result: Callable[[int], Any]) -> Ticket:
        """Begin a collective.

        Parameters
        ----------
        description : str
            What all processors must agree on.
        vote : bool
            Vote of this processor.
        result : callable
            Returns the result of the collective, given the number of votes.
        """
        self.check()
        if len(self.open) == OPEN:
            raise PhaseError(
                f"{OPEN} collectives are open, and no more can be: {'; '.join(map(str, self.open))}. Wait for the "
                f"ticket of the first before {description!r}"
            )
        caller = sys._getframe(2)
        begun = _Round(self._port.arrive(description, vote), description, caller.f_code.co_filename, caller.f_lineno)
        self.open.append(begun)
        ticket = Ticket(self, begun, result)
        begun.ticket = weakref.ref(ticket)
        return ticket

    def check(self) -> None:
        """Raise an error if the ticket of an open round was dropped: no call can wait for that round any more."""
        for begun in self.open:
            if begun.ticket() is None:
                self._port.passed(begun.number)  # raises Aborted if a failure has kept the program from waiting
                raise PhaseError(
                    f"the ticket for {begun} was dropped before its wait(): keep it, and wait for it before the next "
                    "collective"
                )

    def passed(self, begun: _Round) -> bool:
        """Return True if all processors have begun an open round."""
        return self._port.passed(begun.number)

    def leave(self, last: _Round, timeout: float | None) -> None:
        """Leave all open rounds up to one of them, and note their votes."""
        while self.open and self.open[0].number <= last.number:
            first = self.open[0]
            first.votes = self._port.leave(first.number, first.description, timeout)
            del self.open[0]

    def settle(self, timeout: float | None = None) -> None:
        """Leave all open rounds, before a collective that is not split."""
        if self.open:
            self.check()
            self.leave(self.open[-1], timeout)


class Split:
    """Collectives that are begun without waiting.  Each takes what the method of `Processor` of its name takes."""

    def __init__(self, tickets: Tickets, size: int) -> None:
        self._begin, self._size = tickets.begin, size

    def barrier(self) -> Ticket:
        """Begin a barrier; the result is None."""
        return self._begin("barrier", False, lambda votes: None)

    def any(self, x: bool) -> Ticket:
        """Begin a vote; the result is True if ``x`` is true on at least one processor."""
        return self._begin("any", truth("split.any", x), lambda votes: votes > 0)

    def all(self, x: bool) -> Ticket:
        """Begin a vote; the result is True if ``x`` is true on all processors."""
        return self._begin("all", truth("split.all", x), lambda votes: votes == self._size)

    def count(self, x: bool) -> Ticket:
        """Begin a vote; the result is the number of processors on which ``x`` is true."""
        return self._begin("count", truth("split.count", x), lambda votes: votes)


def truth(what: str, x: Any) -> bool:
    """Return the truth value of an argument, or raise an error for an array that has none."""
    try:
        return bool(x)
    except ValueError:
        raise ValueError(
            f"proc.{what} takes one truth value, not an array of shape {np.shape(x)}: reduce it first, for example "
            f"proc.{what}(x.any())"
        ) from None
