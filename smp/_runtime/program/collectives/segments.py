"""Segments: boundaries between neighbouring processors, at which scans begin anew.

    processor        0   1   2   3   4   5
    boundary of 3                │                the edge between processors 2 and 3
    segments         └───┬───┘   └───┬───┘

A boundary of processor i is the edge between processors i - 1 and i.  What a scan passes over that edge depends on the
kind of the boundary:

    NONE       there is no boundary: the value passes
    ELEMENT    the identity passes in its place: processor i begins anew
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
    """Return the kind of a boundary, or raise an error for anything else; ``name`` is the collective."""
    if isinstance(kind, Boundary):
        return kind
    raise TypeError(f"segments= of {name} must be smp.NONE, smp.ELEMENT or smp.ARRAY, not {kind!r}")


def segment_of(edges: Sequence[int], rank: int) -> slice:
    """Return the ranks of the segment of processor ``rank``; ``edges`` has the boundary of each processor."""
    start = rank
    while start > 0 and edges[start] == NONE:
        start -= 1
    stop = rank + 1
    while stop < len(edges) and edges[stop] == NONE:
        stop += 1
    return slice(start, stop)


def mirrored(edges: Sequence[int]) -> list[int]:
    """Return the boundaries as processors see them that are numbered from the last one to the first."""
    return [NONE, *reversed(edges[1:])]
