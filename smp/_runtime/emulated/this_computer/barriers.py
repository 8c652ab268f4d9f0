"""Barriers of a machine that is made from a profile, which take the measured time.

the last arrival                     ┐ the later one, and then the price
the memory has moved all bytes       ┘ of a barrier                        ─▶  all go on
"""

from __future__ import annotations

from .memory import SharedMemory

ROUNDS = 8
"""Barriers whose latest arrivals are kept; at most three are open."""


class Barriers:
    """The barriers of one machine.

    Parameters
    ----------
    memory : SharedMemory
    price : int
        Time from the last arrival until all go on, in ps.
    more : int
        Time that one of the three barriers of a superstep takes in addition.
    """

    def __init__(self, memory: SharedMemory, price: int, more: int) -> None:
        self._memory, self._price, self._more = memory, price, more
        self.begin()

    def begin(self) -> None:
        """Begin a new run."""
        self._arrivals: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def arrive(self, ticket: int, now: int) -> None:
        """Note the arrival of a processor at the barrier of a ticket."""
        self._arrivals[ticket] = max(now, self._arrivals.get(ticket, 0))
        self._arrivals.pop(ticket - ROUNDS, None)
        self._ends.pop(ticket - ROUNDS, None)

    def over(self, ticket: int, of_a_superstep: bool) -> int:
        """Return when a barrier is over in which all have arrived; the first that leaves it ends the phase."""
        if ticket not in self._ends:
            price = self._price + (self._more if of_a_superstep else 0)
            self._ends[ticket] = self._memory.end(self._arrivals[ticket], price)
        return self._ends[ticket]
