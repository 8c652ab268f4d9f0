"""The parts of global arrays that one processor holds, and the accesses of all processors to them.

A processor holds ``share(size, rank, p)`` of the elements of an array.

    read       ask the owner, with a tag ─▶ it gives the elements, straight into the reader's memory
    write      announce to the owner, with a tag, and give it the elements ─▶ it puts them in place, and says so

All owners are asked before the first answer is awaited.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..program.processor import share
from .indices import Positions, Selected
from .mail import MOST_TAG, Octets
from .progress import Progress

Dtype = np.dtype[Any]


class Name(NamedTuple):
    """Name of an array: the run that has made it, 0 for the parent, and its number there."""

    run: int
    number: int


class Cut(NamedTuple):
    """The part of a selection that one processor owns.

    Attributes
    ----------
    owner : int
    chosen : slice or array of intp
        Places in the selection.
    start, count : int
        The elements in the owner's part, if they follow one another.
    positions : array of intp or None
        Their positions there, if they do not.
    """

    owner: int
    chosen: slice | Positions
    start: int
    count: int
    positions: Positions | None

    def of(self, part: NDArray[Any]) -> NDArray[Any]:
        """Return the elements in the owner's part: a view if they follow one another."""
        return part[self.start : self.start + self.count] if self.positions is None else part[self.positions]


def cut(found: Selected, length: int, size: int) -> Iterator[Cut]:
    """Yield the parts of a selection from an array of ``length`` elements, by owner, without those that are empty."""
    if found.positions is None:
        for owner in range(size):
            part = share(length, owner, size)
            start, stop = max(part.start, found.start), min(part.stop, found.start + found.size)
            if start < stop:
                chosen = slice(start - found.start, stop - found.start)
                yield Cut(owner, chosen, start - part.start, stop - start, None)
        return
    starts = np.array([share(length, owner, size).start for owner in range(size)])
    owners = np.searchsorted(starts, found.positions, side="right") - 1
    for owner in np.unique(owners).tolist():
        chosen = np.flatnonzero(owners == owner)
        yield Cut(owner, chosen, 0, len(chosen), found.positions[chosen] - starts[owner])


def octets(elements: NDArray[Any]) -> Octets:
    """Return the bytes of a contiguous array, as a view."""
    return elements.reshape(-1).view(np.uint8)


class Parts:
    """The parts of all arrays that this processor holds, and its accesses to those of others.

    Attributes
    ----------
    far_reads, far_writes : int
        Elements of other processors that this one has read and written.
    """

    def __init__(self, progress: Progress, rank: int, size: int) -> None:
        self._progress, self._rank, self._size = progress, rank, size
        self._parts: dict[Hashable, NDArray[Any]] = {}
        self._accesses, self._open = 0, set[int]()  # tags of accesses that are not done
        self.far_reads = self.far_writes = 0
        progress.on("read", self._give, of_a_run=False)
        progress.on("write", self._take, of_a_run=False)
        progress.on("written", self._written, of_a_run=False)

    def make(self, name: Name, length: int, dtype: Dtype) -> None:
        """Make this processor's part, of zeros, of an array of ``length`` elements."""
        mine = share(length, self._rank, self._size)
        part = np.zeros(mine.stop - mine.start, dtype)
        with self._progress.lock:
            self._parts[name] = part

    def keep(self, names: Collection[Name], runs: Collection[int]) -> None:
        """Drop all arrays but those with these names, and those that were made in these runs."""
        with self._progress.lock:
            self._parts = {name: part for name, part in self._parts.items() if name in names or name.run in runs}

    def own(self, name: Name) -> NDArray[Any]:
        """Return this processor's part of an array."""
        return self._parts[name]

    def read(self, name: Name, length: int, found: Selected, into: NDArray[Any]) -> None:
        """Read the selected elements into a contiguous array; wait until they are there."""
        flat = into.reshape(-1)
        for piece in cut(found, length, self._size):
            if piece.owner == self._rank:
                flat[piece.chosen] = piece.of(self._parts[name])
            else:
                self._ask(name, piece, flat)
        self._await()

    def _ask(self, name: Name, piece: Cut, flat: NDArray[Any]) -> None:
        self.far_reads += piece.count
        tag = self._begin(reads=True)
        come = flat[piece.chosen] if piece.positions is None else np.empty(piece.count, flat.dtype)

        def then() -> None:
            if piece.positions is not None:
                flat[piece.chosen] = come
            self._open.discard(tag)

        self._progress.receive(piece.owner, tag, octets(come), then)
        self._progress.send(piece.owner, "read", tag, name, piece.start, piece.count, piece.positions)

    def write(self, name: Name, length: int, found: Selected, values: NDArray[Any], field: Any = None) -> None:
        """Write contiguous values to the selected elements, or to a field of them, at the latest in `fence`."""
        flat = values.reshape(-1)
        for piece in cut(found, length, self._size):
            if piece.owner == self._rank:
                put(self._parts[name], piece, flat[piece.chosen], field)
            else:
                self._announce(name, piece, flat[piece.chosen], field)

    def _announce(self, name: Name, piece: Cut, given: NDArray[Any], field: Any) -> None:
        self.far_writes += piece.count
        tag = self._begin(reads=False)
        what = (tag, name, piece.start, piece.count, piece.positions, field, given.dtype)
        self._progress.send(piece.owner, "write", *what)
        self._progress.give(piece.owner, tag, octets(given), lambda: given)

    def fence(self) -> None:
        """Wait until all that was written is in place."""
        self._await()

    def _begin(self, reads: bool) -> int:
        """Begin an access and return its tag.  Tags of reads are even and those of writes odd: both give bytes."""
        self._accesses += 1
        tag = 2 * (self._accesses % (MOST_TAG // 2)) + (not reads)
        with self._progress.lock:
            self._open.add(tag)
        return tag

    def _await(self) -> None:
        if self._open:
            self._progress.until(lambda: not self._open)

    def _give(self, source: int, tag: int, name: Name, start: int, count: int, positions: Positions | None) -> None:
        given = Cut(self._rank, slice(0), start, count, positions).of(self._parts[name])
        self._progress.give(source, tag, octets(given), lambda: given)

    def _take(
        self, source: int, tag: int, name: Name, start: int, count: int, positions: Positions | None, field: Any, of: Dtype
    ) -> None:
        part, piece = self._parts[name], Cut(self._rank, slice(0), start, count, positions)
        straight = positions is None and field is None
        come = piece.of(part) if straight else np.empty(count, of)

        def then() -> None:
            if not straight:
                put(part, piece, come, field)
            self._progress.send(source, "written", tag)

        self._progress.receive(source, tag, octets(come), then)

    def _written(self, source: int, tag: int) -> None:
        self._open.discard(tag)

    def settle(self) -> None:
        """Wait, after a run that has failed, until none of its transfers goes on."""
        self._progress.settle()
        self._open.clear()


def put(part: NDArray[Any], piece: Cut, values: NDArray[Any], field: Any = None) -> None:
    """Set elements of a part, or a field of them."""
    target = part if field is None else part[field]
    target[slice(piece.start, piece.start + piece.count) if piece.positions is None else piece.positions] = values
