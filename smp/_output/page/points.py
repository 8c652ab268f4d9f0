"""Puts the points of a figure into tables, which a reader without JavaScript or without eyesight can read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..figure import Axis, Cells, Figure, Panel, Series
from ..table import Bounded, Cell, Column, Marked, Table, text
from .described import against, family
from .ends import has_bars

MOST_ROWS = 100
"""Most rows of a table of points. The data behind the drawing has all points."""
MOST_REASONS = 3
Key = tuple[float, int]
"""Position of a point along the axis that names the rows, and how many points of the series there were before."""


def tables(figure: Figure) -> Iterator[Table]:
    """Yield the table of each panel: a row for each position, a column for each series."""
    for panel in figure.panels:
        yield _map(panel, panel.cells) if panel.cells else _curves(panel)


def _curves(panel: Panel) -> Table:
    across = has_bars(panel) or bool(panel.y.names)  # the rows are positions along y
    rows, values = (panel.y, panel.x) if across else (panel.x, panel.y)
    found: dict[str, dict[Key, Cell]] = {}
    for one in panel.series:
        name, points = _name(one, panel) or values.label, _points(one, across, bool(rows.names))
        while found.get(name, {}).keys() & points.keys():
            name += " "  # another series of the same name has points at the same positions
        found.setdefault(name, {}).update(points)
    keys = sorted({key for points in found.values() for key in points})
    columns = [_positions(rows, keys), *(_column(values, name) for name in found)]
    cells = [[_position(rows, key[0]), *(points.get(key, "") for points in found.values())] for key in keys[:MOST_ROWS]]
    return Table(panel.title, columns, cells, _notes(panel.series, len(keys)))


def _points(one: Series, across: bool, listed: bool) -> dict[Key, Cell]:
    along, values = (one.y, one.x) if across else (one.x, one.y)
    if one.kind == "band":
        along, values = one.x, [(low + high) / 2 for low, high in zip(_list(one.low), _list(one.high), strict=True)]
    found: dict[Key, Cell] = {}
    seen: Counter[float] = Counter()
    for k, (at, value) in enumerate(zip(_list(along), _list(values), strict=True)):
        if math.isnan(at) or math.isnan(value):
            continue
        at = round(at) if listed else at  # points are moved a little so that they do not hide each other
        found[at, seen[at]] = _cell(one, k, value)
        seen[at] += 1
    return found


def _cell(one: Series, k: int, value: float) -> Cell:
    """Return the value of a point with its spread; that of a bar with its ends if it does not begin at 0."""
    low, high = (_list(one.low)[k], _list(one.high)[k]) if _list(one.low) else (math.nan, math.nan)
    if _list(one.start):
        low, high = _list(one.start)[k], _list(one.start)[k] + value
    shown = Bounded(value, low, high) if math.isfinite(low) and math.isfinite(high) else value
    why = one.invalid[k] if one.invalid else ""
    return Marked(shown, "!", (why,)) if why else shown


def _map(panel: Panel, cells: Cells) -> Table:
    """Return the table of a heat map, with the marks of the points that lie in its cells."""
    names = {one.colour: one.name for one in panel.series if one.name}
    why = against(panel)
    rows = []
    for row, (y, line) in enumerate(zip(_list(cells.y), _list(cells.values), strict=True)):
        shown: list[Cell] = [_position(panel.y, y)]
        for column, value in enumerate(line):
            one: Any = "" if math.isnan(value) else names.get(int(value), "") if cells.named else value
            reason = why.get((row, column))
            shown.append(Marked(one, "!", (reason,)) if reason else one)
        rows.append(shown)
    heads = [_position(panel.x, x) for x in _list(cells.x)]
    columns = [text(panel.y.label), *(Column(str(head), form="text" if cells.named else "number") for head in heads)]
    title = ", ".join(filter(None, (panel.title, cells.label, cells.unit, f"by {panel.x.label}")))
    return Table(title, columns, rows, _notes(panel.series, len(rows)))


def _notes(series: Sequence[Series], rows: int) -> list[str]:
    reasons = list(dict.fromkeys(why for one in series for each in one.invalid for why in each.split("; ") if why))
    more = f"; {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
    return [
        f"! not valid: {'; '.join(reasons[:MOST_REASONS])}{more}" if reasons else "",
        f"The first {MOST_ROWS} of {rows:,} rows; the button CSV saves all." if rows > MOST_ROWS else "",
    ]


def _name(one: Series, panel: Panel) -> str:
    name = family(one, panel)
    return name if one.name or not name else f"{name}, {one.kind}"


def _column(axis: Axis, name: str) -> Column:
    form = {"bytes": "bytes", "s": "time"}.get(axis.unit, "number")
    return Column(" ".join(name.split()), axis.unit if form == "number" else "", form)


def _positions(axis: Axis, keys: Sequence[Key]) -> Column:
    if axis.names:
        return text(axis.label)
    whole = all(float(at).is_integer() for at, _ in keys)
    made = _column(axis, axis.label)
    return Column(made.name, made.unit, "count") if whole and made.form == "number" else made


def _position(axis: Axis, at: float) -> Any:
    return axis.names[round(at)] if axis.names and 0 <= round(at) < len(axis.names) else at


def _list(values: Any) -> list[Any]:
    """Return the numbers of a description, which are kept as lists, as what they are."""
    return list(values)
