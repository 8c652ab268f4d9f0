"""Record of the section ``stencil``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from smp._computer.documents import Count, Number, Positive, Record, Rows, Size
from smp.microbench.sections.programs.rows import Counted, Predicted, Ran
from smp.profiles.records import Judged

Form = Literal["blocked", "one by one", "copy"]
Side = Annotated[int, Field(ge=1, le=1 << 24)]


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


class GridForm(OnGrid, Judged):
    form: Form
    streams: Size | None = None
    ns_per_cell: Positive
    copies: Number | None = None


class GridStep(Counted, OnGrid):
    layout: str
    blocks: str


class Stencil(Predicted):
    rows: Rows[GridRun]
    steps: Rows[GridStep]
    forms: Rows[GridForm]
    analysis: Rows[GridStep]
    left_out: list[Count] | None = None
