"""Writes a description as a document, and as the text of a machine file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .keys import joined, text
from .layout.tables import Tables
from .walking import settings_of

HEAD = ("name", "source", "note")
ABOUT = ("unit", "sets", "what")


def document(tables: Tables) -> dict[str, Any]:
    """Return the document of a description: nested mappings, in which each value stands with its source."""
    made: dict[str, Any] = {key: getattr(tables, key) for key in HEAD if getattr(tables, key)}
    for one in settings_of(tables):
        if one.name not in tables.sources:
            continue  # by default
        table = made
        for key in one.path[:-1]:
            table = table.setdefault(key, {})
        value = list(one.value) if isinstance(one.value, tuple) else one.value
        table[one.path[-1]] = {"value": value, "source": tables.sources[one.name]}
    for name, result in tables.published.items():
        made["published"][name] |= {key: _plain(getattr(result, key)) for key in ABOUT if getattr(result, key)}
    return made


def toml(tables: Tables) -> str:
    """Return the text of a machine file with the settings of a description."""
    return "\n".join(_lines(document(tables), ())).lstrip("\n") + "\n"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def is_value(value: Any) -> bool:
    """Return True for a value of a document, with or without its source, and False for a table."""
    return not isinstance(value, dict) or ("value" in value and not isinstance(value["value"], dict))


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    values = {key: value for key, value in table.items() if is_value(value)}
    if path and values:
        yield from ("", f"[{joined(path)}]")
    for key, value in values.items():
        yield f"{joined((key,))} = {_written(value)}"
    for key, value in table.items():
        if key not in values:
            yield from _lines(value, (*path, key))


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ value = {_written(value['value'])}, source = {_written(value['source'])} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return text(value) if isinstance(value, str) else repr(value)
