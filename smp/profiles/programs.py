"""The layouts of a profile's sections on whole programs: lists, sorting, stencil, fine; see `layout`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .._computer.documents import Count, Number, Positive, Processors, Record, Rows, Size
from .sections import Judged

Sort = Literal["radix", "sample", "column"]
Streams = Literal["wyllie-cells", "wyllie-streams", "reid-miller-streams"]
Side = Annotated[int, Field(ge=1, le=1 << 24)]


class Placed(Record):
    """Something that was measured, in its interval where it was predicted."""

    p: Processors
    compute_s: Number | None = None
    measured_s: Number | None = None
    good_s: Number | None = None
    bad_s: Number | None = None
    random_s: Number | None = None
    loc: Number | None = None
    m_over_g: Number | None = None
    inside: bool | None = None


class Ran(Placed):
    """A run of a program."""

    supersteps: Count | None = None
    supersteps_inside: Count | None = None
    note: str | None = None
    seconds: Number | None = None


class Counted(Placed):
    """A superstep, or several of one label."""

    label: str
    hr: Count
    hw: Count
    m: Count


class OfLength(Record):
    n: Size
    ns_per_element: Positive


class Predicted(Judged):
    """A section on programs."""

    functions_of: str | None = None


class ListRun(Ran, OfLength):
    algorithm: str
    speedup: Number | None = None


class ListStep(Counted):
    n: Size
    algorithm: str
    verdict: str | None = None


class FastList(OfLength):
    streams: Size | None = None
    speedup: Number | None = None


class Lists(Predicted):
    rows: Rows[ListRun]
    steps: Rows[ListStep]
    superstep: ListStep | None = None
    serial: Rows[OfLength]
    fast: Rows[FastList]


class SortRun(Ran, OfLength):
    algorithm: Sort


class SortForm(FastList):
    form: Literal["numpy", "fast"]


class SortStep(Counted):
    n: Size
    algorithm: Sort
    times: Count
    hr_closed: Count
    hw_closed: Count
    m_closed: Count


class Sorting(Predicted):
    rows: Rows[SortRun]
    forms: Rows[SortForm]
    analysis: Rows[SortStep]


class OnGrid(Record):
    rows: Side
    columns: Side


class GridRun(Ran, OnGrid):
    layout: str
    blocks: str
    iterations: Size | None = None
    ns_per_cell: Positive
    around_ns: Number | None = None

    @model_validator(mode="after")
    def _iterations_are_known_of_what_is_predicted(self) -> Self:
        if self.good_s is not None and self.iterations is None:
            raise ValueError("a run that was predicted needs its iterations")
        return self


class GridForm(OnGrid):
    form: Literal["blocked", "one by one", "copy"]
    streams: Size | None = None
    ns_per_cell: Positive
    copies: Number | None = None


class GridStep(Counted, OnGrid):
    layout: str
    blocks: str


class Stencil(Predicted):
    rows: Rows[GridRun]
    forms: Rows[GridForm]
    analysis: Rows[GridStep]
    left_out: list[Count] | None = None


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
