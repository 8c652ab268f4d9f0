"""Records that the sections on whole programs share."""

from __future__ import annotations

from smp._computer.documents import Count, Number, Positive, Processors, Record, Size
from smp.profiles.records import Judged


class Placed(Record):
    """A measured run or superstep, with its place in the interval if it was predicted."""

    p: Processors
    compute_s: Number | None = None
    measured_s: Number | None = None
    good_s: Number | None = None
    bad_s: Number | None = None
    random_s: Number | None = None
    loc: Number | None = None
    m_over_g: Number | None = None
    inside: bool | None = None
    off: list[str] | None = None  # families whose cost functions do not hold on the suites kept apart from the fit


class Ran(Placed, Judged):
    """A run of a program."""

    supersteps: Count | None = None
    supersteps_inside: Count | None = None
    note: str | None = None
    seconds: Number | None = None
    repeats: Count | None = None


class Counted(Placed):
    """A superstep, or several with the same label."""

    step: Count | None = None
    label: str
    hr: Count
    hw: Count
    m: Count
    times: Count | None = None
    runs: Count | None = None
    footprint: Count | None = None
    faults: Count | None = None
    verdict: str | None = None
    far_reads: Count | None = None
    far_writes: Count | None = None
    messages: Count | None = None


class OfLength(Record):
    n: Size
    ns_per_element: Positive


class Predicted(Judged):
    """A section on programs."""

    functions_of: str | None = None


class Repeated(OfLength, Judged):
    """A function that needs no machine, timed a few times."""

    seconds: Number | None = None
    repeats: Count | None = None


class FastList(Repeated):
    streams: Size | None = None
    speedup: Number | None = None
