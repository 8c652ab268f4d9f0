"""Reads the document of a machine file: tables of values become frozen dataclasses, and the sources stand next to them.

    receive = 62                                                  a number of the user
    receive = { value = 62, source = "Brewer 1994" }              with its source
    receive = { value = 1.9, unit = "us", source = "measured" }   in another unit than cycles

A ``source`` among the keys of a table is the source of all its values that have none of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from ..errors import MachineFileError
from . import rules
from .keys import joined
from .layout.closest import advice
from .layout.processors import Clock
from .layout.results import RANGE, TERMS, UNITS, Result, is_term
from .layout.settings import LARGEST, Choice, Entries, Group, Leaf, Number, Refused, Text, short
from .layout.tables import Tables
from .layout.values import Frozen

OF_THE_USER = "of the user"
"""Source of a value that stands without one."""
LONGEST_NAME = 120
"""Most characters of a name in a message."""
VALUE, UNIT, SOURCE = "value", "unit", "source"
PRICE = Number("cycles")
ANY = Number(least=-LARGEST)
Made = TypeVar("Made", bound=Tables)


def read(
    document: Any, made: type[Made], what: str, line_of: Callable[[tuple[str, ...]], int | None] | None = None
) -> Made:
    """Return the description in a document.

    Parameters
    ----------
    document
        The document, as TOML gives it, or a mapping of the same form.
    made : type of Tables
        Class of the description.
    what : str
        Name of the document in messages: the path of the file.
    line_of : callable, optional
        Returns the line of the file in which a key stands.

    Raises
    ------
    MachineFileError
        If a key is not known or missing, or a value is not allowed.
    """
    try:
        return Reader().machine(document, made)
    except Refused as refused:
        line = line_of(refused.path) if line_of else None
        where = f"{what}, line {line}" if line else what
        name = joined(refused.path)
        name = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
        fact = f"{name} {refused.fact}" if name else f"the document {refused.fact}"
        raise MachineFileError(f"{where}: {fact}", file=what, line=line, key=name) from None


class Reader:
    """Reads one document. Every refusal has the path of the value."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.hz = 1.0

    def machine(self, document: Any, of: type[Made]) -> Made:
        """Return the whole description."""
        table = self.table(document, ())
        self.known(table, [one.name for one in _TABLES], ())
        self.clock_rate(table)
        made: dict[str, Any] = {}
        for one in _TABLES:
            kind = one.metadata["kind"]
            if isinstance(kind, Entries):
                found = self.table(table.get(one.name, {}), (one.name,))
                part = self.result if kind.published else self.loop
                made[one.name] = Frozen({name: part(value, (one.name, name)) for name, value in found.items()})
            elif isinstance(kind, Group):
                made[one.name] = self.group(one, table, ())
            else:
                made[one.name] = self.leaf(one, table, (), OF_THE_USER)
        machine = of(**made, sources=Frozen(self.sources))
        rules.check(machine)
        return machine

    def clock_rate(self, table: Mapping[str, Any]) -> None:
        """Read the rate of the clock, on which all times in seconds depend."""
        clock = table.get("clock")
        if isinstance(clock, Mapping) and "hz" in clock:
            (rate,) = (one for one in fields(Clock) if one.name == "hz")
            self.hz = self.leaf(rate, clock, ("clock",), OF_THE_USER)

    def group(self, one: Field[Any], table: Mapping[str, Any], path: tuple[str, ...], source: str = OF_THE_USER) -> Any:
        """Return the class of a table in a table, or its default."""
        path = (*path, one.name)
        if one.name not in table:
            return _default(one, path)
        found = self.table(table[one.name], path)
        inner = fields(one.metadata["kind"].of)
        self.known(found, [*(field.name for field in inner), SOURCE], path)
        if SOURCE in found:
            source = self.text(found[SOURCE], (*path, SOURCE))
        made = {}
        for field in inner:
            part = self.group if isinstance(field.metadata["kind"], Group) else self.leaf
            made[field.name] = part(field, found, path, source)
        return one.metadata["kind"].of(**made)

    def leaf(self, one: Field[Any], table: Mapping[str, Any], path: tuple[str, ...], source: str) -> Any:
        """Return the value of a setting, or its default."""
        path = (*path, one.name)
        if one.name not in table:
            return _default(one, path)
        kind = one.metadata["kind"]
        if isinstance(kind, Text):
            return self.text(table[one.name], path)
        return self.value(table[one.name], kind, path, source)

    def value(self, value: Any, kind: Leaf, path: tuple[str, ...], source: str) -> Any:
        """Return a value, which may stand with its unit and its source; keep the source."""
        unit = None
        if isinstance(value, Mapping):
            parts = self.table(value, path)
            self.known(parts, (VALUE, UNIT, SOURCE), path)
            if VALUE not in parts:
                raise Refused(f"has no value; write {{ value = ..., source = ... }}: {kind.allowed}", *path)
            value = parts[VALUE]
            unit = self.text(parts[UNIT], (*path, UNIT)) if UNIT in parts else None
            source = self.text(parts[SOURCE], (*path, SOURCE)) if SOURCE in parts else source
        try:
            made = kind.read(value, unit, self.hz)
        except Refused as refused:
            raise Refused(refused.fact, *path) from None
        self.sources[joined(path)] = source
        return made

    def loop(self, value: Any, path: tuple[str, ...]) -> Frozen[float]:
        """Return the terms of a loop's time."""
        found = self.table(value, path)
        return self.terms(found, (SOURCE,), (), PRICE, path)

    def result(self, value: Any, path: tuple[str, ...]) -> Result:
        """Return a published result."""
        found = self.table(value, path)
        terms = self.terms(found, (SOURCE, UNIT, "sets", "what"), RANGE, ANY, path)
        made: dict[str, Any] = {}
        if UNIT in found:
            try:
                made[UNIT] = Choice(UNITS).read(found[UNIT], None, self.hz)
            except Refused as refused:
                raise Refused(refused.fact, *path, UNIT) from None
        if "what" in found:
            made["what"] = self.text(found["what"], (*path, "what"))
        if "sets" in found:
            if not isinstance(found["sets"], list | tuple):
                raise Refused(f"is {short(found['sets'])}; it must be a list of names of settings", *path, "sets")
            made["sets"] = tuple(self.text(name, (*path, "sets")) for name in found["sets"])
        return Result(terms=terms, **made)

    def terms(
        self, found: Mapping[str, Any], others: Iterable[str], also: Iterable[str], kind: Number, path: tuple[str, ...]
    ) -> Frozen[float]:
        """Return the terms of a table, which may have certain other keys."""
        source = self.text(found[SOURCE], (*path, SOURCE)) if SOURCE in found else OF_THE_USER
        names = [name for name in found if name not in others]
        for name in names:
            if not is_term(name, also):
                raise Refused(
                    f"is not a term; a term is {TERMS}{''.join(f', or {one}' for one in also)}"
                    f"{advice(name, ('constant', *also, *others))}",
                    *path,
                    name,
                )
        if not names:
            raise Refused(f"has no term; a term is {TERMS}", *path)
        return Frozen({name: self.value(found[name], kind, (*path, name), source) for name in names})

    def table(self, value: Any, path: tuple[str, ...]) -> Mapping[str, Any]:
        """Return a table, or refuse a value that is none."""
        if not isinstance(value, Mapping):
            raise Refused(f"is {short(value)}; it must be a table", *path)
        for key in value:
            if not isinstance(key, str) or not key:
                raise Refused(f"has the key {short(key)}; a key must be a text that is not empty", *path)
            try:
                key.encode()
            except UnicodeEncodeError:
                raise Refused(f"has the key {short(key)}, which UTF-8 cannot encode", *path) from None
        return value

    def known(self, table: Mapping[str, Any], keys: Iterable[str], path: tuple[str, ...]) -> None:
        """Refuse a table that has another key than these."""
        keys = list(keys)
        for key in table:
            if key not in keys:
                where = f"[{joined(path)}]" if path else "a machine file"
                near = advice(key, keys) or _elsewhere(key) or "."
                raise Refused(f"is not known{near} The keys of {where} are {', '.join(keys)}", *path, key)

    def text(self, value: Any, path: tuple[str, ...]) -> str:
        """Return a text."""
        try:
            return Text().read(value)
        except Refused as refused:
            raise Refused(refused.fact, *path) from None


_TABLES = [one for one in fields(Tables) if one.metadata]


def _default(one: Field[Any], path: tuple[str, ...]) -> Any:
    if one.default is not MISSING:
        return one.default
    kind = one.metadata["kind"]
    needed = "a table" if isinstance(kind, Group) else kind.allowed
    raise Refused(f"is missing; it must be {needed} ({one.metadata['meaning']})", *path)


def _elsewhere(key: str) -> str:
    """Return a hint if another table has a key."""
    kinds = {one.name: one.metadata["kind"] for one in _TABLES}
    found = [
        f"[{name}]"
        for name, kind in kinds.items()
        if isinstance(kind, Group) and key in {inner.name for inner in fields(kind.of)}
    ]
    return f"; there is such a key in {' and '.join(found)}." if found else ""
