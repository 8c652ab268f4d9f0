"""The settings of a description one by one, in the order of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from .keys import joined
from .layout.results import Result
from .layout.settings import Entries, Group, Number, Several, Text
from .layout.tables import Tables


@dataclass(frozen=True)
class Setting:
    """A setting, or a term of a loop or of a published result.

    Attributes
    ----------
    path : tuple of str
    value : object
        None if the file leaves it out.
    unit : str
        Base unit; empty for none.
    meaning : str
    """

    path: tuple[str, ...]
    value: Any
    unit: str
    meaning: str

    @property
    def name(self) -> str:
        """Name of the setting."""
        return joined(self.path)


def settings_of(tables: Tables) -> Iterator[Setting]:
    """Yield the settings that have sources, with those that the file leaves out."""
    for one in fields(Tables):
        kind = one.metadata.get("kind")
        if kind is None or isinstance(kind, Text):
            continue
        value = getattr(tables, one.name)
        if isinstance(kind, Entries):
            yield from _entries(value, one.name)
        elif isinstance(kind, Group):
            yield from _group(value, kind.of, (one.name,))
        else:
            yield Setting((one.name,), value, "", one.metadata["meaning"])


def all_names(tables: Tables) -> list[str]:
    """Return the names of all settings, with those that the file leaves out."""
    return [one.name for one in settings_of(tables)]


def _group(table: Any, of: type, path: tuple[str, ...]) -> Iterator[Setting]:
    for one in fields(of):
        kind, value = one.metadata["kind"], getattr(table, one.name, None)
        if isinstance(kind, Group):
            yield from _group(value, kind.of, (*path, one.name))
        else:
            yield Setting((*path, one.name), value, _unit(kind), one.metadata["meaning"])


def _entries(entries: Any, table: str) -> Iterator[Setting]:
    for name, entry in entries.items():
        terms, unit, what = (
            (entry.terms, entry.unit, entry.what) if isinstance(entry, Result) else (entry, "cycles", "")
        )
        for term, value in terms.items():
            yield Setting((table, name, term), value, unit, what)


def _unit(kind: Any) -> str:
    number = kind.each if isinstance(kind, Several) else kind
    return number.unit if isinstance(number, Number) else ""
