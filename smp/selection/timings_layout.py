"""Layout of the timings of an unfinished calibration as JSON; see `documents`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from .._computer.documents import NotNegative, Number, Record

Added = Annotated[tuple[dict[str, Number], bool], Field(strict=False)]
"""Loops of a point, and True if it is for verification. JSON has no tuples, so a list is accepted."""


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
