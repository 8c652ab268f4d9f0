"""Layout of kept models and calibrations as JSON; see `documents`."""

from __future__ import annotations

from typing import Literal

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


class CalibrationLayout(Record):
    """The models of several libraries, by the libraries' names."""

    libraries: dict[str, LibraryLayout]
    interrupted: bool | None = None
    seed: Count | None = None
