"""Reads JSON documents of the project's own formats, and checks each against its layout once.

    profile.json ─▶ read ─▶ check ─▶ every later use relies on the layout
                      │       └ an error: access.functions[3].coefficients[1] is 'x'; it should be a valid number
                      └ an error: no file, no text, no JSON

A layout is a subclass of `Record`. It names the fields of a document and the values that each may have.  Fields that a
layout does not name are allowed, and kept.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from ..errors import SmpError

LARGEST, SMALLEST = 1e18, 1e-60
"""Bounds of the numbers in a document.  No number is larger than LARGEST, so that a number written as a whole number
fits a 64-bit integer.  No number that must be above zero is smaller than SMALLEST, so that the ratio of two numbers is
finite."""
MOST = 1 << 48
"""No count is larger, so that its products with small numbers fit a 64-bit integer."""

Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Positive = Annotated[float, Field(ge=SMALLEST, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=MOST)]
Size = Annotated[int, Field(ge=1, le=MOST)]
Processors = Annotated[int, Field(ge=1, le=4096)]
ByProcessors = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3}$")]
"""A number of processors as the key of a mapping."""


class Record(BaseModel):
    """A JSON object whose named fields have the types of the class. Other fields may hold anything."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="allow", frozen=True)

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON, with the fields that it was made with and no others."""
        return self.model_dump(exclude_unset=True)


def _none_if_empty(data: Any) -> Any:
    return None if data == {} else data


Layout = TypeVar("Layout", bound=Record)
Rows = Annotated[list[Layout], Field(default_factory=list)]
"""A list that may be missing, but not be null."""
Some = Annotated[list[Layout], Field(min_length=1)]
Measured = Annotated[Layout | None, BeforeValidator(_none_if_empty)]
"""A part of a document, which is null or empty if nothing was measured."""


def read(file: Path, error: type[SmpError], what: str, remedy: str) -> Any:
    """Return the JSON in a file.

    Parameters
    ----------
    file : Path
    error : type of SmpError
        Type of the error that is raised.
    what : str
        Name of the document that the file should hold, with its article: ``"a profile"``.
    remedy : str
        Remedy for a file that is missing or damaged: ``"--calibrate makes one"``.

    Raises
    ------
    SmpError
        An error of the given type, if the file is missing, cannot be read, or is not UTF-8 text or JSON.
    """
    name = what.split(" ", 1)[1]
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise error(f"there is no {name} at {file}; {remedy}") from None
    except (OSError, UnicodeDecodeError) as cause:
        raise error(f"cannot read the {name} {file}: {cause}; {remedy}") from cause
    try:
        return from_json(text)
    except ValueError as cause:
        raise error(f"{file} is damaged or not {what}: {cause}; {remedy}") from cause


def check(data: Any, layout: type[Layout], error: type[SmpError], what: str, remedy: str = "") -> Layout:
    """Check a document against its layout, and return it as a record.

    Parameters
    ----------
    data
        The document, as `read` returns it.
    layout : type of Record
    error : type of SmpError
        Type of the error that is raised.
    what : str
        Name of the document in the message: ``"profile.json"``.
    remedy : str
        Remedy, at the end of the message.

    Raises
    ------
    SmpError
        An error of the given type, if the document does not fit. The message says which value is wrong, what it is, and
        what belongs there.
    """
    try:
        return layout.model_validate(data)
    except ValidationError as found:
        first = found.errors(include_url=False)[0]
        where = _path(first["loc"])
        if first["type"] == "missing":
            fact = f"{where} is missing"
        elif first["type"] == "value_error":
            fact = f"{where}: {first['ctx']['error']}"
        else:
            belongs = first["msg"].replace("Input", "it", 1).replace(" after validation", "")
            fact = f"{where} is {_SHORT.repr(first['input'])}; {belongs[0].lower()}{belongs[1:]}"
        fact = " ".join(fact.split())  # a text of the document may have broken lines
        raise error(f"{what} is damaged: {fact}" + (f"; {remedy}" if remedy else "")) from None


def _path(location: Sequence[int | str]) -> str:
    """Return a location as text: ``("libraries", "a sort", "inputs", 3)`` is ``libraries['a sort'].inputs[3]``."""
    parts = [part for part in location if part != "[key]"]
    named = (f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]" for part in parts)
    return "".join(named).removeprefix(".") or "the document"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 40
