"""The record of the section ``fine``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Record, Rows, Size
from smp.microbench.sections.programs.rows import OfLength
from smp.profiles.records import Judged, PlacementState

Streams = Literal["wyllie-cells", "wyllie-streams", "reid-miller-streams"]


class Ranked(Judged, OfLength):
    ns_per_element: Number
    minimum_ns: Number
    maximum_ns: Number
    repeats: Count | None = None


class RankedByStreams(Ranked):
    algorithm: Streams
    streams: Size
    seconds: Number | None = None
    setup_s: Number | None = None
    speedup: Number
    retries: Number
    traps: Number
    oversubscribed: bool
    elsewhere_ns: list[Number | None] | None = None
    """Median ns per element in the states of the placement other than the main one."""


class Setup(Record):
    """Seconds that a run on a list of two nodes takes, in profiles whose times include the set-up."""

    algorithm: str
    streams: Size | None = None
    seconds: Number


class Fine(Judged):
    placement: list[PlacementState] | None = None
    rows: list[RankedByStreams]
    serial: list[Ranked]
    setup: Rows[Setup]
    cpus: Size | None = None
