"""Layout of a profile: the fields that are read, and the values that they may have; see `smp._computer.documents`.

layout      the machine, and the whole profile with the records of all sections
conditions  the facts of the computer, the other work on it, and how it was measured
access      the cost functions
records     base records that several sections share

The record of each other section is in the section's folder in `smp.microbench`. This module knows the list of sections
by its name, and imports it when a profile is read.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Literal

from pydantic import create_model

from smp._computer.documents import Count, Measured, NotNegative, Record, Size

from .conditions import Conditions, Facts

SECTIONS = "smp.microbench.sections"
"""Name of the module that has the list of all sections."""


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
    kind: Literal["host", "emulated", "mpi"] | None = None


class Unfinished(Record):
    """Sections that an interrupted measurement was to measure, and those that are done."""

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
    """Return the layout of a profile with the given sections; it takes a while to make."""
    fields: dict[str, Any] = {
        section.name: (Measured[section.records()], None)  # type: ignore[misc]  # a class that is known only now
        for section in sections
    }
    return create_model("ProfileLayout", __base__=Envelope, **fields)
