"""The record of the section ``placement``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from smp._computer.documents import ByProcessors, Count, NotNegative, Number, Rows, Size
from smp.profiles.records import Judged, PlacementState


class Seen(PlacementState):
    """A state, and what was seen of the CPUs while they lay so: medians of its looks."""

    p: Size
    looks: Count
    clock_GHz: NotNegative | None = None
    slowest_GHz: NotNegative | None = None
    together: NotNegative | None = None
    """How much longer a loop that keeps a core's units busy takes on all CPUs at once than on one alone."""


class Placement(Judged):
    rows: Rows[Seen]
    looks: dict[ByProcessors, Count]
    stolen_fraction: Number | None = None
    states: dict[ByProcessors, list[PlacementState]] | None = None
    """By all readings of the campaign, which go on in the other sections."""
