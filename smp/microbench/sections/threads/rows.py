"""Record of the section ``threads``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Positive, Record, Some
from smp.profiles.records import Judged, PlacementState, Visited

EventName = Literal["bare", "stream", "thread", "remap", "at once", "back", "next"]
PartName = Literal["looks", "trap", "wake", "python", "call"]


class Event(Visited):
    what: EventName
    cycles: Number
    mean_ns: Number
    std_ns: Number


class Part(Visited):
    what: PartName
    mean_ns: Number | None = None
    std_ns: Number | None = None


class Whole(Visited):
    what: str | None = None
    mean_ns: Number | None = None
    std_ns: Number | None = None


class Accounting(Record):
    total_ns: Positive
    explained_ns: Number
    explained: Number


class Threads(Judged):
    placement: list[PlacementState] | None = None
    rows: Some[Event]
    parts: list[Part]
    whole: Whole
    retries: Count | None = None
    looks: Count
    accounting: Accounting
