"""Conditional effects, and delays that hide other delays, as interactions show them.

When the place ``swap`` is delayed so much that all processors wait for it, a delay at ``push`` no longer shows. In
table 2 the effect of push is 1.12, and its interaction with swap is -1.12. So push has no effect while swap is delayed,
and twice its main effect while swap is not. Such a delay saturates the program; a smaller one would reveal more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .effects import Analysis

_LEFT = 0.2  # share of its effect alone: if less of it is left while another factor is delayed, the factor is hidden


class Conditional(NamedTuple):
    """Effects of a factor while another one is not delayed, and while it is delayed."""

    without: float
    beside: float
    uncertainty: float
    """Standard uncertainty of each of the two effects."""


class Saturation(NamedTuple):
    """A factor whose effect vanishes while another factor is delayed."""

    hidden: str
    by: str
    without: float
    beside: float
    aliases: tuple[str, ...]
    """Other interactions that may be the cause instead; `hidden` and `by` are the likeliest pair."""


def conditional(analysis: Analysis, factor: str, given: str) -> Conditional:
    """Return the effect of one factor at each level of another.

    Raises
    ------
    ValueError
        For factors whose interaction cannot be separated from a main effect, or has no contrast.

    Examples
    --------
    >>> from smp.perturb.designs.by_name import fractional
    >>> from smp.perturb.analysis.effects import analyse
    >>> found = conditional(analyse(fractional("2^2"), [[1, 3, 5, 5], [1, 3, 5, 5]]), "a", "b")
    >>> found.without, found.beside
    (2.0, 0.0)
    """
    design = analysis.design
    pair = f"{factor}&{given}"
    contrast, _ = design.contrast(pair)
    if factor == given or contrast in design.columns:
        other = "mean" if factor == given else f"main effect of {design.factors[design.columns.index(contrast)]}"
        raise ValueError(
            f"{design.name}: {pair} and the {other} cannot be separated: fold over, or take a design of resolution IV"
        )
    main, both = analysis.effect(factor), analysis.effect(pair)
    return Conditional(main - both, main + both, math.sqrt(2) * analysis.uncertainty)


def likely_pairs(analysis: Analysis) -> list[tuple[str, str]]:
    """Return, for each significant contrast of interactions, the pair of factors with the largest main effects.

    Of several aliases the likeliest is taken: interactions occur between factors with significant, large effects.
    """
    design, significant = analysis.design, analysis.significant
    size = [abs(analysis.effect(factor)) for factor in design.factors]
    marked = [significant[column - 1] for column in design.columns]

    def likelihood(who: tuple[int, ...]) -> tuple[int, float]:
        i, j = who
        return int(marked[i]) + int(marked[j]), size[i] * size[j]

    pairs = []
    for contrast, effects in sorted(design.alias_sets(2).items()):
        if contrast and len(effects[0][0]) == 2 and significant[contrast - 1]:
            i, j = max((who for who, _ in effects), key=likelihood)
            pairs.append((design.factors[i], design.factors[j]))
    return pairs


def alone(analysis: Analysis) -> dict[str, tuple[float, float]]:
    """Return the effect of each factor while no other factor is delayed, and the standard uncertainty of this effect.

    The main effect is the mean over all levels of the others. The effect returned here is the main effect minus all
    significant two-factor interactions of the factor, as given by `likely_pairs`.
    """
    effects = {factor: (analysis.effect(factor), 1) for factor in analysis.design.factors}
    for pair in likely_pairs(analysis):
        both = analysis.effect("&".join(pair))
        for factor in pair:
            effect, terms = effects[factor]
            effects[factor] = (effect - both, terms + 1)
    return {factor: (effect, math.sqrt(terms) * analysis.uncertainty) for factor, (effect, terms) in effects.items()}


def ends(analysis: Analysis) -> dict[str, Conditional]:
    """Return the effects while no other factor is delayed and while all others are, where these differ significantly.

    A full factorial design has the two pairs of trials.  For a fractional one, they are the main effect minus and plus
    the significant two-factor interactions of the factor, as given by `likely_pairs`.
    """
    design, found = analysis.design, {}
    if not design.is_full:
        main = {factor: analysis.effect(factor) for factor in design.factors}
        sums: dict[str, list[float]] = {}
        for pair in likely_pairs(analysis):
            for factor in pair:
                sums.setdefault(factor, []).append(analysis.effect("&".join(pair)))
        for factor, both in sums.items():
            s = math.sqrt(1 + len(both)) * analysis.uncertainty
            found[factor] = Conditional(main[factor] - sum(both), main[factor] + sum(both), s)
        return found
    mean_of = {tuple(row): float(mean) for row, mean in zip((design.levels > 0).tolist(), analysis.means, strict=True)}
    p = len(design.factors)
    interacting: set[int] = set()
    for contrast, effects in design.alias_sets(p).items():
        if contrast and len(effects[0][0]) > 1 and analysis.significant[contrast - 1]:
            interacting.update(effects[0][0])
    for i in sorted(interacting):
        own = tuple(k == i for k in range(p))
        without = mean_of[own] - mean_of[(False,) * p]
        beside = mean_of[(True,) * p] - mean_of[tuple(not one for one in own)]
        found[design.factors[i]] = Conditional(without, beside, analysis.uncertainty * math.sqrt(design.trials / 2))
    return found


def saturations(analysis: Analysis) -> list[Saturation]:
    """Return the factors whose effect vanishes while another factor is delayed, the most affected first."""
    found = []
    for pair in likely_pairs(analysis):
        hidden, by = sorted(pair, key=lambda factor: abs(analysis.effect(factor)))
        at = conditional(analysis, hidden, by)
        nothing = max(analysis.factor * at.uncertainty, _LEFT * abs(at.without))
        if abs(at.beside) <= nothing < abs(at.without):
            others = analysis.design.aliases("&".join(pair), order=2)
            found.append(Saturation(hidden, by, at.without, at.beside, others))
    return sorted(found, key=lambda one: -abs(one.without))
