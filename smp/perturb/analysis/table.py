"""Trials and effects as text, after tables 2, 2-B and 3 of the paper."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smp._output.tables import aligned

from .._types import FloatArray
from ..designs.design import Design

_WORDS = 6  # aliases shown of one contrast


class Analysis(Protocol):
    """What is read of an analysis: see `smp.perturb.analysis.effects`."""

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
    def significant(self) -> NDArray[np.bool_]: ...
    def readable(self) -> Analysis: ...


def trials_table(analysis: Analysis) -> str:
    """Return the signs of the trials, their mean responses, and beside them the effects (table 2).

    The rows on the left and on the right are two tables: trials, and contrasts in Yates order.
    """
    analysis = analysis.readable()
    design, digits = analysis.design, _decimals(analysis.uncertainty)
    marks = ["", *_marks(analysis)]
    right = [("mean", analysis.mean), *zip(analysis.sources, analysis.effects.tolist(), strict=True)]
    rows = [["trial", *design.factors, _title(analysis), "effect", "", "source"]]
    for i, (source, effect) in enumerate(right):
        signs = ["+" if level > 0 else "-" for level in design.levels[i]]
        numbers = [f"{analysis.means[i]:.{digits}f}", f"{effect:.{digits}f}"]
        rows.append([str(i + 1), *signs, *numbers, marks[i], _short(analysis, source)])
    return aligned(rows, words={len(rows[0]) - 1}) + "\n" + footing(analysis)


def effects_table(analysis: Analysis, ordered: bool = False, largest: int | None = None) -> str:
    """Return the mean and the effects with their sources and marks (tables 2-B and 3).

    Parameters
    ----------
    analysis : Analysis
    ordered : bool
        The largest effects first; else in Yates order.
    largest : int, optional
        So many of the largest effects, and how many are left out.
    """
    analysis = analysis.readable()
    digits, marks = _decimals(analysis.uncertainty), _marks(analysis)
    which = list(range(len(analysis.effects)))
    if ordered or largest is not None:
        which.sort(key=lambda i: -abs(analysis.effects[i]))
    left = len(which[largest:]) if largest is not None else 0
    rows = [["source", "effect", ""], ["mean", f"{analysis.mean:.{digits}f}", ""]]
    for i in which[:largest]:
        rows.append([_short(analysis, analysis.sources[i]), f"{analysis.effects[i]:.{digits}f}", marks[i]])
    lines = [_title(analysis), aligned(rows, words={0, 2})]
    if left:
        lines.append(f"and {left} smaller ones")
    return "\n".join([*lines, footing(analysis)])


def footing(analysis: Analysis) -> str:
    """Return what the uncertainty is, of what, and what the marks say."""
    s, digits = analysis.uncertainty, _decimals(analysis.uncertainty)
    freedom = f"{analysis.freedom:.3g} degrees of freedom"
    origin = f"{analysis.replications} replications" if analysis.replications > 1 else "Lenth, no replications"
    return "\n".join(
        [
            f"standard uncertainty of an effect: S = {s:.{digits}f} ({origin}, {freedom})",
            f"standard uncertainty of the mean: {s / 2:.{digits}f}",
            f"* exceeds {analysis.factor:.3g} S = {analysis.expanded:.{digits}f}",
        ]
    )


def _title(analysis: Analysis) -> str:
    return f"{analysis.name} ({analysis.unit})" if analysis.unit else analysis.name


def _marks(analysis: Analysis) -> list[str]:
    return ["*" if marked else "" for marked in analysis.significant]


def _short(analysis: Analysis, source: str) -> str:
    joint = "+" if all(len(name) == 1 for name in analysis.design.factors) else " OR "
    parts = source.split(joint)
    return source if len(parts) <= _WORDS else joint.join(parts[:_WORDS]) + f"{joint}... ({len(parts) - _WORDS} more)"


def _decimals(uncertainty: float) -> int:
    """So many that the uncertainty has two digits."""
    if not uncertainty > 0 or not np.isfinite(uncertainty):
        return 3
    return max(0, 1 - math.floor(math.log10(uncertainty)))
