"""What making a place faster would bring: its sensitivity times the time that is spent in it.

A delay of one second at a place costs as many seconds of response as its sensitivity says; taking away a second that
is spent there anyway brings them back, as long as the program answers in proportion (see `ladder`).

Best are delays in proportion to the time that a pass takes, ``treatment="50%"``. A program in which all places but one
take half as long again is the program with that one faster by a third, in slow motion: so the effect of a place beside
delays at all others is what it gains, and its effect alone only what it would cost were it slower. The main effect lies
between them: it is the mean over all patterns of the other delays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from smp._output.table import Column, Marked, text
from smp._output.terminal import Printed

from .effects import Analysis
from .interactions import alone


class Gain(NamedTuple):
    """What one place promises."""

    factor: str
    sensitivity: float
    """Response per unit of delay."""
    uncertainty: float
    """Standard uncertainty of the sensitivity."""
    spent: float
    """Time in the place, as it is."""
    gain: float
    """By how much the response would fall if the place took no time; half of it if it took half."""
    significant: bool
    """Whether the effect exceeds the expanded uncertainty."""


class Gains(list[Gain]):
    """Places, the most promising first; as text a table, with what to doubt.

    Attributes
    ----------
    least : float
        The least mean response of the trials.
    """

    def __init__(self, rows: Iterable[Gain], least: float) -> None:
        super().__init__(rows)
        self.least = least

    def table(self) -> Printed:
        """Return the places and what to doubt."""
        absurd = ", ".join(row.factor for row in self if row.significant and row.gain > self.least)
        doubt = (
            f"more than a run takes, so doubt it: {absurd}: is the place passed by many threads at once, or so short "
            "that counting and treating it take longer?"
        )
        return replace(gains_table(self), notes=[doubt if absurd else ""])

    def __str__(self) -> str:
        return str(self.table())


def gains(analysis: Analysis, delayed: Mapping[str, float], spent: Mapping[str, float], single: bool = False) -> Gains:
    """Predict the gain of each place, the largest first.

    Parameters
    ----------
    analysis : Analysis
        Of a response that is a time.
    delayed : mapping of float
        Of each factor: the delay that its treatment adds to a run, all visits to the place together, in the unit of
        the response. With several processors, the sum over the visits of one.
    spent : mapping of float
        Of each factor: the time in its place without delays, counted in the same way.
    single : bool
        Take the effect that the factor has with no other delay (`interactions.alone`) instead of its main effect, the
        mean over the delays of the others. The main effect ranks gains better (see docs/perturb.md): of places at which
        different processors take about as long, each costs in full when it is delayed alone, and none gains when it is
        made faster alone.

    Raises
    ------
    ValueError
        For a factor without a delay or a time.
    """
    effects = {factor: (analysis.effect(factor), analysis.uncertainty) for factor in analysis.design.factors}
    if single:
        effects = alone(analysis)
    rows = []
    for factor, (effect, s) in effects.items():
        if factor not in delayed or factor not in spent or not delayed[factor] > 0 or not spent[factor] >= 0:
            raise ValueError(
                f"{factor}: delayed by {delayed.get(factor)}, {spent.get(factor)} spent in it; each factor "
                "needs a delay above zero and a time"
            )
        sensitivity = effect / delayed[factor]
        marked = abs(effect) > max(analysis.factor * s, analysis.rounding)
        gain = sensitivity * spent[factor]
        rows.append(Gain(factor, sensitivity, s / delayed[factor], spent[factor], gain, marked))
    return Gains(sorted(rows, key=lambda row: -row.gain), float(analysis.means.min()))


def gains_table(rows: list[Gain], unit: str = "s") -> Printed:
    """Return the gains; those in seconds in the units that suit them."""
    form, unit = ("time", "") if unit == "s" else ("number", unit)
    columns = (
        *(text("place"), Column("sensitivity")),
        *(Column(name, unit, form) for name in ("spent", "gain", "+/-")),
    )
    shown = [
        [
            *(row.factor, row.sensitivity, row.spent, Marked(row.gain, "*") if row.significant else row.gain),
            row.uncertainty * row.spent,
        ]
        for row in rows
    ]
    return Printed("", columns, shown)
