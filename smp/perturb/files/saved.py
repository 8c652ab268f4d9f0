"""What is kept in a file of JSON, and read again."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from smp._computer.data import write
from smp.errors import ExperimentError

REMEDY = "run the experiment again"


class Saved(ABC):
    """Something with plain JSON.

    A class of its own names its layout, one of `smp.perturb.files.layouts`, which is imported where a file is read.
    """

    WHAT: ClassVar[str]
    """What a file of another kind does not hold."""
    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]
    LAYOUT: ClassVar[str]

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; `from_json` reads it."""

    @classmethod
    @abstractmethod
    def _made(cls, data: Mapping[str, Any]) -> Self:
        """Return what JSON of the right layout holds; ValueError where its parts do not fit each other."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return what `to_json` made this of.

        Raises
        ------
        ExperimentError
            For anything else; says which value is wrong.
        """
        if not isinstance(data, Mapping) or (data.get("format"), data.get("version")) != (cls.FORMAT, cls.VERSION):
            raise ExperimentError(f"its format is not {cls.FORMAT}, version {cls.VERSION}")
        checked(data, cls.LAYOUT)
        try:
            return cls._made(data)
        except ValueError as error:
            raise ExperimentError(f"it is damaged: {error}") from error

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        write(Path(file), json.dumps(self.to_json()))

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        ExperimentError
            When there is nothing, or something else.
        """
        return cls.found(read(Path(file)), Path(file))

    @classmethod
    def found(cls, data: Any, file: Path) -> Self:
        """Return what the JSON of a file holds; the errors of `from_json` name the file."""
        try:
            return cls.from_json(data)
        except ExperimentError as error:
            raise ExperimentError(f"{file} holds no {cls.WHAT}: {error}; {REMEDY}") from error


def read(file: Path) -> Any:
    """Return the JSON in a file; ExperimentError where there is none."""
    from smp._computer import documents  # Pydantic takes a while to import, and an experiment does without it

    return documents.read(file, ExperimentError, "a file of trials", REMEDY)


def checked(data: Any, layout: str) -> None:
    """Raise `ExperimentError` unless the data have a layout of `smp.perturb.files.layouts`."""
    from smp._computer import documents

    from . import layouts

    documents.check(data, getattr(layouts, layout), ExperimentError, "it")
