"""What is kept in a file of JSON, and read again."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from .._kept import write


class Saved(ABC):
    """Something with plain JSON."""

    WHAT: ClassVar[str]
    """What a file of another kind does not hold."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; `from_json` reads it."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return what `to_json` made this of; ValueError for anything else."""

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        write(Path(file), json.dumps(self.to_json()))

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        OSError, ValueError
            When there is nothing, or something else.
        """
        try:
            return cls.from_json(json.loads(Path(file).read_text(encoding="utf-8")))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"{file} holds no {cls.WHAT}: {error}") from error
