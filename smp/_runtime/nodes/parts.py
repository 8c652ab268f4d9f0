"""The parts of global arrays in the memory of one node, and the accesses of one of its processors to all parts.

    own node     straight, as on the host
    read         ask a processor of the other node, with a tag ─▶ it gives the elements, into the reader's own memory
    write        announce it to a processor of the other node, with a tag, and give it the elements
                 ─▶ it puts them in place, and says so

Few elements travel within these messages.  All nodes are asked before the first answer is awaited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..memory.indices import Selected
from ..memory.segment import Block, Segment
from ..program.steps import Far
from .layout import Nodes, Piece, pieces
from .mail import MOST_TAG, Octets
from .messages import Name
from .progress import Progress

Dtype = np.dtype[Any]
WITHIN = 4096
"""Bytes of the elements that travel within a message."""


class Part(NamedTuple):
    """The elements of an array in the memory of a node, and the block that they are in."""

    elements: NDArray[Any]
    block: Block


def octets(elements: NDArray[Any]) -> Octets:
    """Return the bytes of a contiguous array, as a view."""
    return elements.reshape(-1).view(np.uint8)


class Parts:
    """The parts of all arrays in the memory of this processor's node, and its accesses to the others.

    Parameters
    ----------
    segment : Segment
        The memory of the node.  Its first processor has made it, and allocates the blocks.

    Attributes
    ----------
    far : Far
        Counts of this processor's accesses to the parts of other nodes.
    """

    def __init__(self, progress: Progress, rank: int, nodes: Nodes, segment: Segment) -> None:
        self._progress, self._rank, self._nodes, self._segment = progress, rank, nodes, segment
        self.node = nodes.of[rank]
        self._parts: dict[Name, Part] = {}
        self._accesses, self._open = 0, set[int]()  # tags of accesses that are not done
        self.far = Far()
        self._coming: dict[int, tuple[NDArray[Any], Callable[[], object]]] = {}  # few elements, by tag
        progress.on("elements", self._came, of_a_run=False)
        progress.on("read", self._give, of_a_run=False)
        progress.on("write", self._take, of_a_run=False)
        progress.on("written", self._written, of_a_run=False)

    def range(self, length: int, at: int | None = None) -> slice:
        """Return the elements, of an array of a length, in the memory of this node; see `Nodes.bounds`."""
        bounds = self._nodes.bounds(length, at)
        return slice(int(bounds[self.node]), int(bounds[self.node + 1]))

    def make(self, name: Name, length: int, dtype: Dtype, at: int | None = None) -> int:
        """Allocate the node's part, of zeros, of an array; return its offset.  Only the first processor does this."""
        mine = self.range(length, at)
        block = self._segment.allocate((mine.stop - mine.start) * dtype.itemsize)
        self._know(name, block, dtype)
        return block.offset

    def place(self, name: Name, length: int, dtype: Dtype, at: int | None, offset: int) -> None:
        """Note where the first processor has allocated the node's part of an array."""
        mine = self.range(length, at)
        self._know(name, self._segment.block(offset, (mine.stop - mine.start) * dtype.itemsize), dtype)

    def _know(self, name: Name, block: Block, dtype: Dtype) -> None:
        elements = np.asarray(block).view(dtype) if block.nbytes else np.empty(0, dtype)
        with self._progress.lock:
            self._parts[name] = Part(elements, block)

    def keep(self, names: Collection[Name], runs: Collection[int]) -> None:
        """Drop all arrays but those with these names, and those that were made in these runs."""
        with self._progress.lock:
            self._parts = {name: part for name, part in self._parts.items() if name in names or name.run in runs}

    def block(self, name: Name) -> Block:
        """Return the block with the elements of an array in the memory of this node."""
        return self._parts[name].block

    def own(self, name: Name) -> NDArray[Any]:
        """Return the elements of an array in the memory of this node."""
        return self._parts[name].elements

    def read(self, name: Name, shape: tuple[int, ...], found: Selected, into: NDArray[Any]) -> None:
        """Read the selected elements of an array into a contiguous one; wait until they are there."""
        flat = into.reshape(-1)
        for piece in pieces(found, self._nodes.bounds(math.prod(shape))):
            if piece.node == self.node:
                flat[piece.chosen] = self.own(name)[piece.index]
            else:
                self._ask(name, piece, flat)
        self.fence()

    def _ask(self, name: Name, piece: Piece, flat: NDArray[Any]) -> None:
        self.far.reads += piece.count
        to, tag = self._begin(piece, reads=True)
        come = flat[piece.chosen] if piece.positions is None else np.empty(piece.count, flat.dtype)

        def then() -> None:
            if piece.positions is not None:
                flat[piece.chosen] = come
            self._open.discard(tag)

        if come.nbytes <= WITHIN:
            self._coming[tag] = come, then
        else:
            self._progress.receive(to, tag, octets(come), then)
        self._progress.send(to, "read", tag, *_plain(name, piece))

    def _came(self, source: int, tag: int, data: bytes) -> None:
        """Take few elements, which have come with the answer itself."""
        come, then = self._coming.pop(tag)
        come[...] = np.frombuffer(data, come.dtype)
        then()

    def write(
        self, name: Name, shape: tuple[int, ...], found: Selected, values: NDArray[Any], field: Any = None
    ) -> None:
        """Write contiguous values to the selected elements, or to a field of them, at the latest in `fence`."""
        flat = values.reshape(-1)
        for piece in pieces(found, self._nodes.bounds(math.prod(shape))):
            if piece.node == self.node:
                piece.put(self.own(name), flat[piece.chosen], field)
            else:
                self._announce(name, piece, flat[piece.chosen], field)

    def _announce(self, name: Name, piece: Piece, given: NDArray[Any], field: Any) -> None:
        self.far.writes += piece.count
        to, tag = self._begin(piece, reads=False)
        within = given.nbytes <= WITHIN
        self._progress.send(to, "write", tag, given.tobytes() if within else None, field, *_plain(name, piece))
        if not within:
            self._progress.give(to, tag, octets(given), lambda: given)

    def _begin(self, piece: Piece, reads: bool) -> tuple[int, int]:
        """Begin an access; return the processor that serves it, and its tag.

        Tags of reads are even and those of writes odd, because both have bytes sent between the same processors.
        """
        self._accesses += 1
        self.far.messages += 1
        tag = 2 * (self._accesses % (MOST_TAG // 2)) + (not reads)
        with self._progress.lock:
            self._open.add(tag)
        return self._nodes.server(piece.node, self._rank), tag

    def fence(self) -> None:
        """Wait until all that was written is in place."""
        if self._open:
            self._progress.until(lambda: not self._open)

    def settle(self) -> None:
        """Wait, after a run that may have failed, until all its accesses are done; its arrays may then be dropped."""
        self._progress.settle(lambda: not self._open)

    def _give(self, source: int, tag: int, *what: Any) -> None:
        name, piece = self._found(*what)
        given = self.own(name)[piece.index]
        if given.nbytes <= WITHIN:
            self._progress.send(source, "elements", tag, given.tobytes())
        else:
            self._progress.give(source, tag, octets(given), lambda: given)

    def _take(self, source: int, tag: int, data: bytes | None, field: Any, *what: Any) -> None:
        name, piece = self._found(*what)
        part = self.own(name)
        dtype = (part if field is None else part[field]).dtype
        if data is not None:
            piece.put(part, np.frombuffer(data, dtype), field)
            self._progress.send(source, "written", tag)
            return
        straight = piece.positions is None and field is None
        come = part[piece.index] if straight else np.empty(piece.count, dtype)

        def then() -> None:
            if not straight:
                piece.put(part, come, field)
            self._progress.send(source, "written", tag)

        self._progress.receive(source, tag, octets(come), then)

    def _found(self, name: Any, start: int, count: int, positions: bytes | None) -> tuple[Name, Piece]:
        """Return what `_plain` has made plain."""
        found = None if positions is None else np.frombuffer(positions, np.intp)
        return Name(*name), Piece(self.node, slice(0), start, count, found)

    def _written(self, source: int, tag: int) -> None:
        self._open.discard(tag)


def _plain(name: Name, piece: Piece) -> tuple[Any, ...]:
    """Return the elements of an array that a message names, as Python's own types."""
    return tuple(name), piece.start, piece.count, None if piece.positions is None else piece.positions.tobytes()
