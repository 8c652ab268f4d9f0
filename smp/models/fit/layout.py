"""Layout of a model as JSON, checked as `smp._computer.documents` describes."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from smp._computer.documents import Count, NotNegative, Number, Positive, Record

Real = Annotated[float, Field(allow_inf_nan=True)]
"""Number of a fit; infinite or NaN if the fit leaves it open."""
Texts = Annotated[dict[str, str], Field(min_length=1)]


class Quality(Record):
    count: Count
    verified: Count
    r_squared: Real
    mre_fit: Real
    mre: Real
    worst: Real
    log: str = ""


class Samples(Record):
    inputs: dict[str, list[Real]]
    seconds: list[Positive]
    raw: list[list[NotNegative]]
    verification: list[bool]


class Dropped(Record):
    inputs: dict[str, Real]
    seconds: Positive
    ratio: Positive


class ModelLayout(Record):
    """A model of version 1; earlier files lack ``least`` and ``dropped``."""

    name: str
    inputs: Texts
    terms: Texts
    coefficients: list[Number]
    covariance: list[list[Real]]
    residual: Real
    freedom: Count
    when: str
    quality: Quality
    machine: dict[str, Any]
    least: NotNegative = 0.0
    dropped: list[Dropped] = Field(default_factory=list)
    samples: Samples | None = None

    @model_validator(mode="after")
    def _a_number_for_each_term(self) -> Self:
        k = len(self.terms)
        if len(self.coefficients) != k or [len(row) for row in self.covariance] != [k] * k:
            raise ValueError(
                f"there are {k} terms, but not as many coefficients, or rows and columns of the covariance"
            )
        return self

    @model_validator(mode="after")
    def _a_value_for_each_sample(self) -> Self:
        if self.samples is not None:
            taken = self.samples
            lengths = {len(taken.seconds), len(taken.raw), len(taken.verification), *map(len, taken.inputs.values())}
            if set(taken.inputs) != set(self.inputs) or len(lengths) > 1:
                raise ValueError("the samples have different inputs than the model, or lists of different lengths")
        return self
