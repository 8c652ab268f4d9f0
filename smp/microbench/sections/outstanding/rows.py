"""Record of the section ``outstanding``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Positive, Record, Rows, Size, Some
from smp.profiles.records import Judged, Timed


class Chains(Timed):
    chains: Size
    ns: Positive


class Sustained(Judged):
    latency_ns: Positive
    best_ns: Positive
    misses: Number
    knee_chains: Count
    flat: bool | None = None


class Loads(Timed):
    order: Literal["far", "near"]
    cpus: Size
    work: Count
    streams: Size
    depth: Size
    GBps: Number
    ns: Positive


class Enough(Record):
    order: Literal["far", "near"]
    cpus: Size
    work: Count
    best_GBps: Number
    best_streams: Size
    best_depth: Size
    enough_streams: Size
    gain: Number


class Outstanding(Judged):
    chains: Some[Chains]
    sustained: Sustained
    groups: Rows[Loads]
    saturation: Rows[Enough]
    bytes: Size
    huge_bytes: Count | None = None
    capped: str | None = None
