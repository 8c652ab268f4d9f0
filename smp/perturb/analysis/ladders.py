"""Ladders of delays at one place: whether effects are in proportion to delays, and if not, which end to trust.

Effect per unit delay is drawn against the delay, as in figure 3:

    effect per |        .____.____.         linear: the same for all delays, within noise
    unit delay |      /                     large delays: it settles as they grow; small ones do something else, or
               |____/______________         are lost in noise
                  1  2  5   10   20 delay   small delays: it falls as they grow

Small delays may make a program faster (section 4.2), or vanish in the time that a processor waits in any case. Then the
large delays may lie on a line that does not go through zero: its offset is what a delay saves or costs whatever its
length. Large delays may saturate a program: other threads do the work meanwhile, and the small end shows the program as
it is. `smp.perturb.experiments.climbing` measures ladders.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtri, stdtr  # distributions; scipy.stats would take half a second to import

from smp._output.numbers import short
from smp._output.table import Column, text
from smp._output.terminal import Printed
from smp.models._types import FloatArray

_ALPHA = 0.01
LEAST = 3
"""Number of rungs that must agree before an end is trusted."""
_ROUNDING = 1e-12
"""Share of the largest of several numbers: none of them is known more exactly."""
TOLERANCE = 0.01
"""Share of a slope: rungs that differ from it by less agree, however exactly they were measured."""
_SLOPES = ("slope", "slope_uncertainty")  # NaN, and null in JSON, if no rung is trusted
_COLUMNS = (*(Column(name, form="short") for name in ("delay", "effect", "S", "per unit delay")), text(""))


class Ladder(NamedTuple):
    """Effects of one factor at several delays, the smallest delay first."""

    delays: FloatArray
    effects: FloatArray
    uncertainties: FloatArray
    per_unit: FloatArray
    """Effect per unit delay."""
    verdict: str
    """``linear``, ``large delays``, ``small delays``, ``neither`` or ``noise``."""
    trusted: slice
    """Rungs that agree with one slope."""
    slope: float
    """Effect per unit delay of the trusted rungs, weighted by their uncertainties; NaN if none is trusted."""
    slope_uncertainty: float
    offset: float
    """Effect at a delay of zero on the line of the trusted rungs; 0 if that line goes through zero."""
    p_value: float
    """Probability that noise would make rungs of one slope scatter as much as all of these do."""
    faster: bool
    """True if some delay makes the program significantly faster."""
    sigmas: float
    """Limit in units of S below which an effect is noise."""

    @property
    def clear(self) -> NDArray[np.bool_]:
        """True for each effect that is clearly larger than the noise."""
        return np.asarray(np.abs(self.effects) > self.sigmas * self.uncertainties)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads."""
        arrays = {name: value.tolist() for name, value in self._asdict().items() if isinstance(value, np.ndarray)}
        numbers = {name: None if math.isnan(value := getattr(self, name)) else value for name in _SLOPES}
        return {**self._asdict(), **arrays, **numbers, "trusted": [self.trusted.start, self.trusted.stop]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ladder:
        """Return the ladder that `to_json` converted to this JSON."""
        found = dict(data) | {name: math.nan if data[name] is None else data[name] for name in _SLOPES}
        for name in ("delays", "effects", "uncertainties", "per_unit"):
            found[name] = np.array(data[name], np.float64)
        return cls(**found | {"trusted": slice(*data["trusted"])})

    def __str__(self) -> str:
        rungs = zip(self.delays, self.effects, self.uncertainties, self.per_unit, strict=True)
        trusted = range(*self.trusted.indices(len(self.delays)))
        rows = [[*numbers, "trusted" if i in trusted else ""] for i, numbers in enumerate(rungs)]
        ends = {"linear": "linear", "noise": "noise only", "neither": "trust neither end"}
        said = ends.get(self.verdict, f"trust the {self.verdict}")
        if np.isfinite(self.slope):
            said += f": {short(self.slope)} +/- {short(self.slope_uncertainty, 2)} per unit delay"
            said += f", plus {short(self.offset)} at any delay" if self.offset else ""
        return str(Printed("", _COLUMNS, rows, [said + "; some delays make the program faster" * self.faster]))


def ladder(
    delays: ArrayLike,
    effects: ArrayLike,
    uncertainties: ArrayLike,
    sigmas: float = 3.0,
    freedom: float = math.inf,
) -> Ladder:
    """Judge the effects of one factor at several delays.

    Parameters
    ----------
    delays : array_like (k,)
        Delays above zero, at least three, in any order.
    effects : array_like (k,)
        Effects in an experiment with each delay.
    uncertainties : array_like (k,) or float
        Standard uncertainties S of the effects. They are 0 for exact effects, as on an emulated machine without noise.
    sigmas : float
        An effect within this number of S is noise.
    freedom : float
        Degrees of freedom of each S.

    Returns
    -------
    Ladder

    Raises
    ------
    ValueError
        For fewer than three rungs, or numbers that are not valid delays or uncertainties.

    Notes
    -----
    Rungs agree if the chi-squared of their effects about one slope through zero has a probability above 1%. The part of
    each deviation that is within 1% of the slope does not count, or exact rungs would never agree. In units of an S
    with few degrees of freedom, deviations follow Student's t, so they are first converted to normal deviations of the
    same probability. If neither any effect nor their common slope exceeds the noise, the verdict is noise. If all rungs
    agree, the ladder is linear. Otherwise the largest number of rungs that agree, at least three, is sought:

    - from the large end, on a line through zero, or on any other line that rises;
    - from the small end, where noise agrees with anything, so two of the rungs must exceed the noise, or the slope must
      be known to 1% of the steepest rung.

    The end with more such rungs is trusted, or the large end if both have the same number. If there are none at either
    end, neither is trusted.

    Examples
    --------
    >>> found = ladder([1, 2, 5, 10, 20], [-3.0, -1.0, 15.1, 29.9, 60.0], 0.3)
    >>> found.verdict, found.delays[found.trusted].tolist(), round(found.slope, 2), found.faster
    ('large delays', [5.0, 10.0, 20.0], 3.0, True)
    """
    d, e = np.asarray(delays, np.float64), np.asarray(effects, np.float64)
    if d.ndim != 1 or d.shape != e.shape or len(d) < LEAST:
        raise ValueError(
            f"a ladder needs at least {LEAST} delays and their effects, not shapes {d.shape} and {e.shape}"
        )
    s = np.broadcast_to(np.asarray(uncertainties, np.float64), d.shape)
    if not (d > 0).all() or not (s >= 0).all() or not np.isfinite(np.concatenate([d, e, s])).all():
        raise ValueError("delays must be above zero, uncertainties zero or more, and all numbers finite")
    order = np.argsort(d)
    d, e, s = d[order], e[order], s[order]
    s = np.maximum(s, _ROUNDING * np.abs(e).max() or 1.0)
    per_unit, k = e / d, len(d)
    clear = np.abs(e) > sigmas * s

    def fit(end: slice, free: bool = False) -> _Line:
        return _line(d[end], e[end], s[end], freedom, free)

    def speaks(end: slice) -> bool:
        """Return True if the rungs of the small end say more than noise, which agrees with any slope."""
        return bool(clear[end].sum() >= 2 or sigmas * fit(end).error <= TOLERANCE * np.abs(per_unit).max())

    large, small = [], []  # ends and the lines through them, the longest end first
    for i in range(k - LEAST + 1):
        end, start = slice(i, k), slice(0, k - i)
        large.append((end, fit(end)))
        if (free := fit(end, free=True)).slope > sigmas * free.error:
            large.append((end, free))
        if speaks(start):
            small.append((start, fit(start)))
    whole = fit(slice(0, k))
    verdict, trusted, line = "neither", slice(0, 0), _NO_LINE
    if not clear.any() and abs(whole.slope) <= sigmas * whole.error:
        verdict = "noise"
    elif whole.agrees:
        verdict, trusted, line = "linear", slice(0, k), whole
    else:
        for name, ends in (("large delays", large), ("small delays", small)):
            end, one = next((found for found in ends if found[1].agrees), (slice(0, 0), _NO_LINE))
            if end.stop - end.start > trusted.stop - trusted.start:
                verdict, trusted, line = name, end, one
    faster = bool((clear & (e < 0)).any())
    numbers = line.slope, line.error, line.offset, whole.p_value
    return Ladder(d, e, s, per_unit, verdict, trusted, *numbers, faster, sigmas)


class _Line(NamedTuple):
    """A line fitted to rungs."""

    slope: float
    error: float
    """Standard uncertainty of the slope."""
    offset: float
    p_value: float
    """Probability that noise would make the rungs scatter as much about the line."""
    agrees: bool


_NO_LINE = _Line(math.nan, math.nan, 0.0, math.nan, False)


def _line(d: FloatArray, e: FloatArray, s: FloatArray, freedom: float, free: bool) -> _Line:
    """Fit a line by weighted least squares: through zero, or with a free offset."""
    weight = s**-2.0
    middle = (weight * d).sum() / weight.sum() if free else 0.0
    level = (weight * e).sum() / weight.sum() if free else 0.0
    spread = (weight * (d - middle) ** 2).sum()
    slope = (weight * (d - middle) * (e - level)).sum() / spread
    off = np.abs(e - level - slope * (d - middle))
    left = len(d) - 1 - free
    chances = [_chance(np.maximum(off - play, 0) / s, freedom, left) for play in (0.0, TOLERANCE * abs(slope) * d)]
    return _Line(float(slope), float(spread**-0.5), float(level - slope * middle), chances[0], chances[1] > _ALPHA)


def _chance(deviations: FloatArray, freedom: float, left: int) -> float:
    """Return the probability that noise makes deviations as large, with ``left`` degrees of freedom together."""
    if math.isfinite(freedom):
        deviations = -ndtri(stdtr(freedom, -deviations))
    return float(chdtrc(left, (deviations**2).sum()))
