"""Comparison of two versions of a program: effects as percentages of the unperturbed run (table 2-C).

Data, delays and design may differ between versions, and all effects with them. Only the normalised effects can be
compared, and only as far as the delays are equally large parts of each version.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smp._output.table import Column, Marked, text
from smp._output.terminal import Printed

from .effects import Analysis

_ROUNDING = 1e-9  # per cent; a smaller difference is no change


class Compared(NamedTuple):
    """One factor in two versions; effects in per cent of the unperturbed run of each, NaN if it was not tested."""

    factor: str
    before: float
    after: float
    change: float
    uncertainty: float
    """Standard uncertainty of the change."""
    significant: bool
    """True if the change exceeds the expanded uncertainty."""


def unperturbed(analysis: Analysis) -> float:
    """Return the mean response of the trial without any delay.

    Raises
    ------
    ValueError
        If the design has no such trial; then give a baseline that was measured separately.
    """
    without = np.flatnonzero((analysis.design.levels < 0).all(axis=1))
    if not without.size:
        raise ValueError(
            f"{analysis.design.name} has no trial without delays: give the unperturbed response as the baseline"
        )
    return float(analysis.means[without[0]])


def normalised(analysis: Analysis, baseline: float | None = None) -> dict[str, float]:
    """Return the main effects as percentages of the unperturbed response.

    Parameters
    ----------
    analysis : Analysis
    baseline : float, optional
        The unperturbed response; by default that of the trial without delays.
    """
    scale = 100 / _baseline(analysis, baseline)
    return {factor: scale * analysis.effect(factor) for factor in analysis.design.factors}


def compare(
    before: Analysis, after: Analysis, baselines: tuple[float | None, float | None] = (None, None)
) -> list[Compared]:
    """Compare the main effects of two versions, factor by factor, the factors of the first version first.

    Raises
    ------
    ValueError
        If a baseline is missing, or not above zero.
    """
    versions = list(zip((before, after), baselines, strict=True))
    first, second = (normalised(one, base) for one, base in versions)
    rows = []
    for factor in dict.fromkeys([*first, *second]):
        percents = first.get(factor, math.nan), second.get(factor, math.nan)
        change = percents[1] - percents[0]
        noise = [_uncertainty(one, base, percent) for (one, base), percent in zip(versions, percents, strict=True)]
        expanded = max(math.hypot(noise[0] * before.factor, noise[1] * after.factor), _ROUNDING)
        uncertainty = math.hypot(*noise) + 0 * change  # NaN with it
        rows.append(Compared(factor, *percents, change, uncertainty, abs(change) > expanded))
    return rows


def comparison_table(rows: list[Compared], titles: tuple[str, str] = ("before", "after")) -> Printed:
    """Return a table of the comparison, in per cent of the unperturbed runs."""
    percents = (Column(name, "%", "fixed") for name in (*titles, "change", "S"))
    shown = [
        [row.factor, row.before, row.after, Marked(row.change, "*") if row.significant else row.change, row.uncertainty]
        for row in rows
    ]
    note = "S: standard uncertainty of the change; * exceeds the noise of both versions"
    return Printed("", (text("factor"), *percents), shown, [note])


def _uncertainty(analysis: Analysis, baseline: float | None, percent: float) -> float:
    """Return the standard uncertainty of an effect in per cent of the baseline.

    The mean of one trial has an uncertainty of ``sqrt(n) / 2`` times S. It is one of the n terms of an effect, with a
    minus sign, so its covariance with the effect is ``-S**2 / 2``. A given baseline is taken as exact.
    """
    share, n = percent / 100, analysis.design.trials
    scatter = 1 + share + share**2 * n / 4 if baseline is None else 1.0
    return 100 * analysis.uncertainty / _baseline(analysis, baseline) * math.sqrt(scatter)


def _baseline(analysis: Analysis, baseline: float | None) -> float:
    value = unperturbed(analysis) if baseline is None else baseline
    if not value > 0:
        raise ValueError(f"percentages need an unperturbed response above zero, not {value}")
    return value
