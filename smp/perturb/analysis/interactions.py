"""Conditional effects, and delays that hide other delays, as interactions show them.

When the place ``swap`` is delayed so much that all processors wait for it, a delay at ``push`` no longer shows. In
table 2 the effect of push is 1.12, and its interaction with swap is -1.12. So push has no effect while swap is delayed,
and twice its main effect while swap is not. Such a delay saturates the program; a smaller one would reveal more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .effects import Analysis

_LEFT = 0.2  # share of its effect alone: if less of it is left while another factor is delayed, the factor is hidden


class Conditional(NamedTuple):
    """Effects of a factor while another one is not delayed, and while it is delayed."""

    without: float
    beside: float
    uncertainty: float
    """Standard uncertainty of the first effect, from the scatter at its level."""
    uncertainty_beside: float
    """Standard uncertainty of the second effect."""


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
    one, two = analysis.weights(factor), analysis.weights(pair)
    return Conditional(main - both, main + both, analysis.error(one - two), analysis.error(one + two))


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
    effects = {factor: (analysis.effect(factor), analysis.weights(factor)) for factor in analysis.design.factors}
    for pair in likely_pairs(analysis):
        word = "&".join(pair)
        for factor in pair:
            effect, weights = effects[factor]
            effects[factor] = (effect - analysis.effect(word), weights - analysis.weights(word))
    return {factor: (effect, analysis.error(weights)) for factor, (effect, weights) in effects.items()}


def ends(analysis: Analysis) -> dict[str, Conditional]:
    """Return the effects while no other factor is delayed and while all others are, where these differ significantly.

    A full factorial design has the two pairs of trials.  For a fractional one, they are the main effect minus and plus
    the significant two-factor interactions of the factor, as given by `likely_pairs`.
    """
    design, found = analysis.design, {}
    if not design.is_full:
        main = {factor: analysis.effect(factor) for factor in design.factors}
        words: dict[str, list[str]] = {}
        for pair in likely_pairs(analysis):
            for factor in pair:
                words.setdefault(factor, []).append("&".join(pair))
        for factor, pairs in words.items():
            both, one = sum(map(analysis.effect, pairs)), analysis.weights(factor)
            two = np.sum([analysis.weights(word) for word in pairs], axis=0)
            s = analysis.error(one - two), analysis.error(one + two)
            found[factor] = Conditional(main[factor] - both, main[factor] + both, *s)
        return found
    trial_of = {tuple(row): trial for trial, row in enumerate((design.levels > 0).tolist())}
    p = len(design.factors)
    interacting: set[int] = set()
    for contrast, effects in design.alias_sets(p).items():
        if contrast and len(effects[0][0]) > 1 and analysis.significant[contrast - 1]:
            interacting.update(effects[0][0])
    for i in sorted(interacting):
        own = tuple(k == i for k in range(p))
        pairs_of = (own, (False,) * p), ((True,) * p, tuple(not one for one in own))
        both_ends = [(trial_of[more], trial_of[less]) for more, less in pairs_of]
        differences = [float(analysis.means[more] - analysis.means[less]) for more, less in both_ends]
        errors = [math.hypot(*analysis.spread[list(two)]) / math.sqrt(analysis.replications) for two in both_ends]
        found[design.factors[i]] = Conditional(differences[0], differences[1], errors[0], errors[1])
    return found


def saturations(analysis: Analysis) -> list[Saturation]:
    """Return the factors whose effect vanishes while another factor is delayed, the most affected first."""
    found = []
    for pair in likely_pairs(analysis):
        hidden, by = sorted(pair, key=lambda factor: abs(analysis.effect(factor)))
        at = conditional(analysis, hidden, by)
        nothing = max(analysis.factor * max(at.uncertainty, at.uncertainty_beside), _LEFT * abs(at.without))
        if abs(at.beside) <= nothing < abs(at.without):
            others = analysis.design.aliases("&".join(pair), order=2)
            found.append(Saturation(hidden, by, at.without, at.beside, others))
    return sorted(found, key=lambda one: -abs(one.without))
