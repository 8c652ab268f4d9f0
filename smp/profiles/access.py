"""Record of the section on access patterns: cost functions, their errors, and the patterns."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from smp._computer.documents import ByProcessors, Count, NotNegative, Number, Positive, Processors, Record, Rows, Size
from smp.models.supersteps.cost import Name
from smp.profiles.records import Judged, PlacementState

Family = Literal["good", "bad", "random"]


Set = Literal["R0", "R1", "all"]


Suite = Annotated[int, Field(ge=1, le=3)]


Term = Annotated[str, Field(pattern=r"^(L|gM|gh|g[hno][rw][1-9]?)$")]


Range = Annotated[list[NotNegative], Field(min_length=2, max_length=2)]


def _as_it_is(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    check(value)
    return value


Words = Annotated[Positive, WrapValidator(_as_it_is)]
"""Number of words; a whole number stays an integer."""


class Tier(Record):
    name: str
    words: Words | None
    shared: bool | None = None


class Fitted(Record):
    """A fitted cost function: the prices of its terms in seconds per word, and L in seconds."""

    family: Family
    p: Processors
    name: Name
    fit_suite: Suite | None = None
    terms: Annotated[list[Term], Field(min_length=1)]
    coefficients: list[Number]
    low: list[Number | None] | None = None
    high: list[Number | None] | None = None
    unidentified: list[str] | None = None
    condition: float | None = None
    count: Count | None = None
    h_range: Range | None = None
    knees: list[Words] | None = None

    @model_validator(mode="after")
    def _a_number_each(self) -> Self:
        if len(set(self.terms)) < len(self.terms):
            raise ValueError(f"the terms {', '.join(self.terms)} are not all different")
        for name in ("coefficients", "low", "high"):
            numbers = getattr(self, name)
            if numbers is not None and len(numbers) != len(self.terms):
                raise ValueError(f"there are {len(self.terms)} terms, but {len(numbers)} numbers in {name!r}")
        if self.knees is not None:
            _ascending("knees", self.knees)
            if self.last_level > len(self.knees) + 1:
                raise ValueError(f"a term has level {self.last_level}, but there are only {len(self.knees)} knees")
        return self

    @property
    def last_level(self) -> int:
        """The largest level number of the terms that are split at knees; 0 if no term is split."""
        return max((int(term[3:]) for term in self.terms if term[3:]), default=0)


class Function(Fitted):
    """One of the SMP cost study's functions, on one of its sets."""

    set: Set


class Off(Record):
    """Errors of a form on a suite that it was not fitted on, relative to the measured times."""

    suite: Suite
    average: NotNegative
    maximum: NotNegative
    count: Size


class Form(Fitted):
    """A form that was tried for all supersteps of a family, or for those of one footprint if the family has several."""

    footprint: Words | None = None
    off: list[Off]
    chosen: bool


class Turn(Record):
    """Error of the form that one suite chose, on another suite that neither fitted nor chose it."""

    family: Family
    p: Processors
    footprint: Words | None = None
    name: Name
    chosen_by: Suite
    suite: Suite
    average: NotNegative
    maximum: NotNegative
    count: Size


class Error(Record):
    family: Family
    p: Processors
    name: Name
    set: Set
    suite: Suite
    average: NotNegative
    maximum: NotNegative
    count: Size


class Pattern(Record):
    family: Family
    p: Processors
    suite: Suite
    kind: str
    x: Count
    h: Size
    hr: Count
    hw: Count
    m: Count
    seconds: Positive
    clean: Count
    supersteps: Size
    footprint: Words | None = None
    reads: list[Count] | None = None
    writes: list[Count] | None = None
    elsewhere_s: list[Number | None] | None = None
    """Seconds in the other states of the placement, the most frequent state first."""


class Access(Judged):
    word_bytes: Annotated[int, Field(ge=1, le=64)]
    line_words: Size | None = None
    tiers: list[Tier]
    private_words: Words | None = None
    processors: list[Processors] | None = None
    overhead_s: dict[ByProcessors, Range] | None = None
    functions: Rows[Function]
    validation: Rows[Error]
    patterns: Rows[Pattern]
    forms: Rows[Form]
    turns: Rows[Turn]
    placement: dict[ByProcessors, list[PlacementState]] | None = None
    """States of the placement by number of processors; all fitted samples were measured in the first state."""

    @model_validator(mode="after")
    def _tiers_ascend(self) -> Self:
        _ascending("tiers", words := [math.inf if tier.words is None else tier.words for tier in self.tiers])
        if words[-1:] != [math.inf]:
            raise ValueError(f"the tiers have {words} words, but the last must have none (null)")
        of_each: dict[tuple[str, int], list[float | None]] = {}
        for form in self.forms:
            if form.chosen:
                of_each.setdefault((form.family, form.p), []).append(form.footprint)
        for (family, p), footprints in of_each.items():
            if len(footprints) > 1 and (None in footprints or len({*footprints}) < len(footprints)):
                raise ValueError(
                    f"{len(footprints)} forms of {family} are chosen for p = {p}: each needs a footprint of its own"
                )
        levels = [function.last_level for function in self.functions if function.knees is None]
        if max(levels, default=0) > len(self.tiers):
            raise ValueError(f"a function has a term of tier {max(levels)}, but there are only {len(self.tiers)} tiers")
        return self


def _ascending(what: str, words: list[float]) -> None:
    if any(low >= high for low, high in pairwise([0.0, *words])):
        raise ValueError(f"the {what} have {words} words, but must ascend from above zero")
