"""The page of a comparison: the tables, and the figures of the first two profiles in one.

lines and points    a solid and round, b dashed and square, in the same colour
bars, heat maps     a figure for each profile
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from smp._output.figure import Figure, Panel, Series
from smp._output.page.page import Caution, KeyFigure, Page, Section, render
from smp.profiles.profile import Profile

from ..predictions.comparison import Comparison
from ..sections import SECTIONS
from .key_numbers import key_figures
from .plots import figures_of

BUSY = "it was measured on a busy computer, so none of its figures is valid"
ROUND, SQUARE = 0, 1
"""Markers of the profiles a and b."""


def page_of_comparison(comparison: Comparison, a: Profile, b: Profile) -> str:
    """Return the page of a comparison, whose first two profiles are a and b, as one HTML file."""
    names = [f"{each.name}: {each.what}" for each in comparison.profiles]
    drawn = [_section(name, a, b) for name in SECTIONS if a.data.get(name) and b.data.get(name)]
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
