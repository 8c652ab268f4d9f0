"""What the records of several sections begin with; see `documents` for what a record is."""

from __future__ import annotations

from smp._computer.documents import Count, NotNegative, Number, Record


class Judged(Record):
    """Something that is valid, or not and why: a row or a section."""

    valid: bool | None = None
    why: list[str] | None = None
    clean_fraction: Number | None = None


class Timed(Judged):
    """The time of one point, and how far it spreads."""

    ns: Number
    cycles: Number | None = None
    minimum_ns: Number | None = None
    p95_ns: Number | None = None
    windows: Count | None = None
    elsewhere_ns: list[Number | None] | None = None
    """In the states of the placement other than the main one."""


class Visited(Timed):
    """A point that was timed in several visits."""

    minimum_ns: Number
    p95_ns: Number
    windows: Count


class PlacementState(Record):
    """A state of the CPUs' placement: the hand-over of a line in it, and its share of the readings."""

    ns: NotNegative
    low_ns: NotNegative
    high_ns: NotNegative | None = None
    share: NotNegative
