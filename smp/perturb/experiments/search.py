"""Search for settings of delays that make a program faster (section 3.2.1, tables 3 and 4).

Where delays help, the response is not linear, so no effects are computed. The trials of an orthogonal array are spread
evenly over the settings, and the best of them is taken.

    screen(program, "OA25(5^6)", ...)  ─▶  trials.search()  ─▶  confirm(trials, program, ...)
        25 settings of six delays           the best of them       that one and no delays, run again together
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit  # the t quantile; scipy.stats would take half a second to import

from smp._output.numbers import fixed
from smp._output.table import Column, Row, counted, text
from smp._output.terminal import Printed
from smp.errors import ExperimentError
from smp.models._types import FloatArray

from ..analysis.effects import FALSE_ALARM, SIGMAS
from ..designs.words import named


class Search(NamedTuple):
    """Trials of a search, and the best of them."""

    factors: tuple[str, ...]
    settings: FloatArray
    """Delays of each trial (trials, factors)."""
    results: FloatArray
    """Mean response of each trial (trials,)."""
    uncertainty: float
    """Standard uncertainty of one mean response; NaN without replications."""
    best: int
    """Trial with the smallest response."""
    unperturbed: float
    """Mean response without delays; NaN if no trial is without delays."""
    freedom: float
    """Degrees of freedom of the uncertainty."""

    @property
    def speedup(self) -> float:
        """Speed of the best trial as a multiple of the speed without delays; NaN if a response is not above zero."""
        return self._times(self.best)

    def _times(self, trial: int) -> float:
        both = self.unperturbed, float(self.results[trial])
        return both[0] / both[1] if min(both) > 0 else math.nan

    @property
    def setting(self) -> dict[str, float]:
        """Delays of the best trial, by factor."""
        return dict(zip(self.factors, self.settings[self.best].tolist(), strict=True))

    @property
    def significant(self) -> bool:
        """True if the best trial is faster than the one without delays by more than 3 S of their difference.

        The limit is higher than 3 S if S has so few degrees of freedom that noise would exceed 3 S more often than once
        in a hundred.
        """
        if not self.freedom > 0:
            return False
        factor = max(SIGMAS, float(stdtrit(self.freedom, 1 - FALSE_ALARM / 2)))
        return bool(self.unperturbed - self.results[self.best] > factor * 2**0.5 * self.uncertainty)

    def level_means(self) -> dict[str, dict[float, float]]:
        """Return, for each factor and level, the mean of its trials, balanced over all other factors' levels."""
        return {
            factor: {float(level): float(self.results[column == level].mean()) for level in np.unique(column)}
            for factor, column in zip(self.factors, self.settings.T, strict=True)
        }

    def table(self, largest: int | None = None, unit: float = 1.0) -> Printed:
        """Return the trials, the fastest first (like table 4), with the delays in multiples of ``unit``."""
        without = np.flatnonzero((self.settings == 0).all(axis=1)).tolist()
        rows: list[Row] = []
        for trial in np.argsort(self.results, kind="stable")[:largest].tolist():
            times = self._times(trial)
            note = "no delays" if trial in without else f"{fixed(times)} times as fast" if times > 1 else ""
            rows.append([trial + 1, *self.settings[trial], self.results[trial], note])
        delays = (Column(factor, form="short", scale=1 / unit) for factor in self.factors)
        return Printed("", (counted("trial"), *delays, Column("result", form="short"), text("notes")), rows)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads."""
        return {
            "factors": list(self.factors),
            "settings": self.settings.tolist(),
            "results": self.results.tolist(),
            "uncertainty": None if math.isnan(self.uncertainty) else self.uncertainty,
            "freedom": self.freedom,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Search:
        """Return the search that `to_json` converted to this JSON."""
        found = searched(data["factors"], data["settings"], data["results"])
        if data["uncertainty"] is None:
            return found
        return found._replace(uncertainty=float(data["uncertainty"]), freedom=float(data["freedom"]))


def searched(factors: str | Sequence[str], settings: ArrayLike, responses: ArrayLike) -> Search:
    """Find the best trial of a search.

    Parameters
    ----------
    factors : str or sequence of str
    settings : array_like (trials, factors)
        Delays of each trial, as from `orthogonal.settings`.
    responses : array_like (replications, trials) or (trials,)
        Measured times: the smaller, the better.

    Raises
    ------
    ValueError
        For shapes that do not fit, or missing responses.

    Notes
    -----
    The best of many noisy trials looks better than it is: run `smp.perturb.confirm` before you trust it.

    Examples
    --------
    >>> found = searched("ab", [[0, 0], [0, 7], [7, 0], [7, 7]], [66, 47, 33, 50])
    >>> found.setting, found.speedup
    ({'a': 7.0, 'b': 0.0}, 2.0)
    """
    given, delays = np.atleast_2d(np.asarray(responses, np.float64)), np.asarray(settings, np.float64)
    names = named(factors)
    if delays.ndim != 2 or delays.shape[1] != len(names) or given.ndim != 2 or given.shape[1] != len(delays):
        raise ValueError(
            f"settings {delays.shape} and responses {np.shape(responses)} of {len(names)} factors do not agree: give a "
            "row of settings and a column of responses for each trial"
        )
    if not np.isfinite(given).all():
        raise ExperimentError("a response is missing: run its trial again")
    means = given.mean(axis=0)
    r = len(given)
    pooled = float(((given - means) ** 2).sum()) / ((r - 1) * len(means)) if r > 1 else np.nan
    without = np.flatnonzero((delays == 0).all(axis=1))
    base = float(means[without].mean()) if without.size else np.nan
    return Search(names, delays, means, float(np.sqrt(pooled / r)), int(means.argmin()), base, (r - 1) * len(means))
