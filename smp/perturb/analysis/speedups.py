"""Predicted gain from making a place faster: its sensitivity times the time that is spent in it.

The sensitivity of a place is the number of seconds that a delay of one second there adds to the response. Removing a
second that is spent there anyway saves the same number, if the response is in proportion to the delay (see `ladder`).

Delays in proportion to the time of a pass, such as ``treatment="stretch:50%"``, are best. A program in which all places
except one take half as long again is the program with that one faster by a third, in slow motion. So the effect of a
place while all others are delayed is its gain. Its effect while no other is delayed is only what it would cost if the
place were slower. The main effect lies between the two: it is the mean over all patterns of the other delays. The three
differ only if the place has interactions with others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc  # F; scipy.stats would take half a second to import

from smp._output.table import Column, Marked, text
from smp._output.terminal import Printed
from smp.models._types import FloatArray

from .effects import ROUNDING, Analysis, mark
from .interactions import Conditional, alone, ends
from .noise import CHANCE


class Gain(NamedTuple):
    """Predicted gain from one place."""

    factor: str
    sensitivity: float
    """Response per unit of delay at the place."""
    uncertainty: float
    """Standard uncertainty of the sensitivity."""
    spent: float
    """Time in the place as it is now."""
    gain: float
    """Amount by which the response would fall if the place took no time; half of it if the place took half the time."""
    significant: bool
    """True if the effect exceeds the expanded uncertainty."""
    ends: tuple[float, float] | None = None
    """The gains by the effects while no other place is delayed, and while all others are; None if they are the same."""


class Gains(list[Gain]):
    """Gains of places, the most promising first; as text a table, with notes on doubtful gains.

    Attributes
    ----------
    least : float
        Smallest mean response of the trials.
    """

    def __init__(self, rows: Iterable[Gain], least: float) -> None:
        super().__init__(rows)
        self.least = least

    def table(self) -> Printed:
        """Return a table of the gains, with a note on doubtful ones."""
        absurd = ", ".join(row.factor for row in self if row.significant and row.gain > self.least)
        doubt = (
            f"doubtful, because the gain exceeds the time of a run: {absurd}; many threads may pass the place at once, "
            "or it may be so short that counting and treating it take longer"
        )
        table = gains_table(self)
        return replace(table, notes=[doubt if absurd else "", *table.notes])

    def __str__(self) -> str:
        return str(self.table())


def gains(analysis: Analysis, delayed: Mapping[str, float], spent: Mapping[str, float], single: bool = False) -> Gains:
    """Predict the gain of each place, with the largest first.

    Parameters
    ----------
    analysis : Analysis
        Effects on a response that is a time.
    delayed : mapping of float
        For each factor, the delay that its treatment adds to a run: the sum over all passes of the place, in the unit
        of the response. With several processors, it is the sum over the passes of one processor.
    spent : mapping of float
        For each factor, the time in its place without delays, counted in the same way.
    single : bool
        Use the effect that the factor has with no other delay (`interactions.alone`) instead of its main effect, which
        is the mean over the delays of the others. It ranks gains worse (see docs/perturb.md). The reason is places at
        which different processors take about the same time: each costs in full when it is delayed alone, and none gains
        when it is made faster alone.

    Notes
    -----
    In a full factorial design, a factor with significant interactions has the gain by its effect while all others are
    delayed.  In a fractional design it has that of its main effect, since interactions may be those of other factors.
    In both cases, `Gain.ends` has both ends.

    Raises
    ------
    ValueError
        If a factor has no delay or no time.
    """
    effects = {factor: (analysis.effect(factor), analysis.uncertainty) for factor in analysis.design.factors}
    both = ends(analysis)
    if single:
        effects = alone(analysis)
    elif analysis.design.is_full:
        effects.update({factor: (found.beside, found.uncertainty_beside) for factor, found in both.items()})
    least = float(analysis.means.min())
    marked = {factor: (*found, analysis.factor) for factor, found in effects.items()}
    return _gains(marked, {} if single else both, analysis.rounding, least, delayed, spent)


def gains_of_speedup(
    factors: Sequence[str], responses: FloatArray, delayed: Mapping[str, float], spent: Mapping[str, float]
) -> Gains:
    """Predict the gains from trials of the design "speedup"; see `smp.perturb.designs.slow_motion`.

    Parameters
    ----------
    factors : sequence of str
    responses : ndarray (replicates, factors + 1)
        A time for each trial, that of all delays first.
    delayed, spent
        As for `gains`.

    Raises
    ------
    ValueError
        If a factor has no delay or no time, or if there is only one replicate.

    Notes
    -----
    The scatter of a run is that of all trials together.  If the trials scatter differently, the uncertainty of a gain
    is that of the two trials whose difference it is (Welch; degrees of freedom by Satterthwaite).
    """
    replicates, trials = responses.shape
    if replicates < 2:
        raise ValueError("one replicate of the trials shows no noise: run at least 2")
    means, variances, freedom = responses.mean(axis=0), responses.var(axis=0, ddof=1), replicates - 1
    effects, differ = {}, _scatter_differently(variances, freedom)
    for k, factor in enumerate(factors, 1):
        two = variances[[0, k]] if differ else np.full(2, variances.mean())
        known = freedom * float(two.sum() ** 2 / (two**2).sum()) if differ and two.any() else freedom * trials
        effects[factor] = float(means[0] - means[k]), math.sqrt(float(two.sum()) / replicates), mark(known)
    rounding = ROUNDING * float(np.abs(responses).max())
    return _gains(effects, {}, rounding, float(means.min()), delayed, spent)


def _scatter_differently(variances: FloatArray, freedom: int) -> bool:
    """Return True if the largest and the smallest of some variances differ by more than noise explains."""
    least, most, pairs = float(variances.min()), float(variances.max()), math.comb(len(variances), 2)
    return most > 0 and (not least or 2 * pairs * fdtrc(freedom, freedom, most / least) < CHANCE)


def _gains(
    effects: Mapping[str, tuple[float, float, float]],
    both: Mapping[str, Conditional],
    rounding: float,
    least: float,
    delayed: Mapping[str, float],
    spent: Mapping[str, float],
) -> Gains:
    """Return the gains by effects, their standard uncertainties, and the factors of these that mark an effect."""
    rows = []
    for factor, (effect, s, factor_of_s) in effects.items():
        if factor not in delayed or factor not in spent or not delayed[factor] > 0 or not spent[factor] >= 0:
            raise ValueError(
                f"{factor} is delayed by {delayed.get(factor)}, with {spent.get(factor)} spent in it; each factor "
                "needs a delay above zero and a time"
            )
        each = spent[factor] / delayed[factor]
        marked = abs(effect) > max(factor_of_s * s, rounding)
        two = (both[factor].without * each, both[factor].beside * each) if factor in both else None
        rows.append(
            Gain(factor, effect / delayed[factor], s / delayed[factor], spent[factor], effect * each, marked, two)
        )
    return Gains(sorted(rows, key=lambda row: -row.gain), least)


def gains_table(rows: list[Gain], unit: str = "s") -> Printed:
    """Return a table of the gains; seconds are shown in suitable units."""
    form, unit = ("time", "") if unit == "s" else ("number", unit)
    both = any(row.ends for row in rows)
    columns = (
        *(text("place"), Column("sensitivity")),
        *(Column(name, unit, form) for name in ("time inside", "gain", "+/-")),
        *(Column(name, unit, form) for name in ("others fast", "others slow") if both),
    )
    shown = [
        [
            *(row.factor, row.sensitivity, row.spent, Marked(row.gain, "*") if row.significant else row.gain),
            row.uncertainty * row.spent,
            *((row.ends or (None, None)) if both else ()),
        ]
        for row in rows
    ]
    note = "others fast, slow: the gain by the effects while no other place is delayed, and while all others are"
    return Printed("", columns, shown, [note * both])
