"""Helpers for the reports of all sections: marks and notes on results that are not valid, and a few of many items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from smp._output.numbers import number, percent
from smp._output.table import Cell, Column, Marked, Plain, Table, text
from smp.profiles.records import PlacementState

Data = Mapping[str, Any]

REASONS = 3
"""Number of different reasons against the points of a table that are printed below it."""
UNKNOWN = "no reason was recorded"
FEW = 3
"""Number of items that `few` keeps unless another number is given."""
STATES = "hand-off of a line, and share of the time"
"""End of a table's title that explains the columns of `by_state`."""

Item = TypeVar("Item")


def few(items: Sequence[Item], most: int = FEW) -> list[Item]:
    """Return at most the given number of items, evenly spaced, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, most).round().astype(int)]


def by_streams(many: int | None) -> str:
    """Return a number of streams in words.

    Examples
    --------
    >>> [by_streams(many) for many in (1, 2, None)]
    ['1 stream', '2 streams', 'streams']
    """
    return "streams" if many is None else f"{many} stream{'s' * (many != 1)}"


def reasons(record: Any) -> str:
    """Return the reasons why a record is not valid, as one line."""
    return "; ".join(record.why or [UNKNOWN])


def listed(
    title: str,
    columns: Mapping[str, Column],
    records: Sequence[Any],
    *notes: str,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Return a table with a row for each record.

    Parameters
    ----------
    title : str
    columns : mapping of str to Column
        Columns by the field of the record that they show; the first is marked if a record is not valid.
    records : sequence of Record
    *notes : str
        Notes below the table; the meaning of the marks is added.
    names : mapping, optional
        Text to print for a value of the first column.
    """
    first, *others = columns
    rows = [cells(names.get(value := getattr(one, first), value), one, *others) for one in records]
    return Table(title, [*columns.values()], rows, [*notes, flagged(records)])


def judged(value: Plain, record: Any) -> Cell:
    """Return a value of a record, marked if the record is not valid."""
    return Marked(value, "!", tuple(record.why or ())) if _invalid(record) else value


def _invalid(record: Any) -> bool:
    return getattr(record, "valid", None) is False


def field(record: Any, name: str) -> Cell:
    """Return a field of a record, marked if the record is not valid; None if there is no record."""
    return None if record is None else judged(getattr(record, name), record)


def cells(first: Plain, record: Any, *names: str) -> list[Cell]:
    """Return the cells of a row: the first, marked if the record is not valid, and some fields of the record."""
    return [judged(first, record), *(getattr(record, name) for name in names)]


def flagged(records: Iterable[Any]) -> str:
    """Return the note that explains the marks of `judged` in a table.

    Returns
    -------
    str
        Number of the records that are not valid, and the commonest reasons; empty if all are valid.
    """
    every = list(records)
    bad = [record for record in every if _invalid(record)]
    if not bad:
        return ""
    found: dict[str, int] = {}
    for reason in (reason for record in bad for reason in record.why or []):
        found[reason] = found.get(reason, 0) + 1
    common = sorted(found, key=lambda reason: -found[reason])
    said = "; ".join(common[:REASONS])
    more = f"; {len(common) - REASONS} more" if len(common) > REASONS else ""
    return f"! not valid, {len(bad)} of {len(every)}" + (f": {said}{more}" if said else "")


def by_state(states: Sequence[PlacementState], unit: str) -> list[Column]:
    """Return a column for each state of the placement, named by its hand-off and its share of the time."""
    return [Column(f"{number(state.ns)} ns, {percent(state.share)}%", unit) for state in states]


def known(values: Iterable[float | None] | None) -> bool:
    """Return True if any value was measured."""
    return any(value is not None for value in values or ())


def by_placement(
    title: str,
    head: str,
    rows: Sequence[tuple[str, float | None, list[float | None] | None]],
    states: Sequence[PlacementState] | None,
    unit: str = "ns",
) -> Iterator[Table]:
    """Yield a table of figures in several states of the placement; nothing if no figure has values in other states.

    Parameters
    ----------
    title : str
    head : str
        Heading of the column of names.
    rows : sequence of (str, float, list or None)
        Name of each row, its figure in the main state, and its figures in the other states.
    states : sequence of PlacementState
        States of the placement, the main one first.
    unit : str
        Unit of the figures.
    """
    if not states or len(states) < 2:
        return
    cells: list[list[Cell]] = [
        [name, *[ns, *others, *[None] * len(states)][: len(states)]]
        for name, ns, others in rows
        if others and known(others)
    ]
    if cells:
        yield Table(f"{title}: {STATES}", [text(head), *by_state(states, unit)], cells)
