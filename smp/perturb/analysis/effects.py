"""Effects computed from trials, by the screening model of section 2.1.3.

    response = mean + 1/2 * sum over contrasts of (effect * sign in the trial)            (1)

So an effect is the mean of the trials with + minus the mean of those with -. Its standard uncertainty S comes from
replications or, if there are none, from the effects themselves (`lenth`). An effect is marked if it exceeds 3 S.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit  # Student's t; scipy.stats would take half a second to import

from smp._output.frames import frame
from smp._output.notebook import displayed
from smp._output.table import Part
from smp.errors import ExperimentError
from smp.models._types import FloatArray, IntArray

from ..designs.design import Design
from ..files.saved import checked
from .noise import noise_of
from .table import effects_table
from .unreplicated import lenth

SIGMAS = 3.0
FALSE_ALARM = 0.01
ROUNDING = 1e-12  # of the largest response
_SCALES = (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))


@dataclass(frozen=True, eq=False)
class Analysis:
    """Effects of the factors on one response.  Made by `analyse`.

    Attributes
    ----------
    design : Design
    responses : ndarray (replications, trials) float64
    name, unit : str
        Name and unit of the response.
    order : int
        Effects of up to this number of factors are named in `sources`.
    sources : tuple of str (trials - 1,)
        Effects that each contrast holds; see `Design.sources`.
    mean : float
    effects : ndarray (trials - 1,) float64
        Effects in the unit of the response, each for the first word in its source.
    uncertainty : float
        S, the standard uncertainty of an effect. The standard uncertainty of the mean is half of it.
    freedom : float
        Degrees of freedom of S. If the scatter differs by the levels of some factors, there are fewer of them.
    factor : float
        An effect larger than ``factor * S`` is significant. The factor is 3, or more if S has so few degrees of freedom
        that noise would exceed 3 S more often than once in a hundred.
    blocks : ndarray (trials,) int64
        The block of each trial.
    lost : ndarray (trials - 1,) bool
        True for contrasts that are differences between blocks, and so not effects of factors alone.
    spread : ndarray (trials,) float64
        Standard deviation of one response of each trial, at the levels of its factors (see `noise`).
    scattering : tuple of str
        Factors at whose levels the scatter differs.
    """

    design: Design
    responses: FloatArray
    name: str
    unit: str
    order: int
    sources: tuple[str, ...]
    mean: float
    effects: FloatArray
    uncertainty: float
    freedom: float
    factor: float
    blocks: IntArray
    lost: NDArray[np.bool_]
    spread: FloatArray
    scattering: tuple[str, ...]

    @property
    def replications(self) -> int:
        """Number of times that all trials were run."""
        return len(self.responses)

    @property
    def means(self) -> FloatArray:
        """Mean response of each trial (trials,)."""
        return np.asarray(self.responses.mean(axis=0))

    @property
    def expanded(self) -> float:
        """Expanded uncertainty, `factor` times S: half the width of the band of noise."""
        return self.factor * self.uncertainty

    @property
    def rounding(self) -> float:
        """Largest effect that may be due to rounding. Nothing below it is an effect, however small S is."""
        return ROUNDING * float(np.abs(self.responses).max())

    @property
    def significant(self) -> NDArray[np.bool_]:
        """True (trials - 1,) for each effect that exceeds the expanded uncertainty."""
        return (np.abs(self.effects) > max(self.expanded, self.rounding)) & ~self.lost

    @property
    def p_values(self) -> FloatArray:
        """Probability (trials - 1,) that noise alone makes an effect at least as large as each, by Student's t."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(2 * stdtr(self.freedom, -np.abs(self.effects / self.uncertainty)))

    @cached_property
    def _signs(self) -> tuple[int, ...]:
        return tuple(sign for _, sign in self.design.sources(self.order))

    def effect(self, word: str) -> float:
        """Return the effect of a factor or an interaction, including everything that is aliased with it."""
        contrast, sign = self.design.contrast(word)
        return 0.0 if contrast == 0 else sign * self._signs[contrast - 1] * float(self.effects[contrast - 1])

    def weights(self, word: str) -> FloatArray:
        """Return the weights (trials,) of the mean responses in the effect of a factor or an interaction."""
        contrast, sign = self.design.contrast(word)
        column = self.design.matrix[:, contrast] if contrast else np.zeros(self.design.trials)
        return np.asarray(sign * column * 2 / self.design.trials, np.float64)

    def error(self, weights: FloatArray) -> float:
        """Return the standard uncertainty of a sum of the mean responses with weights (trials,), by their spread."""
        return float(np.sqrt((weights**2 * self.spread**2).sum() / self.replications))

    def levels(self, factor: str) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the mean response without and with the delay of a factor, each with its own standard uncertainty."""
        treated = self.design.levels[:, self.design.factors.index(factor)] > 0
        both = [np.where(chosen, 1 / chosen.sum(), 0.0) for chosen in (~treated, treated)]
        without, delayed = ((float(one @ self.means), self.error(one)) for one in both)
        return without, delayed

    def is_significant(self, word: str) -> bool:
        """Return True if the effect of a factor or an interaction exceeds the expanded uncertainty."""
        contrast, _ = self.design.contrast(word)
        return contrast != 0 and bool(self.significant[contrast - 1])

    def predicted(self) -> FloatArray:
        """Return the responses (trials,) that the mean and the significant effects alone would produce."""
        kept = np.where(self.significant, self.effects * self._signs, 0.0)
        return np.asarray(self.mean + self.design.matrix[:, 1:] @ kept / 2)

    def to_frame(self) -> Any:
        """Return the effects as a ``pandas.DataFrame``, with their probabilities under noise alone.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        columns = {"source": self.sources, "effect": self.effects, "p_value": self.p_values}
        return frame(columns | {"significant": self.significant})

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, from whose responses `from_json` computes the analysis again."""
        return {
            "design": self.design.to_json(),
            "response": self.name,
            "unit": self.unit,
            "order": self.order,
            "blocks": self.blocks.tolist(),
            "responses": self.responses.tolist(),
            "mean": self.mean,
            "uncertainty": self.uncertainty,
            "freedom": self.freedom,
            "factor": self.factor,
            "levels": {
                name: [{"mean": mean, "uncertainty": s} for mean, s in self.levels(name)]
                for name in self.design.factors
            },
            "scattering": list(self.scattering),
            "effects": [
                {"source": source, "effect": effect, "significant": marked}
                for source, effect, marked in zip(
                    self.sources, self.effects.tolist(), self.significant.tolist(), strict=True
                )
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Analysis:
        """Return the analysis that `to_json` converted to this JSON, computed again from its responses.

        Raises
        ------
        ExperimentError
            For anything else.
        """
        checked(data, "AnalysisLayout")
        try:
            design = Design.from_json(data["design"])
        except ValueError as error:
            raise ExperimentError(f"it is damaged: {error}") from error
        blocks = np.array(data["blocks"], np.int64)
        return analyse(design, data["responses"], data["response"], data["unit"], order=data["order"], blocks=blocks)

    def readable(self) -> Analysis:
        """Return the analysis of a time in s, ms, us or ns: in the largest unit of which the mean is at least one."""
        if self.unit != "s":
            return self
        unit, scale = next((one for one in _SCALES if abs(self.mean) * one[1] >= 1), _SCALES[0])
        return analyse(self.design, scale * self.responses, self.name, unit, order=self.order, blocks=self.blocks)

    def __str__(self) -> str:
        return str(effects_table(self))

    def _repr_html_(self) -> str:
        figures = importlib.import_module(".figures", __package__)  # it imports this module
        return displayed([Part("", [effects_table(self)])], figures.effects(self))


def analyse(
    design: Design,
    responses: ArrayLike,
    name: str = "time",
    unit: str = "s",
    *,
    order: int = 2,
    blocks: IntArray | None = None,
) -> Analysis:
    """Compute all effects of one response.

    Parameters
    ----------
    design : Design
    responses : array_like (replications, trials) or (trials,)
        Measured responses in the order of the design's rows, whatever the order in which they were run.
    name, unit : str
        Name and unit of the response.
    order : int
        Interactions of up to this number of factors are named; all are computed.
    blocks : ndarray (trials,) int64, optional
        The block of each trial within its replication, as in the schedule; by default the parts of a folded design. A
        drift from one block in time to the next is removed from S, and affects only the effects of the blocks.

    Returns
    -------
    Analysis

    Raises
    ------
    ValueError
        If a response is missing or infinite, their number is wrong, or there are too few to estimate the noise.

    Examples
    --------
    >>> from smp.perturb.designs.by_name import fractional
    >>> found = analyse(fractional("2^2"), [[10, 14, 10, 15], [10, 14, 11, 16]])
    >>> found.mean, found.effect("a"), found.effect("ab"), round(found.uncertainty, 2)
    (12.5, 4.5, 0.5, 0.29)
    """
    given = np.atleast_2d(np.asarray(responses, np.float64))
    if given.ndim != 2 or given.shape[1] != design.trials:
        raise ValueError(
            f"responses of shape {np.shape(responses)} need {design.trials} columns, one for each trial of the design"
        )
    if not np.isfinite(given).all():
        replication, trial = np.argwhere(~np.isfinite(given))[0]
        raise ExperimentError(
            f"the response of trial {trial} in replication {replication} is {given[replication, trial]}, and "
            "without all trials the effects cannot be separated: run the trial again"
        )
    block = design.blocks if blocks is None else np.asarray(blocks, np.int64)
    if block.shape != (design.trials,):
        raise ValueError(
            f"blocks of shape {block.shape} do not fit {design.trials} trials: give one block for each trial"
        )
    named = design.sources(order)
    columns = design.matrix[:, 1:]
    sums = columns.T.astype(np.float64) @ given.mean(axis=0)
    effects = sums * np.array([sign for _, sign in named]) * 2 / design.trials
    lost = np.array([_constant(column, block) for column in columns.T], np.bool_)
    uncertainty, freedom, spread, scattering = noise_of(design, given, block)
    if not freedom:
        found = lenth(effects[~lost])
        uncertainty, freedom = found.error, found.freedom
        spread = np.full(design.trials, uncertainty * math.sqrt(given.size) / 2)
    if uncertainty < ROUNDING * np.abs(given).max():  # the runs of an emulated machine agree to the last digits
        uncertainty, spread, scattering = 0.0, np.zeros(design.trials), ()
    factor = mark(freedom)
    sources = tuple("block" if gone else source for (source, _), gone in zip(named, lost, strict=True))
    mean = float(given.mean())
    at = design, given, name, unit, order, sources, mean, effects, uncertainty, freedom, factor, block, lost
    return Analysis(*at, spread, scattering)


def analyse_all(
    design: Design, responses: Mapping[str, ArrayLike], units: Mapping[str, str], **options: Any
) -> dict[str, Analysis]:
    """Analyse several responses of the same trials; each is an experiment of its own (section 2.1.2)."""
    return {name: analyse(design, values, name, units.get(name, ""), **options) for name, values in responses.items()}


def mark(freedom: float) -> float:
    """Return how many S an effect must exceed to be significant, if S has this many degrees of freedom."""
    return max(SIGMAS, float(stdtrit(freedom, 1 - FALSE_ALARM / 2)))


def block_means(responses: FloatArray, block: IntArray) -> FloatArray:
    """Return, for each response, the mean of its block in its replication."""
    means = np.empty_like(responses)
    for one in np.unique(block):
        means[:, block == one] = responses[:, block == one].mean(axis=1, keepdims=True)
    return means


def _constant(column: NDArray[Any], block: IntArray) -> bool:
    """Return True if a contrast is a difference between blocks, with the same sign in all trials of a block."""
    return all(np.ptp(column[block == one]) == 0 for one in np.unique(block))
