"""Puts the points of a figure into tables, which a reader without JavaScript or without eyesight can read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..figure import Axis, Cells, Figure, Panel, Series
from ..table import Bounded, Cell, Column, Marked, Table, text
from .described import against, family

MOST_ROWS = 100
"""Most rows of a table of points. The data behind the drawing has all points."""
MOST_REASONS = 3
Key = tuple[float, int]
"""Position of a point along the axis that names the rows, and how many points of the series there were before."""


def tables(figure: Figure) -> Iterator[Table]:
    """Yield the tables of each panel: a row for each position, a column for each series."""
    for panel in figure.panels:
        if panel.cells:
            yield _map(panel, panel.cells)
        else:
            bars = [one for one in panel.series if one.kind == "bar"]
            others = [one for one in panel.series if one.kind != "bar"]
            across = bool(bars) or bool(panel.y.names)  # the rows are positions along y
            yield _curves(panel, [*bars, *others], across)


def _curves(panel: Panel, series: Sequence[Series], across: bool) -> Table:
    rows, values = (panel.y, panel.x) if across else (panel.x, panel.y)
    found = [_points(one, across) for one in series]
    keys = sorted({key for points in found for key in points})
    columns = [_positions(rows, keys), *(_column(values, _name(one, panel) or values.label) for one in series)]
    cells = [[_position(rows, key[0]), *(points.get(key, "") for points in found)] for key in keys[:MOST_ROWS]]
    return Table(panel.title, columns, cells, _notes(series, len(keys)))


def _points(one: Series, across: bool) -> dict[Key, Cell]:
    along, values = (one.y, one.x) if across else (one.x, one.y)
    if one.kind == "band":
        along, values = one.x, [(low + high) / 2 for low, high in zip(_list(one.low), _list(one.high), strict=True)]
    found: dict[Key, Cell] = {}
    seen: Counter[float] = Counter()
    for k, (at, value) in enumerate(zip(_list(along), _list(values), strict=True)):
        if math.isnan(at) or math.isnan(value):
            continue
        found[at, seen[at]] = _cell(one, k, value, _list(one.low), _list(one.high))
        seen[at] += 1
    return found


def _cell(one: Series, k: int, value: float, low: Sequence[float], high: Sequence[float]) -> Cell:
    known = k < len(low) and math.isfinite(low[k]) and math.isfinite(high[k])
    shown = Bounded(value, low[k], high[k]) if known else value
    why, note = one.invalid[k] if one.invalid else "", one.notes[k] if one.notes else ""
    mark = " ".join(filter(None, (note, "!" if why else "")))
    return Marked(shown, mark, (why,) if why else ()) if mark else shown


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
    reasons = list(dict.fromkeys(why for one in series for why in one.invalid if why))
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
