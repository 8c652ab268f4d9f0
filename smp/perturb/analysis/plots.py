"""The `figures` drawn with Matplotlib, each a figure of its own to look at or to save."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from smp._output.drawing import Picture, draw

from . import figures
from .effects import Analysis
from .ladder import Ladder


def half_normal(analysis: Analysis) -> Picture:
    """Draw `figures.half_normal`."""
    return draw(figures.half_normal(analysis))


def effects(analysis: Analysis) -> Picture:
    """Draw `figures.effects`."""
    return draw(figures.effects(analysis))


def ladders(found: dict[str, Ladder], unit: str = "s", delay: str = "s") -> Picture:
    """Draw `figures.ladders`."""
    return draw(figures.ladders(found, unit, delay))


def response(
    values: Sequence[float], responses: dict[str, ArrayLike], parameter: str, name: str = "time", unit: str = "s"
) -> Picture:
    """Draw `figures.response`."""
    return draw(figures.response(values, responses, parameter, name, unit))
