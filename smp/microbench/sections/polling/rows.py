"""Record of the section ``polling``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Size, Some
from smp.profiles.records import Judged, Timed


class Poll(Timed):
    place: Literal["apart", "beside"]
    limit: Count | None
    pollers: Count
    GBps: Number
    slowdown: Number
    slowdown_low: Number | None = None
    slowdown_high: Number | None = None
    visit_ns: Number | None = None
    retries: Number
    traps: Number
    windows: Count


class Polling(Judged):
    rows: Some[Poll]
    look_ns: Number | None = None
    cpus: Size | None = None
    poller_cpus: Size = 1
    array_bytes: Size | None = None
