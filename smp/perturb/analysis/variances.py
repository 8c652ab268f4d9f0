"""Analysis of variance: the variation of the responses divided among effects, blocks in time and noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smp._output.table import Column, counted, text
from smp._output.terminal import Printed

from .effects import Analysis, block_means

_COLUMNS = (
    *(text("source"), Column("sum of squares", form="short"), counted("degrees of freedom")),
    *(Column("F", form="short"), Column("p", form="short", digits=2)),
)


class Row(NamedTuple):
    """One source of variation."""

    source: str
    squares: float
    """Sum of squares, in the unit of the response squared."""
    freedom: int
    ratio: float
    """F, the mean square divided by that of noise; NaN if the source is not tested."""
    p_value: float


def anova(analysis: Analysis) -> list[Row]:
    """Return a row for each contrast, for the blocks in time, for noise and for the total.

    With N trials in r replications, a contrast has the sum of squares ``N * r * effect**2 / 4``. These rows and those
    of blocks and noise add up to the total. Without replications there is no row of noise. F is ``(effect / S)**2`` in
    either case; without replications S is Lenth's.
    """
    r, n = analysis.responses.shape
    squares = n * r * analysis.effects**2 / 4
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(analysis.lost, np.nan, (analysis.effects / analysis.uncertainty) ** 2)
    p_values = np.where(analysis.lost, np.nan, analysis.p_values)
    rows = [
        Row(source, float(square), 1, float(ratio), float(p))
        for source, square, ratio, p in zip(analysis.sources, squares, ratios, p_values, strict=True)
    ]
    if r > 1:
        within = block_means(analysis.responses, analysis.blocks)
        between = float(((within - within.mean(axis=0)) ** 2).sum())
        rest = analysis.responses - within
        count = len(np.unique(analysis.blocks))
        rows.append(Row("blocks in time", between, (r - 1) * count, np.nan, np.nan))
        noise = float(((rest - rest.mean(axis=0)) ** 2).sum())
        rows.append(Row("noise", noise, (r - 1) * (n - count), np.nan, np.nan))
    total = float(((analysis.responses - analysis.mean) ** 2).sum())
    return [*rows, Row("total", total, n * r - 1, np.nan, np.nan)]


def anova_table(analysis: Analysis) -> Printed:
    """Return the rows of `anova`, the largest effects first."""
    rows = anova(analysis)
    effects = sorted(rows[: len(analysis.effects)], key=lambda row: -row.squares)
    shown = [
        [row.source, row.squares, row.freedom, *(("", "") if np.isnan(row.ratio) else (row.ratio, row.p_value))]
        for row in [*effects, *rows[len(analysis.effects) :]]
    ]
    return Printed("", _COLUMNS, shown)
