"""The record of the section ``bandwidth``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Processors, Rows, Size
from smp.profiles.records import Judged, Timed


class Stream(Judged):
    processors: Processors
    kernel: Literal["copy", "scale", "add", "triad"]
    GBps: Number
    median_GBps: Number | None = None
    GBps_write_allocate: Number | None = None
    verified: bool | None = None


class Loaded(Timed):
    loading_processors: Count
    load_GBps: Number


class Bandwidth(Judged):
    stream: Rows[Stream]
    loaded_latency: Rows[Loaded]
    array_bytes: Size | None = None
    chase_bytes: Size | None = None
    repeats: Count | None = None
    left_out: str | None = None
    capped: str | None = None
