"""The record of the section on access patterns: cost functions, their errors, the patterns."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from smp._computer.documents import ByProcessors, Count, NotNegative, Number, Positive, Processors, Record, Rows, Size
from smp.profiles.records import Judged

Family = Literal["good", "bad", "random"]


Name = Literal["H", "HM", "HrHw", "HrHwM", "HrHwM-c"]


Set = Literal["R0", "R1", "all"]


Suite = Annotated[int, Field(ge=1, le=3)]


Term = Annotated[str, Field(pattern=r"^(L|gM|gh|gh[rw][1-9]?)$")]


Range = Annotated[list[NotNegative], Field(min_length=2, max_length=2)]


def _as_it_is(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    check(value)
    return value


Words = Annotated[Positive, WrapValidator(_as_it_is)]
"""A number of words, which stays a whole number where it is one."""


class Tier(Record):
    name: str
    words: Words | None
    shared: bool | None = None


class Function(Record):
    family: Family
    p: Processors
    name: Name
    set: Set
    fit_suite: Suite | None = None
    terms: Annotated[list[Term], Field(min_length=1)]
    coefficients: list[Number]
    low: list[Number | None] | None = None
    high: list[Number | None] | None = None
    unidentified: list[str] | None = None
    condition: float | None = None
    count: Count | None = None
    h_range: Range | None = None

    @model_validator(mode="after")
    def _a_number_each(self) -> Self:
        if len(set(self.terms)) < len(self.terms):
            raise ValueError(f"the terms {', '.join(self.terms)} are not all different")
        for name in ("coefficients", "low", "high"):
            numbers = getattr(self, name)
            if numbers is not None and len(numbers) != len(self.terms):
                raise ValueError(f"there are {len(self.terms)} terms and {len(numbers)} numbers in {name!r}")
        return self


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

    @model_validator(mode="after")
    def _tiers_ascend(self) -> Self:
        words = [0.0, *(math.inf if tier.words is None else tier.words for tier in self.tiers)]
        if words[-1] < math.inf or any(low >= high for low, high in pairwise(words)):
            raise ValueError(f"the tiers have {words[1:]} words: these must ascend, and the last have none (null)")
        last = max((int(t[3:]) for function in self.functions for t in function.terms if t[3:]), default=0)
        if last > len(self.tiers):
            raise ValueError(f"a function has a term of tier {last}, and there are {len(self.tiers)} tiers")
        return self
