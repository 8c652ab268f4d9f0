"""Checks that a figure has a title, names of axes and units, and that nothing lies beyond the edge of its picture."""

from typing import Any

from smp._output.drawing import Picture, draw
from smp._output.figure import Figure, Panel, Series
from smp.microbench.sections import SECTIONS


def check(figure: Figure) -> Picture:
    """Assert that a figure is complete and fits its picture; return it drawn."""
    axes = [axis for panel in figure.panels for axis in (panel.x, panel.y)]
    assert figure.title, figure.id
    assert any(panel.x.label for panel in figure.panels), figure.id
    assert any(axis.unit for axis in axes), figure.id
    picture = draw(figure)
    picture.draw_without_rendering()
    box = picture.get_tightbbox()  # in inches
    assert min(box.x0, box.y0) >= 0, figure.id
    assert box.x1 <= 12, figure.id
    assert box.y1 <= 8, figure.id
    return picture


def described(section: str, data: dict[str, Any], samples: Any = None) -> dict[str, Figure]:
    """Return the figures of a section of a profile, by id."""
    one = SECTIONS[section]
    found = one.records().model_validate(data)
    return {figure.id: figure for figure in one.part("plots", "figures")(found, samples)}


def series(panel: Panel, name: str) -> Series:
    """Return the only series of this name."""
    (found,) = [one for one in panel.series if one.name == name]
    return found


def points(panel: Panel, name: str) -> list[list[float]]:
    """Return x and y of each point of the only series of this name."""
    found = series(panel, name)
    return [list(point) for point in zip(found.x, found.y, strict=True)]
