"""The page of a comparison: the tables, and the figures of the first two profiles in one.

lines and points    a solid and round, b dashed and square, in the same colour
bars, heat maps     a figure for each profile
three and more      one more section, with the key figures of all profiles
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smp._output.figure import Axis, Figure, Panel, Series
from smp._output.page.page import Caution, KeyFigure, Page, Section, render
from smp._output.table import Cell, Column, Marked, Row, Table, ratio, text
from smp.profiles.profile import Profile

from ..predictions.comparison import Comparison
from ..sections import SECTIONS
from .key_numbers import key_figures
from .plots import figures_of

BUSY = "it was measured on a busy computer, so none of its figures is valid"
INVALID = "! not valid; a ratio is above 1 if the figure is larger than that of the first profile"
READING = "a bar for each profile; hollow bars are not valid"
ROUND, SQUARE = 0, 1
"""Markers of the profiles a and b."""


def page_of_comparison(comparison: Comparison, profiles: Sequence[Profile]) -> str:
    """Return the page of a comparison of these profiles as one HTML file."""
    a, b, *more = profiles
    names = [f"{each.name}: {each.what}" for each in comparison.profiles]
    drawn = [_section(name, a, b) for name in SECTIONS if a.data.get(name) and b.data.get(name)]
    if more:
        drawn.insert(0, _all([each.name for each in comparison.profiles], [key_figures(each) for each in profiles]))
    page = Page(
        title=f"{len(names)} profiles compared",
        conditions="; ".join(names),
        cautions=[Caution(each.name, BUSY) for each in comparison.profiles if each.busy],
        key_figures=list(_key_figures(a, b)),
        sections=[Section("summary", "Figures that differ", tables=comparison.report().tables), *drawn],
        data_name="comparison.json",
        data=json.dumps(comparison.to_json(), indent=1, allow_nan=False).encode(),
        data_text="The file has all rows of the tables.",
    )
    return render(page)


def _key_figures(a: Profile, b: Profile) -> Iterator[KeyFigure]:
    """Yield the key figures that both profiles have, with the value of b in large letters."""
    ours = {one.name: one for one in key_figures(a)}
    for one in key_figures(b):
        if base := ours.get(one.name):
            why = "; ".join(f"{name}: {each.why}" for name, each in (("a", base), ("b", one)) if each.why)
            yield replace(one, name=f"{one.name}, b", about=[f"a: {base.value} {base.unit}"], why=why)


def _all(names: Sequence[str], found: Sequence[Sequence[KeyFigure]]) -> Section:
    """Return the section with the key figures of all profiles: a table with ratios to the first, and a bar of each."""
    of_each = [{one.name: one for one in figures} for figures in found]
    base = of_each[0]
    shared = [key for key in base if any(key in others for others in of_each[1:])]
    rows: list[Row] = []
    panels = []
    for key in shared:
        known = [each.get(key) for each in of_each]
        values = [_value(one) if one else None for one in known]
        numbers = [one.number if one else math.nan for one in known]
        rows.append([key, base[key].unit, *values, *(number / base[key].number for number in numbers[1:])])
        bars = Series("", numbers, range(len(names)), "bar", invalid=[one.why if one else "" for one in known])
        panels.append(Panel(Axis("", base[key].unit, low=0.0), Axis("", names=names), [bars], title=key))
    ratios = [ratio(f"{name} / {names[0]}") for name in names[1:]]
    table = Table("", [text("key figure"), text("unit"), *map(Column, names), *ratios], rows, [INVALID])
    figure = Figure("key-figures", "The key figures of all profiles", READING, panels, columns=3)
    return Section("all", "All profiles", figures=[figure] if panels else [], tables=[table])


def _value(one: KeyFigure) -> Cell:
    return Marked(one.number, "!", (one.why,)) if one.why else one.number


def _section(name: str, a: Profile, b: Profile) -> Section:
    title = SECTIONS[name].title
    described = [list(figures_of(each.data, name)) for each in (a, b)]
    theirs = {figure.id: figure for figure in described[1]}
    figures = [one for figure in described[0] if figure.id in theirs for one in together(figure, theirs[figure.id])]
    return Section(name, title[0].upper() + title[1:], figures=figures)


def together(a: Figure, b: Figure) -> Iterator[Figure]:
    """Yield one figure with the series of both; two if it has bars or heat maps, or other panels."""
    alike = [panel.title for panel in a.panels] == [panel.title for panel in b.panels]
    if alike and all(_has_lines(panel) for figure in (a, b) for panel in figure.panels):
        pairs = zip(a.panels, b.panels, strict=True)
        panels = [replace(one, series=[*_named(one, "a"), *_named(other, "b")]) for one, other in pairs]
        yield replace(a, title=f"a: {a.title}; b: {b.title}", panels=panels)
        return
    for name, figure in (("a", a), ("b", b)):
        yield replace(figure, id=f"{figure.id}-{name}", title=f"{name}: {figure.title}")


def _has_lines(panel: Panel) -> bool:
    return panel.cells is None and all(one.kind in ("line", "points") for one in panel.series)


def _named(panel: Panel, name: str) -> Iterator[Series]:
    for one in panel.series:
        look = replace(one, name=f"{one.name}, {name}" if one.name else "")
        if name == "b":
            look = replace(look, dash="dashed", hollow=True)
        yield replace(look, marker=(ROUND if name == "a" else SQUARE) if one.marker is not None else None)
