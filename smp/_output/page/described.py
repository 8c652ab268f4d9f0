"""Turns the description of a figure into plain data for the script of the page.

    Series("copy", x=[1.0, 2.0], y=[34.4183, nan])  ─▶  {"name": "copy", "x": [1, 2], "y": [34.418, null]}

Fields with their default values are left out, whole numbers stay exact, and others are rounded to five digits: the page
stays small, and shows no more than three.  What the script would have to compute is added:

    axis      ends     its two ends
    series    of       for one without a name: the name of the series with which it is hidden
    cells     edges    edges of the cells along x and y
              why      reasons against cells, by "row,column"
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any

from ..figure import Cells, Figure, Panel, Series
from .ends import edges, ends_of

DIGITS = 5


def to_json(figure: Figure) -> str:
    """Return a figure as JSON that can stand in a ``<script>`` element: no text in it can end the element.

    Parameters
    ----------
    figure : Figure
    """
    plain = _plain(figure)
    plain["panels"] = [_panel(panel, ends) for panel, ends in zip(figure.panels, ends_of(figure), strict=True)]
    text = json.dumps(plain, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("</", "<\\/").replace("<!", "\\u003c!")


def family(one: Series, panel: Panel) -> str:
    """Return the name of a series; one without a name belongs to the series that has its colour."""
    twins = (
        other.name for other in panel.series if other.name and (other.colour, other.shade) == (one.colour, one.shade)
    )
    return one.name or next(twins, "")


def against(panel: Panel) -> dict[tuple[int, int], str]:
    """Return the reasons against the cells of a heat map, by row and column; points that lie in the cells give them."""
    return {
        (round(y), round(x)): why
        for one in panel.series
        for x, y, why in zip(*(_list(one.x), _list(one.y)), one.invalid, strict=False)
        if why
    }


def _list(numbers: Any) -> list[float]:
    """Return the numbers of a description as the list that they are kept in."""
    found: list[float] = numbers
    return found


def _panel(panel: Panel, ends: Any) -> dict[str, Any]:
    plain: dict[str, Any] = _plain(panel)
    for which, both in zip("xy", ends, strict=True):
        plain[which]["ends"] = _plain(both)
    shown = [one for one in panel.series if one.name or not panel.cells]  # the others only mark cells
    families = ({} if one.name else {"of": " ".join(family(one, panel).split())} for one in shown)
    plain["series"] = [_plain(one) | more for one, more in zip(shown, families, strict=True)]
    if isinstance(panel.cells, Cells):
        places = (edges(panel.x, _list(panel.cells.x)), edges(panel.y, _list(panel.cells.y)))
        plain["cells"]["edges"] = _plain(places)
        plain["cells"]["why"] = {f"{row},{column}": why for (row, column), why in against(panel).items()}
    return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        known = ((field, getattr(value, field.name)) for field in fields(value))
        return {field.name: _plain(one) for field, one in known if one != field.default and not _is_empty(one)}
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, Real):
        return _rounded(float(value))
    return [_plain(one) for one in value]


def _is_empty(value: Any) -> bool:
    """Return True for a sequence that says nothing, such as the reasons against points that are all valid."""
    return isinstance(value, list | tuple) and not any(one != "" for one in value)


def _rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")
