"""Layouts, as JSON, of kept models, calibrations, and timings of an unfinished calibration; see `documents`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from .._computer.documents import Count, NotNegative, Number, Record
from ..models.fit.layout import ModelLayout

Added = Annotated[tuple[dict[str, Number], bool], Field(strict=False)]
"""Loops of a point, and True if it is for verification. JSON has no tuples, so a list is accepted."""


class LibraryModel(ModelLayout):
    format: Literal["smp-model"]
    version: Literal[1]


class GuardLayout(Record):
    """Size from which a library's models are asked; null if asking never pays."""

    size: str
    least: Annotated[NotNegative | None, Field(alias="from")]


class LibraryLayout(Record):
    """The models of a library, by the names of the implementations; earlier files lack the guard and the code."""

    format: Literal["smp-library"]
    version: Literal[1]
    name: str
    models: dict[str, LibraryModel]
    guard: GuardLayout | None = None
    code: str | None = None


class SuiteLayout(Record):
    """The models of a suite, by the names of the tasks."""

    format: Literal["smp-suite"]
    version: Literal[1]
    name: str
    models: dict[str, LibraryModel]


class VerdictLayout(Record):
    """The comparison of new models with the earlier ones; see `smp.selection.fresh`."""

    kept: Literal["new", "earlier"]
    said: str


class CalibrationLayout(Record):
    """The models of several libraries and suites, by their names."""

    libraries: dict[str, Annotated[LibraryLayout | SuiteLayout, Field(discriminator="format")]]
    interrupted: bool | None = None
    seed: Count | None = None
    verdicts: dict[str, VerdictLayout] = Field(default_factory=dict)


class Taken(Record):
    """The timings of a series, for each task at each point."""

    raw: list[list[list[NotNegative]]]
    applies: list[list[bool]]
    added: list[Added]
    inputs: list[list[Number] | None]


class TimingsLayout(Record):
    """The timings of several series."""

    measurement: list[Any]
    taken: list[Taken]
