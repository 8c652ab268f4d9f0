"""Layouts of trials, ladders, interrupted experiments and analyses as JSON, which `documents` checks data against."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from smp._computer.documents import Count, NotNegative, Record, Size

from ..designs.hadamard import LARGEST

Response = Annotated[float, Field(ge=-1e120, le=1e120)]
"""A response, bounded so that sums of squares are finite too."""
Real = Annotated[float, Field(allow_inf_nan=True)]
Met = Annotated[tuple[Size, NotNegative, Size, NotNegative], Field(strict=False)]
"""Passes, seconds inside, number of processors, and seconds in the place itself.

JSON has no tuples, so a list is accepted as one.
"""
Names = Annotated[list[str], Field(min_length=1)]
Place = Annotated[list[Count], Field(min_length=4, max_length=4)]
"""Replicate, block, trial and run."""
TAKEN = ("order", "replicate", "block", "trial", "run", "levels", "")
"""Names that no response may have."""


class DesignLayout(Record):
    """A design of two levels."""

    name: str
    factors: Names
    columns: list[Annotated[int, Field(ge=1, lt=LARGEST)]]
    signs: list[Literal[-1, 1]]
    regular: bool
    folds: Annotated[int, Field(ge=0, le=LARGEST.bit_length())]
    rows: Annotated[list[str], Field(min_length=1, max_length=LARGEST)]

    @model_validator(mode="after")
    def _a_column_for_each_factor(self) -> Self:
        if not len(self.factors) == len(self.columns) == len(self.signs):
            raise ValueError("there must be a column and a sign for each factor")
        return self


class PlanLayout(Record):
    """The plan of an experiment."""

    factors: Names
    levels: Annotated[list[list[Annotated[int, Field(ge=-1, le=LARGEST)]]], Field(min_length=1)]
    treatments: dict[str, list[str | None]]
    design: DesignLayout | None

    @model_validator(mode="after")
    def _a_level_for_each_factor(self) -> Self:
        if list(self.treatments) != self.factors or {len(row) for row in self.levels} != {len(self.factors)}:
            raise ValueError("there must be treatments for each factor, in their order, and a level in each trial")
        count = 2 if self.design is not None else len(self.treatments[self.factors[0]])
        if {len(ladder) for ladder in self.treatments.values()} != {count}:
            raise ValueError("the factors have different numbers of treatments, or not two in a design of two levels")
        known = {-1, 1} if self.design is not None else set(range(count))
        if unknown := {level for row in self.levels for level in row} - known:
            raise ValueError(f"the trials have levels {sorted(unknown)}, for which there is no treatment")
        return self


class About(Record):
    program: str | None = None
    shares: dict[str, str] | None = None
    placement: str | None = None


class TrialsLayout(Record):
    """Trials of an experiment, version 3."""

    plan: PlanLayout
    responses: Names
    order: list[Place]
    rows: Annotated[list[list[Response | None]], Field(min_length=1)]
    met: dict[str, Met]
    warm_up: NotNegative
    counting: NotNegative
    lengths: dict[str, list[NotNegative | None]]
    about: About

    @model_validator(mode="after")
    def _a_place_and_all_responses_for_each_run(self) -> Self:
        names, runs, trials = self.responses, len(self.rows), len(self.plan.levels)
        if len(set(names)) < len(names) or set(names) & set(TAKEN) or "time" not in names:
            raise ValueError(f"the responses {names} must have different names, one of them time")
        if len(self.order) != runs or {len(row) for row in self.rows} != {len(names)}:
            raise ValueError(f"there are {runs} rows: each needs a position in the order and {len(names)} responses")
        for replicate, block, trial, run in self.order:
            if trial >= trials or max(replicate, block, run) >= runs:
                raise ValueError(
                    f"the order has trial {trial} of {trials}, or a replicate, block or run beyond {runs} runs"
                )
        return self

    @model_validator(mode="after")
    def _all_is_known_of_each_factor(self) -> Self:
        for name, treatments in self.plan.treatments.items():
            if name not in self.met or len(self.lengths.get(name, ())) != len(treatments):
                raise ValueError(f"{name!r} needs counts in met, and a length for each treatment")
        return self


class LadderLayout(Record):
    """A ladder of delays, version 1."""

    design: DesignLayout
    trials: TrialsLayout


class KeptLayout(Record):
    """Measurements of an interrupted experiment."""

    experiment: dict[str, Any]
    plan: PlanLayout
    rows: list[list[Real]]


class AnalysisLayout(Record):
    """The effects on one response."""

    design: DesignLayout
    response: str
    unit: str
    order: Size
    blocks: list[Count]
    responses: Annotated[list[list[Response]], Field(min_length=1)]

    @model_validator(mode="after")
    def _a_response_for_each_trial(self) -> Self:
        trials = len(self.design.rows)
        if len(self.blocks) != trials or any(len(row) != trials for row in self.responses):
            raise ValueError(f"there are {trials} trials: each needs a block and a response in each replicate")
        return self
