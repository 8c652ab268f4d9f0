"""Segments: boundaries between neighbouring processors, over which scans do not pass their values.

    processor        0   1   2   3   4   5
    boundary of 3                │                the edge between processors 2 and 3
    segments         └───┬───┘   └───┬───┘

A boundary of processor i is the edge between processors i - 1 and i.  What a scan passes over that edge depends on the
kind of the boundary:

    NONE       there is no boundary: the value passes
    ELEMENT    the identity passes in its place: processor i begins with its own value
    ARRAY      the value passes, and processor i receives it, but passes on its own value only: its array is a part of a
               longer one, in which a segment begins inside this part

Source: E. A. Brewer, Portable High-Performance Supercomputing, Strata manual, section 4.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any


class Boundary(enum.IntEnum):
    """Kind of the boundary between the previous processor and this one."""

    NONE = 0
    ELEMENT = 1
    ARRAY = 2


NONE, ELEMENT, ARRAY = Boundary


def checked_boundary(name: str, kind: Any) -> Boundary:
    """Return the kind of a boundary, or raise an error for anything else; ``name`` is what was given."""
    if isinstance(kind, Boundary):
        return kind
    raise TypeError(f"{name} must be smp.NONE, smp.ELEMENT or smp.ARRAY, not {kind!r}")


def segment_of(edges: Sequence[int], rank: int) -> slice:
    """Return the ranks of the segment of processor ``rank``; ``edges`` has the boundary of each processor."""
    start = rank
    while start > 0 and edges[start] == NONE:
        start -= 1
    stop = rank + 1
    while stop < len(edges) and edges[stop] == NONE:
        stop += 1
    return slice(start, stop)


def scanned(edges: Sequence[int] | None, rank: int, size: int, exclusive: bool, reverse: bool) -> range:
    """Return the ranks whose values a scan combines for processor ``rank``, in the order in which it combines them.

    Parameters
    ----------
    edges : sequence of int, optional
        Boundary of each processor; by default there is none.
    rank, size : int
        The processor, and the number of all.
    exclusive : bool
        Whether the processor's own value is left out.  The range may then be empty: the result is the identity.
    reverse : bool
        Whether the scan goes from the last processor to the first.
    """
    if reverse:
        there = scanned(None if edges is None else mirrored(edges), size - 1 - rank, size, exclusive, False)
        return range(size - 1 - there.start, size - 1 - there.stop, -1)
    start = 0
    if edges is not None:
        start = rank if rank == 0 or edges[rank] == ELEMENT else segment_of(edges, rank - 1).start
    return range(start, rank if exclusive else rank + 1)


def mirrored(edges: Sequence[int]) -> list[int]:
    """Return the boundaries as processors see them that are numbered from the last one to the first."""
    return [NONE, *reversed(edges[1:])]
