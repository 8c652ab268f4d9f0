"""Record of the section ``waking``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Size, Some
from smp.profiles.records import Judged, PlacementState, Visited


class Woken(Visited):
    how: Literal["many", "one"]
    initial_ns: Count
    streams: Size
    total_ns: Number
    retries: Number | None = None
    traps: Number


class Waking(Judged):
    placement: list[PlacementState] | None = None
    rows: Some[Woken]
    limit: Count
    cpus: Size
