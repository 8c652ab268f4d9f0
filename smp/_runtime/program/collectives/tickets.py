"""Tickets: a processor begins a collective, does other work, and waits for the result later.

    ticket = proc.split.any(x)      arrives, and does not wait                    the round is open
    ...                             computation that does not need the answer
    ticket.done()                   asks whether all have arrived, without waiting
    ticket.wait()                   waits until all have arrived                  the round is left

Rounds are left in the order in which they were begun, so a wait first leaves all earlier ones, and keeps their results.
A collective that is not split also leaves all open rounds before its own.  It makes no difference to the other
processors which of them split a collective.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smp.errors import PhaseError

from ...protocols.barriers import OPEN
from ...source.lines import Instruction, line_of, users_instruction
from ...source.titles import place
from ..port import Buffer, Port

Finish = Callable[[int, list[Buffer]], Any]


class _Round:
    """A round that this processor has begun: its number, the collective, where it was begun, and its result."""

    ended = False
    result: Any = None
    error: Exception | None = None  # of the operator, for example
    ticket: Callable[[], Ticket | None]

    def __init__(self, number: int, description: str, begun: Instruction, finish: Finish, brings: bool) -> None:
        self.number, self.description, self._begun = number, description, begun
        self.finish, self.brings = finish, brings

    def end(self, votes: int, blocks: list[Buffer]) -> None:
        """Make the result: what the others have brought may be overwritten later."""
        try:
            self.result = self.finish(votes, blocks)
        except Exception as error:
            self.error = error
        self.ended = True

    def __str__(self) -> str:
        return f"{self.description!r}, begun at {place(*line_of(self._begun))}"


class Ticket:
    """A collective that this processor has begun with ``proc.split``; wait for it before dropping the ticket."""

    __slots__ = ("__weakref__", "_round", "_tickets")

    def __init__(self, tickets: Tickets, begun: _Round) -> None:
        self._tickets, self._round = tickets, begun

    def done(self) -> bool:
        """Return True if all processors have begun this collective, so that `wait` will not wait.

        Raises
        ------
        Aborted
            If another processor has failed.
        """
        return self._round.ended or self._tickets.passed(self._round)

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
        begun = self._round
        if not begun.ended:
            self._tickets.leave(begun, timeout)
        if begun.error is not None:
            raise begun.error
        return begun.result

    def __repr__(self) -> str:
        return f"<ticket for {self._round}, {'waited for' if self._round.ended else 'open'}>"


class Tickets:
    """The open rounds of one processor, the earliest first."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.open: list[_Round] = []

    def begin(
        self, description: str, finish: Finish, vote: bool = False, block: Sequence[Buffer] | None = None
    ) -> Ticket:
        """Begin a collective.

        Parameters
        ----------
        description : str
            What all processors must agree on.
        finish : callable
            ``finish(votes, blocks)`` returns the result, from the number of votes and what all have brought.
        vote : bool
            Vote of this processor.
        block : sequence of buffers, optional
            What this processor brings, in parts, if every processor brings something.
        """
        if self.open:
            self.check_room(description)
        number = self._port.arrive(description, vote, block)
        begun = _Round(number, description, users_instruction(sys._getframe(2)), finish, block is not None)
        self.open.append(begun)
        ticket = Ticket(self, begun)
        begun.ticket = weakref.ref(ticket)
        return ticket

    def check_room(self, description: str) -> None:
        """Raise an error if a collective cannot be begun now."""
        self.check()
        if len(self.open) == OPEN:
            raise PhaseError(
                f"{OPEN} collectives are open, and no more can be: {'; '.join(map(str, self.open))}. Wait for the "
                f"ticket of the first before {description!r}"
            )

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
        """Leave all open rounds up to one of them, and make their results."""
        port, rounds = self._port, self.open
        while rounds and (first := rounds[0]).number <= last.number:
            votes = port.leave(first.number, first.description, timeout)
            first.end(votes, port.blocks(first.number) if first.brings else [])
            del rounds[0]

    def unmatched(self) -> str | None:
        """Return the earliest open collective in which not all processors are, after a mismatch has ended the run."""
        return next((begun.description for begun in self.open if not self._port.agreed(begun.number)), None)

    def settle(self, timeout: float | None = None) -> None:
        """Leave all open rounds, before a collective that is not split."""
        if self.open:
            self.check()
            self.leave(self.open[-1], timeout)


def truth(what: str, x: Any) -> bool:
    """Return the truth value of an argument, or raise an error for an array that has none."""
    try:
        return bool(x)
    except ValueError:
        raise ValueError(
            f"proc.{what} takes one truth value, not an array of shape {np.shape(x)}: reduce it first, for example "
            f"proc.{what}(x.any())"
        ) from None
