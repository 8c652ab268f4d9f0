"""Record of the section ``nodes``: the probe writes it, a profile keeps it, and predictions and the report read it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from smp._computer.documents import Count, NotNegative, Number, Positive, Record, Rows, Size, Some
from smp.models.supersteps.far import TERMS
from smp.profiles.records import Judged

Family = Literal["good", "bad"]
Where = Literal["all", "near", "far"]
Term = Literal["L", "ghr", "ghw", "gM", "gfr", "gfw", "gMf", "gms"]
assert set(TERMS) == set(Term.__args__)  # type: ignore[attr-defined]


class Operation(Judged):
    """Time of an operation: of all processors, or between two of a node (near), or of two nodes (far)."""

    name: str
    where: Where
    seconds: Positive
    low_s: Positive
    high_s: Positive
    bursts: Size
    times: Size


class Function(Record):
    """A fitted cost function, in seconds a word, message or superstep, and its errors on a suite kept apart."""

    family: Family
    terms: list[Term]
    coefficients: list[NotNegative]
    low: list[Number | None]
    high: list[Number | None]
    unidentified: list[str]
    count: Count
    h_range: list[Count]
    average: NotNegative
    maximum: NotNegative
    apart: Size

    @model_validator(mode="after")
    def _a_number_each(self) -> Self:
        if len(set(self.terms)) < len(self.terms):
            raise ValueError(f"the terms {', '.join(self.terms)} are not all different")
        for name in ("coefficients", "low", "high"):
            if len(getattr(self, name)) != len(self.terms):
                raise ValueError(
                    f"there are {len(self.terms)} terms, but {len(getattr(self, name))} numbers in {name!r}"
                )
        return self


class Pattern(Record):
    """A pattern of accesses that was measured: its counts as in a run's summary, and the median of its times."""

    family: Family
    suite: Size
    hr: Count
    hw: Count
    m: Count
    far_reads: Count
    far_writes: Count
    m_far: Count
    messages: Count
    seconds: Positive
    predicted_s: NotNegative
    supersteps: Size


class Nodes(Judged):
    nodes: Some[Size]  # type: ignore[type-var]
    """Number of processors of each node."""
    processors: Size
    opened_s: NotNegative
    operations: Rows[Operation]
    functions: Rows[Function]
    patterns: Rows[Pattern]
