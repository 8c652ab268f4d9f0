"""Base records that several sections of a profile share; `smp._computer.documents` explains records."""

from __future__ import annotations

from smp._computer.documents import Count, NotNegative, Number, Record


class Judged(Record):
    """A row or section of a profile that is valid, or not valid with the reasons."""

    valid: bool | None = None
    why: list[str] | None = None
    clean_fraction: Number | None = None


class Timed(Judged):
    """Time of one measured point, and its spread."""

    ns: Number
    cycles: Number | None = None
    minimum_ns: Number | None = None
    p95_ns: Number | None = None
    windows: Count | None = None
    elsewhere_ns: list[Number | None] | None = None
    """Times in the states of the placement other than the main one."""


class Visited(Timed):
    """A point that was timed in several visits."""

    minimum_ns: Number
    p95_ns: Number
    windows: Count


class PlacementState(Record):
    """A state of the CPUs' placement: the time of a line's hand-off in it, and its share of the readings."""

    ns: NotNegative
    low_ns: NotNegative
    high_ns: NotNegative | None = None
    share: NotNegative
