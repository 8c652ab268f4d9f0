"""The record of the section ``chain``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Size, Some
from smp.profiles.records import Judged, PlacementState, Visited


class Passed(Visited):
    how: Literal["mass", "chained", "packed"]
    work: Count
    streams: Size
    total_ns: Number
    retries: Number | None = None
    traps: Number


class Chain(Judged):
    placement: list[PlacementState] | None = None
    rows: Some[Passed]
    limit: Count
    operations: Count
    cpus: Size
