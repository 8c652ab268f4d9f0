"""Record of the section ``placement``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from smp._computer.documents import ByProcessors, Count, NotNegative, Number, Rows, Size
from smp.profiles.records import Judged, PlacementState


class Seen(PlacementState):
    """A state of the placement, with medians of the looks taken in it."""

    p: Size
    looks: Count
    clock_GHz: NotNegative | None = None
    slowest_GHz: NotNegative | None = None
    together: NotNegative | None = None
    """Time of a loop that keeps a core's units busy on all CPUs at once, over its time on one alone."""


class Placement(Judged):
    rows: Rows[Seen]
    looks: dict[ByProcessors, Count]
    stolen_fraction: Number | None = None
    states: dict[ByProcessors, list[PlacementState]] | None = None
    """States found in all readings of the campaign, including those that the other sections took."""
