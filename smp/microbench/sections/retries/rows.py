"""Record of the section ``retries``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from smp._computer.documents import Count, Number, Some
from smp.profiles.records import Judged, Visited


class Wait(Visited):
    limit: Count
    counted_least: Count
    counted_most: Count
    equal: bool
    waits: Count


class Retries(Judged):
    rows: Some[Wait]
    look_ns: Number
