"""Objects that are saved in a JSON file and read back."""

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
    """Base class of objects that have a plain JSON form.

    A subclass names its layout, a class of `smp.perturb.files.layouts`, which is imported only when a file is read.
    """

    WHAT: ClassVar[str]
    """Name of the content, for the error message about a file that does not hold it."""
    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]
    LAYOUT: ClassVar[str]

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads."""

    @classmethod
    @abstractmethod
    def _made(cls, data: Mapping[str, Any]) -> Self:
        """Return the object that JSON of the right layout holds; raise ValueError if its parts do not fit together."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the object that `to_json` converted to this JSON.

        Raises
        ------
        ExperimentError
            For anything else; the message says which value is wrong.
        """
        if not isinstance(data, Mapping) or (data.get("format"), data.get("version")) != (cls.FORMAT, cls.VERSION):
            raise ExperimentError(f"its format is not {cls.FORMAT}, version {cls.VERSION}")
        checked(data, cls.LAYOUT)
        try:
            return cls._made(data)
        except ValueError as error:
            raise ExperimentError(f"it is damaged: {error}") from error

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the object to a file, either completely or not at all."""
        write(Path(file), json.dumps(self.to_json()))

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote.

        Raises
        ------
        ExperimentError
            If the file is missing, or holds something else.
        """
        return cls.found(read(Path(file)), Path(file))

    @classmethod
    def found(cls, data: Any, file: Path) -> Self:
        """Return the object that the JSON of a file holds; the errors of `from_json` name the file."""
        try:
            return cls.from_json(data)
        except ExperimentError as error:
            raise ExperimentError(f"{file} holds no {cls.WHAT}: {error}; {REMEDY}") from error


def read(file: Path) -> Any:
    """Return the JSON in a file; raise ExperimentError if the file is missing or is not JSON."""
    from smp._computer import documents  # Pydantic takes a while to import, and running an experiment does not need it

    return documents.read(file, ExperimentError, "a file of trials", REMEDY)


def checked(data: Any, layout: str) -> None:
    """Raise `ExperimentError` unless the data have a layout of `smp.perturb.files.layouts`."""
    from smp._computer import documents

    from . import layouts

    documents.check(data, getattr(layouts, layout), ExperimentError, "it")
