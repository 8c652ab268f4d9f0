"""Record of the section ``messages``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import ByProcessors, Count, Number, Processors, Size, Some
from smp.profiles.records import Judged, PlacementState, Visited

What = Literal[
    "trip",
    "one way",
    "both ways",
    "receive",
    "poll",
    "compiled barrier",
    "request",
    "message",
    "block",
    "block both ways",
    "barrier",
    "any",
    "reduce",
    "scan",
    "exclusive scan",
    "broadcast",
    "transpose",
]
Floor = Literal["line", "addition", "trip", "one way", "compiled barrier", "barrier", "copy"]


class Cost(Visited):
    """The time of an operation, and its ratio to the floor in the neighbouring burst: median and quartiles."""

    what: What
    processors: Processors
    words: Size | None = None
    """Words of a vector on each processor, for collectives of vectors, or of a block."""
    senders: Size | None = None
    """Number of rings that a poll looks at."""
    cycles: Number
    floor: Floor
    floor_ns: Number
    ratio: Number
    ratio_low: Number
    ratio_high: Number
    pairs: Count
    """Number of pairs of bursts in these three ratios."""
    over_mpi: Number | None = None
    """Median, over the rounds in which MPI ran, of the time over that of MPI in the same round."""


class ByMpi(Visited):
    """The time of the same operation by MPI."""

    what: What
    processors: Processors
    words: Size | None = None


class Messages(Judged):
    placement: dict[ByProcessors, list[PlacementState]] | None = None
    rows: Some[Cost]
    mpi: list[ByMpi]
    library: str | None = None
    """The MPI library, if it was measured."""
    no_mpi: str = ""
    """The reason why MPI was not measured; empty if it was."""
