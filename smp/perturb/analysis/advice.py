"""The next step of the screening (steps 5 and 6 of section 2.1): which factors to drop, keep, split or fold over."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from scipy.special import fdtrc  # F; scipy.stats would take half a second to import

from smp._output.numbers import short
from smp._output.table import text
from smp._output.terminal import Printed

from ..designs import words
from .detectable import WORTH, Power, power
from .effects import Analysis
from .interactions import likely_pairs, saturations

_DOMINATES = 3.0  # times the next largest effect
_MANY = 1_000  # replicates: more are no advice
_SCATTERS, _CHANCE = 3.0, 1e-4  # times as much as without the delay; how often noise would make it so


class Step(NamedTuple):
    """What to do about one factor, and why."""

    factor: str
    action: str
    """``drop``, ``undecided``, ``keep``, ``split``, ``fold over``, ``search`` or ``smaller delay``."""
    reason: str


def next_steps(
    analysis: Analysis, delayed: Mapping[str, float], spent: Mapping[str, float], worth: float = WORTH
) -> list[Step]:
    """Return a step for each factor, or two, in their order.

    drop: neither the factor nor an interaction of it is significant, and an effect worth having is excluded.
    undecided: they are not significant, and an effect worth having is not excluded either; the reason says how many
    more replicates, or how much longer a delay, would decide.
    keep: it is; improve the place, or screen again with finer factors.
    split: it is, and far beyond all others: find out which part of the place it is.
    fold over: what is measured may as well be an interaction, or another one.
    search: its delay makes the program faster: search over levels (`smp.perturb.experiments.search`).
    smaller delay: it hides the effect of another factor, or its trials scatter so much more than the others that small
    effects are lost.

    Parameters
    ----------
    analysis : Analysis
    delayed, spent : mapping of float
        Of each factor: the delay that its treatment adds to a run, and the time in its place without delays, both in
        the unit of the response and as for `gains`.  NaN, or a factor that is missing, stands for a treatment without
        a length, and for a time that is not known.
    worth : float
        A place is worth improving that would save this share of a run if it took no time; its effect is the effect
        worth having (see `smp.perturb.analysis.detectable.worth_having`).

    Raises
    ------
    ValueError
        For a share that is not above 0.
    """
    if not 0 < worth < math.inf:
        raise ValueError(f"a place that saves {worth} of a run: what is worth having is a share above 0, as 0.05")
    given, analysis = analysis, analysis.readable()
    scale = analysis.mean / given.mean if given.mean else 1.0
    worse = -1 if analysis.name == "throughput" else 1  # the sign of an effect that is for the worse
    effects = {factor: analysis.effect(factor) for factor in analysis.design.factors}
    ranked = sorted(effects, key=lambda factor: -abs(effects[factor]))
    pairs = likely_pairs(analysis)
    unit = f" {analysis.unit}" if analysis.unit else ""
    reasons: dict[tuple[str, str], list[str]] = {}

    def say(factor: str, action: str, reason: str) -> None:
        reasons.setdefault((factor, action), []).append(reason)

    for factor, effect in effects.items():
        text = f"{short(effect, 3)}{unit}"
        beside = [pair for pair in pairs if factor in pair]
        if not analysis.is_significant(factor):
            if beside:
                say(factor, "keep", f"{text} alone is noise, but {'&'.join(beside[0])} is significant")
                continue
            found = power(given, factor, delayed.get(factor, math.nan), spent.get(factor, math.nan), worth)
            large = f"{short(scale * found.worth, 2)}{unit}"
            text = f"{short(effect, 3)} +/- {short(analysis.expanded, 2)}{unit}"
            if found.excluded:
                say(factor, "drop", f"{text}, which excludes {large}")
            else:
                say(factor, "undecided", f"{text} excludes neither 0 nor {large}; {_deciding(found)}")
            continue
        if worse * effect < 0:
            say(factor, "search", f"{text}: its delay makes the program faster")
        elif len(ranked) > 1 and factor == ranked[0] and abs(effect) > _DOMINATES * abs(effects[ranked[1]]):
            say(
                factor,
                "split",
                f"{text}, the next largest is {short(effects[ranked[1]], 3)}{unit}: improve it, or its parts",
            )
        else:
            say(factor, "keep", text)
        if doubt := _doubt(analysis, factor):
            say(factor, "fold over", f"it may be {doubt} instead")
        if times := _scatters(analysis, factor):
            say(
                factor,
                "smaller delay",
                f"its trials scatter {times:.0f} times as much as the others, and hide small effects",
            )
    for pair in pairs:
        word = "&".join(pair)
        if doubt := _doubt(analysis, word):
            say(pair[0], "fold over", f"{word} may be {doubt} instead: fold over on {pair[0]} alone")
    for one in saturations(analysis):
        say(one.by, "smaller delay", f"{one.hidden} does not show beside it ({short(one.beside, 2)}{unit})")
    steps = [Step(factor, action, "; ".join(why)) for (factor, action), why in reasons.items()]
    return sorted(steps, key=lambda step: list(effects).index(step.factor))


def _deciding(found: Power) -> str:
    """Return what would decide."""
    if math.isinf(found.replicates):
        return "the treatment adds nothing to a run"
    replicates = f"{found.replicates:,} more replicates"
    if math.isnan(found.times):
        return f"{replicates} would decide"
    digits = 10.0 ** (math.floor(math.log10(found.times)) - 1)
    longer = f"{math.ceil(found.times / digits) * digits:,.5g} times the delay"
    return f"{replicates}, or {longer}, would decide" if found.replicates <= _MANY else f"{longer} would decide"


def steps_table(steps: list[Step]) -> Printed:
    """Return the steps."""
    return Printed("", [text(name) for name in ("factor", "step", "why")], steps)


def _scatters(analysis: Analysis, factor: str) -> float:
    """Return how many times as much as the others the trials with a delay scatter; 0 where it is not clearly more."""
    freedom = (analysis.replications - 1) * analysis.design.trials // 2
    if not freedom:
        return 0.0
    squares = analysis.responses.var(axis=0, ddof=1)
    treated = analysis.design.levels[:, analysis.design.factors.index(factor)] > 0
    more, less = float(squares[treated].mean()), float(squares[~treated].mean())
    if not more > _SCATTERS**2 * less or (less and fdtrc(freedom, freedom, more / less) > _CHANCE):
        return 0.0
    return math.sqrt(more / less) if less else math.inf


def _doubt(analysis: Analysis, word: str) -> str:
    """Return the interactions, of two factors with significant effects both, that a significant effect may be."""
    design = analysis.design
    found = [
        other
        for other in (design.aliases(word, order=2) if design.regular else ())
        if len(who := words.parsed(design.factors, other)[0]) == 2
        and all(analysis.is_significant(design.factors[i]) for i in who)
    ]
    return " or ".join(found)
