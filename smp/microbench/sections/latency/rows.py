"""Record of the section ``latency``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, NotNegative, Number, Record, Rows, Size
from smp._computer.huge_pages import Pages
from smp.profiles.records import Judged, Timed


class Level(Judged):
    name: str
    ns: Number
    cycles: Number | None = None
    found_bytes: Size | None = None
    reported_bytes: Size | None = None


class OfArray(Timed):
    bytes: Size


class OfStride(OfArray):
    stride: Size


class HugePages(Record):
    granted: bool | None = None
    why: str | None = None


class GlobalArrays(Record):
    """Pages of global arrays, and the time of a load from them compared with one from private huge pages."""

    pages: Pages
    huge_bytes: Count
    bytes: Size
    ns: Number
    factor: Number | None = None
    switch: str | None = None


class Latency(Judged):
    levels: Rows[Level]
    levels_from: str | None = None
    levels_missing: list[str] | None = None
    memory_reached: bool | None = None
    random: Rows[OfArray]
    page_local: Rows[OfArray]
    huge: Rows[OfArray]
    shared: Rows[OfArray]
    stride: Rows[OfStride]
    page_walk: Rows[OfArray]
    page_walk_ns: Number | None = None
    page_walk_bytes: Size | None = None
    page_walk_from: Literal["huge", "page_local"] | None = None
    shared_page_walk: Rows[OfArray]
    global_arrays: GlobalArrays | None = None
    line_bytes: Size | None = None
    page_bytes: Size | None = None
    huge_pages: HugePages | None = None
    clock_GHz: NotNegative | None = None
    timer_ns: Number | None = None
    largest_bytes: Size | None = None
    capped: str | None = None
