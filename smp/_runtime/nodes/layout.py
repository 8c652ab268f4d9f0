"""The nodes of a machine, and the parts of arrays that they hold.

    processors    0   1  │  2   3   4  │  5   6
    elements      ───────┼─────────────┼───────

Neighbours share a node.  A node holds the shares of its processors, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..memory.indices import Positions, Selected
from ..program.processor import share

KEPT = 1000
"""Lengths of arrays whose bounds are kept."""


@dataclass(frozen=True)
class Piece:
    """The part of a selection that one node holds.

    Attributes
    ----------
    node : int
    chosen : slice or array of intp
        Places in the selection.
    start, count : int
        The elements in the node's part, if they follow one another.
    positions : array of intp or None
        Their positions there, if they do not.
    """

    node: int
    chosen: slice | Positions
    start: int
    count: int
    positions: Positions | None

    @property
    def index(self) -> slice | Positions:
        """The index of the elements in the node's part."""
        return slice(self.start, self.start + self.count) if self.positions is None else self.positions

    def put(self, part: NDArray[Any], values: NDArray[Any], field: Any = None) -> None:
        """Set the elements in the node's part, or a field of them."""
        (part if field is None else part[field])[self.index] = values


class Nodes:
    """The nodes of a machine.

    Parameters
    ----------
    nodes : sequence of int
        Node of each processor, from 0, ascending.

    Attributes
    ----------
    of : list of int
        Node of each processor.
    first, count : list of int
        First processor and number of processors of each node.
    """

    def __init__(self, nodes: Sequence[int]) -> None:
        self.of = list(nodes)
        self.first = [self.of.index(node) for node in range(self.of[-1] + 1)]
        self.count = [self.of.count(node) for node in range(self.of[-1] + 1)]

        self._bounds: dict[tuple[int, int | None], NDArray[np.intp]] = {}

    def bounds(self, length: int, at: int | None = None) -> NDArray[np.intp]:
        """Return the first element of each node's part of an array of a length, and then the length.

        ``at`` is the node that has all elements, if there is one.
        """
        found = self._bounds.get((length, at))
        if found is None:
            if len(self._bounds) >= KEPT:
                self._bounds.clear()
            starts = [share(length, rank, len(self.of)).start for rank in self.first]
            if at is not None:
                starts = [0] * (at + 1) + [length] * (len(self.first) - at - 1)
            found = self._bounds[length, at] = np.array([*starts, length], np.intp)
        return found

    def server(self, node: int, rank: int) -> int:
        """Return the processor of a node that serves the accesses of a processor of another node."""
        place = rank - self.first[self.of[rank]]
        return self.first[node] + place % self.count[node]


def pieces(found: Selected, bounds: NDArray[np.intp]) -> Iterator[Piece]:
    """Yield the parts of a selection, by node, without those that are empty."""
    if found.positions is None:
        first, end = found.start, found.start + found.size
        node, start = int(bounds.searchsorted(first, "right")) - 1, first
        while start < end:
            begin, stop = int(bounds[node]), min(int(bounds[node + 1]), end)
            if start < stop:
                yield Piece(node, slice(start - first, stop - first), start - begin, stop - start, None)
            node, start = node + 1, stop
        return
    holders = np.searchsorted(bounds, found.positions, side="right") - 1
    for node in np.unique(holders).tolist():
        chosen = np.flatnonzero(holders == node)
        yield Piece(node, chosen, 0, len(chosen), found.positions[chosen] - bounds[node])
