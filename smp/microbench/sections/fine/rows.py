"""The record of the section ``fine``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Number, Record, Rows, Size
from smp.microbench.sections.programs.rows import OfLength
from smp.profiles.records import Judged

Streams = Literal["wyllie-cells", "wyllie-streams", "reid-miller-streams"]


class Ranked(Judged, OfLength):
    ns_per_element: Number
    minimum_ns: Number
    maximum_ns: Number


class RankedByStreams(Ranked):
    algorithm: Streams
    streams: Size
    speedup: Number
    retries: Number
    traps: Number
    oversubscribed: bool


class Setup(Record):
    algorithm: str
    seconds: Number


class Fine(Judged):
    rows: list[RankedByStreams]
    serial: list[Ranked]
    setup: Rows[Setup]
