"""Layout of kept models and calibrations as JSON; see `documents`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .._computer.documents import Count, Record
from ..models.fit.layout import ModelLayout


class LibraryModel(ModelLayout):
    format: Literal["smp-model"]
    version: Literal[1]


class LibraryLayout(Record):
    """The models of a library, by the names of the implementations."""

    format: Literal["smp-library"]
    version: Literal[1]
    name: str
    models: dict[str, LibraryModel]


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
