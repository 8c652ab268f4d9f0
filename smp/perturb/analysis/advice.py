"""Next steps of the screening (steps 5 and 6 of section 2.1): which factors to drop, keep, split or fold over."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from smp._output.numbers import short
from smp._output.table import text
from smp._output.terminal import Printed

from ..designs import words
from .detectable import WORTH, Power, power
from .effects import Analysis
from .interactions import likely_pairs, saturations

_DOMINATES = 3.0  # times the next largest effect
_MANY = 1_000  # replicates; more are not advised
_SCATTERS = 3.0  # ratio to the scatter without the delay


class Step(NamedTuple):
    """Advice about one factor, with the reason."""

    factor: str
    action: str
    """``drop``, ``undecided``, ``keep``, ``split``, ``fold over``, ``search`` or ``smaller delay``."""
    reason: str


def next_steps(
    analysis: Analysis, delayed: Mapping[str, float], spent: Mapping[str, float], worth: float = WORTH
) -> list[Step]:
    """Return one or more steps for each factor, in the order of the factors.

    drop: neither the factor nor any of its interactions is significant, and an effect worth having is excluded.
    undecided: they are not significant, and an effect worth having is not excluded either. The reason says how many
    more replicates, or how much longer a delay, would decide.
    keep: the factor or one of its interactions is significant. Improve the place, or screen again with finer factors.
    split: the effect is significant, and far larger than all others. Find out which part of the place causes it.
    fold over: the measured effect may be an interaction, or a different interaction, instead. Run the foldover of the
    design, too, to separate them (`Design.folded`).
    search: the delay makes the program faster. Search over levels (`smp.perturb.experiments.search`).
    smaller delay: the delay hides the effect of another factor. Or its trials scatter so much more than the others that
    small effects are lost.

    Parameters
    ----------
    analysis : Analysis
    delayed, spent : mapping of float
        For each factor, the delay that its treatment adds to a run, and the time in its place without delays. Both are
        in the unit of the response, as for `gains`. If a factor is missing or NaN, its treatment has no known length,
        or the time in its place is not known.
    worth : float
        Share of a run. A place that would save this share if it took no time is worth improving; its effect is the
        effect worth having (see `smp.perturb.analysis.detectable.worth_having`).

    Raises
    ------
    ValueError
        If the share is not above 0.
    """
    if not 0 < worth < math.inf:
        raise ValueError(f"worth must be a share of a run above 0, such as 0.05, not {worth}")
    given, analysis = analysis, analysis.readable()
    scale = analysis.mean / given.mean if given.mean else 1.0
    worse = -1 if analysis.name == "throughput" else 1  # the sign of a harmful effect
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
                say(factor, "keep", f"{text} alone is within the noise, but {'&'.join(beside[0])} is significant")
                continue
            found = power(given, factor, delayed.get(factor, math.nan), spent.get(factor, math.nan), worth)
            large = f"{short(scale * found.worth, 2)}{unit}"
            text = f"{short(effect, 3)} +/- {short(analysis.expanded, 2)}{unit}"
            if found.excluded:
                say(factor, "drop", f"{text} excludes {large}")
            else:
                say(factor, "undecided", f"{text} excludes neither 0 nor {large}; {_deciding(found)}")
            continue
        if worse * effect < 0:
            say(factor, "search", f"{text}: the delay makes the program faster")
        elif len(ranked) > 1 and factor == ranked[0] and abs(effect) > _DOMINATES * abs(effects[ranked[1]]):
            say(
                factor,
                "split",
                f"{text}; the next largest is {short(effects[ranked[1]], 3)}{unit}: improve the place or its parts",
            )
        else:
            say(factor, "keep", text)
        if doubt := _doubt(analysis, factor):
            say(factor, "fold over", f"the effect may be that of {doubt} instead")
        if times := _scatters(analysis, factor):
            say(
                factor,
                "smaller delay",
                f"trials with its delay scatter {times:.0f} times as much as the others, which hides small effects",
            )
    for pair in pairs:
        word = "&".join(pair)
        if doubt := _doubt(analysis, word):
            say(
                pair[0],
                "fold over",
                f"the effect of {word} may be that of {doubt} instead: fold over on {pair[0]} alone",
            )
    for one in saturations(analysis):
        say(
            one.by,
            "smaller delay",
            f"with this delay, {one.hidden} has almost no effect ({short(one.beside, 2)}{unit})",
        )
    steps = [Step(factor, action, "; ".join(why)) for (factor, action), why in reasons.items()]
    return sorted(steps, key=lambda step: list(effects).index(step.factor))


def _deciding(found: Power) -> str:
    """Return the number of replicates or the longer delay that would decide, as text."""
    if math.isinf(found.replicates):
        return "no trials can decide, because the treatment adds nothing to a run"
    replicates = f"{found.replicates:,} more replicates"
    if math.isnan(found.times):
        return f"{replicates} would decide"
    digits = 10.0 ** (math.floor(math.log10(found.times)) - 1)
    longer = f"a delay {math.ceil(found.times / digits) * digits:,.5g} times as long"
    return f"{replicates} or {longer} would decide" if found.replicates <= _MANY else f"{longer} would decide"


def steps_table(steps: list[Step]) -> Printed:
    """Return a table of the steps."""
    return Printed("", [text(name) for name in ("factor", "step", "reason")], steps)


def _scatters(analysis: Analysis, factor: str) -> float:
    """Return the ratio of the scatter with a delay to the scatter without it; 0 if it is not clearly larger than 1."""
    if factor not in analysis.scattering:
        return 0.0
    treated = analysis.design.levels[:, analysis.design.factors.index(factor)] > 0
    more, less = (float((analysis.spread[chosen] ** 2).mean()) for chosen in (treated, ~treated))
    found = math.sqrt(more / less) if less else math.inf
    return found if found > _SCATTERS else 0.0


def _doubt(analysis: Analysis, word: str) -> str:
    """Return interactions that a significant effect may be instead; both factors of each have significant effects."""
    design = analysis.design
    found = [
        other
        for other in (design.aliases(word, order=2) if design.regular else ())
        if len(who := words.parsed(design.factors, other)[0]) == 2
        and all(analysis.is_significant(design.factors[i]) for i in who)
    ]
    return " or ".join(found)
