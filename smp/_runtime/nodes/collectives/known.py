"""Knowledge that a node gathers, in a collective, of what the nodes from its own on have brought.

    N = 6 nodes    count      votes of nodes                rest: votes of the first N mod count
    at first       1          n
    step 1         2          n, n + 1
    step 2         4          n, n + 1, n + 2, n + 3        n, n + 1
    step 3         all of N   n, ..., n + 3                 and the rest of node n + 4, which are n + 4, n + 5

A step doubles the count.  If N is no power of two, the last step adds a rest, since a sum of 8 would count two nodes
twice.
"""

from __future__ import annotations

from collections.abc import Sequence

DIFFER = -1
"""Signature of processors that are in different collectives."""
Votes = tuple[int, int]
"""A signature and votes, which some nodes have brought together."""
Blocks = dict[int, Sequence[bytes]]
"""The bytes that the processors of some nodes have brought, by node, without those nodes that have brought none."""


class Known:
    """A node's knowledge after some steps.

    Attributes
    ----------
    count : int
        Number of nodes of which it knows.
    votes : Votes
        Of these nodes.
    rest : Votes or None
        Of the first N mod `count`, where N is the number of all nodes; None if that is zero.
    blocks : Blocks
    """

    __slots__ = ("blocks", "count", "rest", "votes")

    def __init__(self, votes: Votes, blocks: Blocks) -> None:
        self.count, self.votes, self.blocks = 1, votes, blocks
        self.rest: Votes | None = None

    def add(self, nodes: int, votes: Votes, rest: Votes | None, blocks: Blocks) -> None:
        """Add what as many nodes that follow have brought."""
        if nodes & self.count:
            self.rest = together(self.votes, rest)
        self.votes = together(self.votes, votes)
        self.count *= 2
        self.blocks.update(blocks)

    def of_all(self, nodes: int) -> Votes | None:
        """Return the votes of all nodes, or None if there are more than it knows of."""
        if self.count < nodes:
            return None
        return self.votes if self.count == nodes else self.rest


def together(votes: Votes, more: Votes | None) -> Votes:
    """Add votes to others, those of None being nothing."""
    if more is None:
        return votes
    return votes[0] if votes[0] == more[0] else DIFFER, votes[1] + more[1]
