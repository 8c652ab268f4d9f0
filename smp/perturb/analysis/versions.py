"""Two versions of a program beside each other: effects as percentages of the unperturbed run (table 2-C).

Data, delays and design may differ between versions, and with them all effects; only the normalised ones compare, and
only as far as the delays were as large a part of each version.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smp._output.table import Column, Marked, text
from smp._output.terminal import Printed

from .effects import Analysis

_ROUNDING = 1e-9  # per cent: below it nothing has changed


class Compared(NamedTuple):
    """One factor in two versions; percentages of the unperturbed run of each, NaN where it was not tested."""

    factor: str
    before: float
    after: float
    change: float
    uncertainty: float
    """Standard uncertainty of the change."""
    significant: bool
    """Whether the change exceeds the expanded uncertainty."""


def unperturbed(analysis: Analysis) -> float:
    """Return the mean response of the trial without any delay.

    Raises
    ------
    ValueError
        Where the design has no such trial: give a baseline that was measured by itself.
    """
    without = np.flatnonzero((analysis.design.levels < 0).all(axis=1))
    if not without.size:
        raise ValueError(
            f"{analysis.design.name} has no trial without delays: give the unperturbed response as baseline"
        )
    return float(analysis.means[without[0]])


def normalised(analysis: Analysis, baseline: float | None = None) -> dict[str, float]:
    """Return the main effects in per cent of the unperturbed response.

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
    """Compare the main effects of two versions, factor by factor, those of the first version first.

    Raises
    ------
    ValueError
        Where a baseline is missing, or not above zero.
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
    """Return the comparison; per cent of the unperturbed runs."""
    percents = (Column(name, "%", "fixed") for name in (*titles, "change", "S"))
    shown = [
        [row.factor, row.before, row.after, Marked(row.change, "*") if row.significant else row.change, row.uncertainty]
        for row in rows
    ]
    note = "S: standard uncertainty of the change; * exceeds the noise of both"
    return Printed("", (text("source"), *percents), shown, [note])


def _uncertainty(analysis: Analysis, baseline: float | None, percent: float) -> float:
    """Return the standard uncertainty of an effect in per cent of the baseline.

    A trial's mean has an uncertainty of ``sqrt(n) / 2`` times S, and a covariance of ``-S**2 / 2`` with an effect in
    whose sum it is one of n, with a minus. A baseline that is given is taken as exact.
    """
    share, n = percent / 100, analysis.design.trials
    scatter = 1 + share + share**2 * n / 4 if baseline is None else 1.0
    return 100 * analysis.uncertainty / _baseline(analysis, baseline) * math.sqrt(scatter)


def _baseline(analysis: Analysis, baseline: float | None) -> float:
    value = unperturbed(analysis) if baseline is None else baseline
    if not value > 0:
        raise ValueError(f"an unperturbed response of {value}: percentages need one above zero")
    return value
