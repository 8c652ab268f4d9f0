"""Noise of the trials by level: a delay can change the scatter of a run, as well as its mean.

trials without the delay of swap     scatter  0.5     \\   each contrast has + and - in both groups, so that
trials with it                       scatter  8       /   S depends on the mean of the two variances

S     the same for all contrasts; but its degrees of freedom are mostly those of the group that scatters more
of an effect at one level of a factor     depends on the scatter at that level alone
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc  # F; scipy.stats would take half a second to import

from smp.models._types import FloatArray, IntArray

from ..designs.design import Design

CHANCE = 1e-3
"""Probability of a difference in scatter between two levels from which on it is not put down to noise."""
_FEWEST = 3.0
"""Degrees of freedom of a group of trials whose scatter is estimated by itself."""
_STEPS = 12


class Noise(NamedTuple):
    """Noise of an experiment, from its replications."""

    uncertainty: float
    """S, the standard uncertainty of an effect."""
    freedom: float
    """Degrees of freedom of S; 0 without replications."""
    spread: FloatArray
    """Standard deviation (trials,) of one run of each trial, from all trials at the same levels of `by`."""
    by: tuple[str, ...]
    """Factors at whose levels the scatter differs."""


class _Groups(NamedTuple):
    """Variances of groups of trials, with their degrees of freedom."""

    of: IntArray
    """Number of the group of each trial."""
    variances: FloatArray
    freedom: FloatArray


def noise_of(design: Design, responses: FloatArray, block: IntArray) -> Noise:
    """Return the noise of replicated trials, without the differences between blocks in time.

    If groups of trials scatter differently, the degrees of freedom are those of Satterthwaite.
    """
    replications, trials = responses.shape
    if replications < 2 or trials <= len(np.unique(block)):
        return Noise(0.0, 0.0, np.zeros(trials), ())
    found = {name: _fitted(responses, block, _groups(design, [name])) for name in design.factors}
    differing = {name: one for name, one in found.items() if _differ(one)}
    by = tuple(differing)
    fit = differing[by[0]] if len(by) == 1 else _fitted(responses, block, _groups(design, by))
    if len(by) > 1 and fit.freedom.min() < _FEWEST:  # one factor makes two groups; take the one that matters most
        by = (min(by, key=lambda name: float(np.divide(*sorted(differing[name].variances)))),)
        fit = differing[by[0]]
    shares = np.bincount(fit.of) * fit.variances
    total, uneven = float(shares.sum()), float((shares**2 / fit.freedom).sum())
    freedom = total**2 / uneven if by and uneven > 0 else float(fit.freedom.sum())
    s = math.sqrt(4 * total / trials / responses.size)
    return Noise(s, freedom, np.sqrt(fit.variances[fit.of]), by)


def _fitted(responses: FloatArray, block: IntArray, groups: IntArray) -> _Groups:
    """Return the variance of each group of trials, by steps that weight the trials by their precision.

    The differences between blocks in time are estimated from the trials that scatter least: otherwise the noise of the
    others would get into their residuals.
    """
    replications, trials = responses.shape
    numbers, members = np.unique(block, return_inverse=True)
    members = members.reshape(-1)
    inside = (members[:, None] == np.arange(len(numbers))).astype(np.float64)  # (trials, blocks)
    weights = np.ones(trials)
    for _ in range(1 if groups.max() == 0 else _STEPS):
        shares = weights / (weights @ inside)[members]
        residuals = responses - (responses * shares @ inside)[:, members]
        squares = ((residuals - residuals.sum(axis=0) / replications) ** 2).sum(axis=0)
        freedom = (replications - 1) * np.bincount(groups, weights=1 - shares)
        variances = np.bincount(groups, weights=squares) / np.maximum(freedom, 1e-9)
        if freedom.min() < _FEWEST or not variances.max() > 0:
            break
        weights = 1 / np.maximum(variances, 1e-12 * variances.max())[groups]
    return _Groups(groups, variances, freedom)


def _differ(found: _Groups) -> bool:
    """Return True if the scatter of two groups differs by more than noise explains."""
    if found.freedom.min() < _FEWEST or not found.variances.max() > 0:
        return False
    less, more = np.argsort(found.variances)
    if not found.variances[less]:
        return True
    larger = fdtrc(found.freedom[more], found.freedom[less], found.variances[more] / found.variances[less])
    return bool(2 * larger < CHANCE)


def _groups(design: Design, by: Sequence[str]) -> IntArray:
    """Return the number of its group for each trial: those with the same levels of some factors."""
    columns = [design.factors.index(name) for name in by]
    if not columns:
        return np.zeros(design.trials, np.int64)
    return np.unique(design.levels[:, columns], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
