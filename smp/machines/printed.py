"""Tables of one description with its sources, and of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._output.table import Column, Part, Table, text
from .layout.units import SHOWN, as_shown
from .machine import MachineFile
from .walking import Setting, settings_of

DIGITS = 12
USES = "set: settings were chosen for this result. check: nothing was set from it, so agreement with it is evidence."


def description(machine: MachineFile) -> Part:
    """Return the tables of a description: its settings and its published results, with the source of each number."""
    found = [one for one in settings_of(machine) if one.value is not None]
    settings = [
        [one.name, _value(one), _unit(one), machine.source_of(one.name)] for one in found if one.path[0] != "published"
    ]
    results = [
        [_result(machine, one), _value(one), one.unit, _use(machine, one), _about(machine, one)]
        for one in found
        if one.path[0] == "published"
    ]
    notes = [machine.source and f"Source: {machine.source}.", machine.note]
    tables = [Table("Settings", (text("setting"), _number("value"), text("unit"), text("source")), settings)]
    if results:
        columns = (text("result"), _number("value"), text("unit"), text("use"), text("source"))
        tables.append(Table("Published results", columns, results, [USES]))
    return Part(f"{machine.name}: {machine.processors} processors", [*tables, Table(notes=notes)])


def comparison(machines: Sequence[MachineFile]) -> Part:
    """Return a table with the settings of several descriptions, a column for each."""
    of_each = [{one.name: one for one in settings_of(machine) if one.value is not None} for machine in machines]
    # the order of the tables, in which a loop of one machine stands after those of the machine before
    names = sorted({name: None for machine in of_each for name in machine}, key=_place(machines))
    rows = []
    for name in names:
        found = [machine.get(name) for machine in of_each]
        first = next(filter(None, found))
        if first.path[0] != "published":
            rows.append([name, _unit(first), *(None if one is None else _value(one) for one in found)])
    columns = (text("setting"), text("unit"), *(_number(machine.name) for machine in machines))
    return Part(" and ".join(machine.name for machine in machines), [Table("Settings", columns, rows)])


def _place(machines: Sequence[MachineFile]) -> Any:
    places: dict[str, int] = {}
    tables: dict[str, int] = {}
    for machine in machines:
        for one in settings_of(machine):
            tables.setdefault(one.path[0], len(tables))
            places.setdefault(one.name, len(places))
    return lambda name: (tables[name.partition(".")[0]], places[name])


def _number(name: str) -> Column:
    return Column(name, form="short", digits=DIGITS)


def _value(one: Setting) -> float | str:
    if isinstance(one.value, bool):
        return str(one.value).lower()
    if isinstance(one.value, str):
        return one.value
    if isinstance(one.value, tuple):
        return ", ".join(f"{as_shown(value, one.unit):.{DIGITS}g}" for value in one.value)
    return as_shown(one.value, one.unit)


def _unit(one: Setting) -> str:
    return SHOWN.get(one.unit, one.unit)


def _use(machine: MachineFile, one: Setting) -> str:
    return "set" if machine.published[one.path[1]].sets else "check"


def _about(machine: MachineFile, one: Setting) -> str:
    sets = machine.published[one.path[1]].sets
    uses = f"set from it: {', '.join(sets)}" if sets else ""
    return "; ".join(filter(None, (machine.source_of(one.name), one.meaning, uses)))


def _result(machine: MachineFile, one: Setting) -> str:
    """Return the name of a result, with that of the term if there are several."""
    _, name, term = one.path
    return name if len(machine.published[name].terms) == 1 else f"{name}.{term}"
