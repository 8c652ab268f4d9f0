"""The layout of a profile: what of it is read, and what that may hold; see `documents`.

layout      machine, and with it the records of all sections
conditions  the facts of the computer, what else it did, and how it was measured
access      the cost functions
records     what the records of several sections begin with

The record of each other section stands in its folder among the microbenchmarks: their list is known here by its name,
and imported when a profile is read.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Literal

from pydantic import create_model

from smp._computer.documents import Count, Measured, NotNegative, Record, Size

from .conditions import Conditions, Facts

SECTIONS = "smp.microbench.sections"
"""The module that has the list of all sections."""


class Cache(Record):
    level: Count
    bytes: Size
    shared_by: Size


class Machine(Record):
    name: str | None = None
    cpu: str
    cpus: Size
    clock_GHz: NotNegative | None = None
    clock_source: str | None = None
    line_bytes: Size
    caches: list[Cache]
    virtual: bool | None = None
    kind: Literal["host", "emulated"] | None = None


class Unfinished(Record):
    """What an interrupted measurement was to measure, and what of it is done."""

    sections: list[str]
    done: list[str]
    added_to: str | None = None


class Envelope(Record):
    """A profile of version 1, without its sections."""

    version: Literal[1]
    machine: Machine
    created: str | None = None
    smp: str | None = None
    samples: str | None = None
    conditions: Measured[Conditions] = None
    facts: Measured[Facts] = None
    unfinished: Unfinished | None = None


def section_layout(name: str) -> type[Record]:
    """Return the class of a section's record."""
    found: type[Record] = importlib.import_module(SECTIONS).SECTIONS[name].records()
    return found


def profile_layout() -> type[Record]:
    """Return the layout of a whole profile; a section that is missing was not measured."""
    return _layout(tuple(importlib.import_module(SECTIONS).SECTIONS.values()))


@functools.cache
def _layout(sections: tuple[Any, ...]) -> type[Record]:
    """Return the layout of a profile that has some sections, which takes a while to make."""
    fields: dict[str, Any] = {
        section.name: (Measured[section.records()], None)  # type: ignore[misc]  # a class that is known only now
        for section in sections
    }
    return create_model("ProfileLayout", __base__=Envelope, **fields)
