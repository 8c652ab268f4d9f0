"""Tables of trials and effects as text, like tables 2, 2-B and 3 of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smp._output.numbers import fixed, short
from smp._output.table import Cell, Column, Marked, counted, text
from smp._output.terminal import Printed
from smp.models._types import FloatArray

from ..designs.design import Design

_WORDS = 6  # most aliases shown of one contrast


class Analysis(Protocol):
    """The parts of an analysis that tables read: see `smp.perturb.analysis.effects`."""

    @property
    def design(self) -> Design: ...
    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def sources(self) -> tuple[str, ...]: ...
    @property
    def mean(self) -> float: ...
    @property
    def effects(self) -> FloatArray: ...
    @property
    def uncertainty(self) -> float: ...
    @property
    def freedom(self) -> float: ...
    @property
    def factor(self) -> float: ...
    @property
    def replications(self) -> int: ...
    @property
    def means(self) -> FloatArray: ...
    @property
    def expanded(self) -> float: ...
    @property
    def scattering(self) -> tuple[str, ...]: ...
    def levels(self, factor: str) -> tuple[tuple[float, float], tuple[float, float]]: ...
    @property
    def significant(self) -> NDArray[np.bool_]: ...
    def readable(self) -> Analysis: ...


def trials_table(analysis: Analysis) -> Printed:
    """Return a table of the signs of the trials and their mean responses, and next to them the effects (table 2).

    The two parts of a row do not belong together: on the left are the trials, on the right the effects in Yates order.
    """
    analysis = analysis.readable()
    right = [("mean", analysis.mean), *zip(analysis.sources, _effects(analysis), strict=True)]
    rows = [
        [i + 1, *("+" if level > 0 else "-" for level in analysis.design.levels[i]), analysis.means[i], effect, source]
        for i, (source, effect) in enumerate((_short(analysis, source), effect) for source, effect in right)
    ]
    response, effect = _response(analysis, analysis.name), _response(analysis, "effect")
    signs = (Column(factor, form="count") for factor in analysis.design.factors)
    return Printed("", (counted("trial"), *signs, response, effect, text("source")), rows, [*footing(analysis)])


def effects_table(analysis: Analysis, ordered: bool = False, largest: int | None = None) -> Printed:
    """Return a table of the mean and the effects, with their sources and marks (tables 2-B and 3).

    Parameters
    ----------
    analysis : Analysis
    ordered : bool
        True for the largest effects first, False for Yates order.
    largest : int, optional
        Show at most this many of the largest effects, and how many are left out.
    """
    analysis = analysis.readable()
    rows = list(zip((_short(analysis, source) for source in analysis.sources), _effects(analysis), strict=True))
    if ordered or largest is not None:
        rows = [rows[i] for i in sorted(range(len(rows)), key=lambda i: -abs(analysis.effects[i]))]
    left = len(rows[largest:]) if largest is not None else 0
    title = f"{analysis.name} ({analysis.unit})" if analysis.unit else analysis.name
    columns = text("source"), _response(analysis, "effect")
    smaller = f"{left} smaller effects are left out" if left else ""
    return Printed(title, columns, [("mean", analysis.mean), *rows[:largest]], [smaller, *footing(analysis)])


def footing(analysis: Analysis) -> Iterator[str]:
    """Yield notes on the standard uncertainties of effects and mean, and on the meaning of the marks."""
    s, digits = analysis.uncertainty, _decimals(analysis.uncertainty)
    origin = (
        f"{analysis.replications} replications" if analysis.replications > 1 else "Lenth's estimate, no replications"
    )
    freedom = f"{short(analysis.freedom, 3)} degrees of freedom"
    yield f"standard uncertainty of an effect: S = {fixed(s, digits)} ({origin}, {freedom})"
    yield f"standard uncertainty of the mean: {fixed(s / 2, digits)}"
    for name in analysis.scattering:
        (without, s_without), (delayed, s_delayed) = analysis.levels(name)
        yield (
            f"the scatter differs by level: mean without the delay of {name} {fixed(without, digits)} +/- "
            f"{short(s_without, 2)}, with it {fixed(delayed, digits)} +/- {short(s_delayed, 2)}"
        )
    yield f"* exceeds {short(analysis.factor, 3)} S = {fixed(analysis.expanded, digits)}"


def _response(analysis: Analysis, name: str) -> Column:
    """Return a column in the unit of the response, with enough decimals for two digits of the uncertainty."""
    return Column(name, analysis.unit, "fixed", _decimals(analysis.uncertainty))


def _effects(analysis: Analysis) -> list[Cell]:
    effects = zip(analysis.effects.tolist(), analysis.significant, strict=True)
    return [Marked(effect, "*") if marked else effect for effect, marked in effects]


def _short(analysis: Analysis, source: str) -> str:
    joint = "+" if all(len(name) == 1 for name in analysis.design.factors) else " OR "
    parts = source.split(joint)
    return source if len(parts) <= _WORDS else joint.join(parts[:_WORDS]) + f"{joint}... ({len(parts) - _WORDS} more)"


def _decimals(uncertainty: float) -> int:
    """Return the number of decimals at which the uncertainty has two digits."""
    if not uncertainty > 0 or not np.isfinite(uncertainty):
        return 3
    return max(0, 1 - math.floor(math.log10(uncertainty)))
