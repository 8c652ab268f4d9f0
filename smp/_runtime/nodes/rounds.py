"""Collectives, in which each processor gets the bytes of all others in log2(P) steps.

    step      processor r sends to r - d what it has, and gets from r + d what that one has           d = 1, 2, 4, ...
    after it  it has what r, r + 1, ..., r + 2 d - 1 have brought (modulo P); the last step sends only what is missing

A round is one collective; its number is the ticket.  Rounds of a program follow one another, and three of them may be
open at once.  A step that comes early is kept.  Source: Bruck et al., "Efficient algorithms for all-to-all
communications in multiport message-passing systems" (1997), the concatenation algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence

from .progress import Progress

Brought = tuple[int, bool, bytes]
"""A processor's part of a collective: the signature of its description, a vote, and bytes."""


class Rounds:
    """The collectives of one processor in a run."""

    def __init__(self, progress: Progress, rank: int, size: int) -> None:
        self._progress, self._rank, self._size = progress, rank, size
        self.begin_run()
        progress.on("round", self._came)

    def begin_run(self) -> None:
        """Forget the previous run; call it before messages of the new one are carried out."""
        self.last = 0
        self._open: dict[int, list[Brought]] = {}  # what has come so far, from this processor on, by round
        self._early: dict[tuple[int, int], Sequence[Brought]] = {}  # by round, and number of entries before the step

    def arrive(self, brought: Brought) -> int:
        """Begin the next round; return its number."""
        with self._progress.lock:
            self.last += 1
            self._open[self.last] = [brought]
            self._send(self.last)
            self._advance(self.last)
            return self.last

    def passed(self, number: int) -> bool:
        """Return True if all have begun a round that this processor has begun."""
        return len(self._open[number]) == self._size

    def taken(self, number: int) -> list[Brought]:
        """Return what all have brought to a round that has passed, by rank, and end it."""
        found = self._open.pop(number)
        return found[self._size - self._rank :] + found[: self._size - self._rank]

    def _send(self, number: int) -> None:
        """Send this step's entries."""
        entries = self._open[number]
        have = len(entries)
        if have < self._size:
            to = (self._rank - have) % self._size
            self._progress.send(to, "round", number, have, entries[: self._size - have])

    def _came(self, source: int, number: int, have: int, entries: Sequence[Brought]) -> None:
        self._early[number, have] = entries
        if number in self._open:
            self._advance(number)

    def _advance(self, number: int) -> None:
        entries = self._open[number]
        while (more := self._early.pop((number, len(entries)), None)) is not None:
            entries.extend(more)
            self._send(number)
