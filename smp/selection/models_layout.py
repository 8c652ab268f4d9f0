"""Layout of kept models and calibrations as JSON; see `documents`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .._computer.documents import Count, NotNegative, Record
from ..models.fit.layout import ModelLayout


class LibraryModel(ModelLayout):
    format: Literal["smp-model"]
    version: Literal[1]


class GuardLayout(Record):
    """Size from which a library's models are asked; null if asking never pays."""

    size: str
    least: Annotated[NotNegative | None, Field(alias="from")]


class LibraryLayout(Record):
    """The models of a library, by the names of the implementations; earlier files lack the guard."""

    format: Literal["smp-library"]
    version: Literal[1]
    name: str
    models: dict[str, LibraryModel]
    guard: GuardLayout | None = None


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
