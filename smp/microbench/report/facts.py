"""A table of facts about the computer, each with its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from smp._computer.facts import FACTS, FOLDERS
from smp._output import numbers
from smp._output.table import Part, Table, text

COLUMNS = (text("fact"), text("value"), text("source"))
NOTE = f"{'; '.join(f'{short}/ is /{folder}' for short, folder in FOLDERS.items())}."


def part(facts: Mapping[str, Any]) -> Part:
    """Return the part of a report with the facts that are known.

    Parameters
    ----------
    facts : mapping
        Facts from `smp._computer.facts.gather`, or from a profile.
    """
    rows = [
        [fact.title, said(name, facts[name]), fact.source]
        for name, fact in FACTS.items()
        if facts.get(name) not in (None, "")
    ]
    return Part("The computer", [Table(columns=COLUMNS, rows=rows, notes=[NOTE])])


def said(name: str, value: Any) -> str:
    """Return the value of a fact as text."""
    if name in _SAID:
        return _SAID[name](value)
    if isinstance(value, dict):
        return "; ".join(f"{key} {each}" for key, each in value.items())
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    unit = FACTS[name].unit
    return numbers.size(value) if unit == "bytes" else f"{numbers.short(value)} {unit}".strip()


def ranges(cpus: Iterable[int]) -> str:
    """Return CPU numbers in the form in which the kernel lists them.

    Examples
    --------
    >>> ranges([0, 1, 2, 8])
    '0-2,8'
    """
    found: list[list[int]] = []
    for cpu in cpus:
        if found and cpu == found[-1][-1] + 1:
            found[-1] = [found[-1][0], cpu]
        else:
            found.append([cpu])
    return ",".join("-".join(map(str, ends)) for ends in found)


def _caches(found: list[dict[str, Any]]) -> str:
    """Return the number of caches of each kind and size."""
    counts: dict[str, int] = {}
    for cache in found:
        letter = {"Data": "d", "Instruction": "i"}.get(cache["type"], "")
        kind = f"L{cache['level']}{letter} {numbers.size(cache['bytes'])}"
        counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(f"{count} x {kind}" for kind, count in counts.items())


def _nodes(found: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"node {node['node']}: CPUs {node['cpus']}, {numbers.size(node['bytes'])}"
        + (f", distances {' '.join(map(str, node['distances']))}" if len(found) > 1 else "")
        for node in found
    )


def _mitigations(found: dict[str, str]) -> str:
    """Return the vulnerabilities, grouped by their state: the text of each up to its first colon."""
    kinds: dict[str, list[str]] = {}
    for name, said in found.items():
        kinds.setdefault(said.partition(":")[0].lower(), []).append(name)
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in sorted(kinds.items())) or "not affected"


_SAID: dict[str, Callable[[Any], str]] = {
    "affinity": ranges,
    "siblings": "; ".join,
    "caches": _caches,
    "nodes": _nodes,
    "mitigations": _mitigations,
    "uptime_s": lambda seconds: f"{seconds / 3600:.1f} h",
    "load": numbers.fixed,
}
"""Functions for facts that need a form of their own."""
