"""A ladder of delays at one place: is its effect in proportion to the delay, and if not, which end to trust? (figure 3)

    effect per |        .____.____.         linear: the same for all delays, within noise
    unit delay |      /                     large delays: it settles as they grow; small ones do something else, or
               |____/______________         are lost in noise
                  1  2  5   10   20 delay   small delays: it falls as they grow

Small delays may make a program faster (section 4.2). Large ones may saturate it: the rest of the program waits for the
place in any case, and the small end is the program as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc  # chi-squared; scipy.stats would take half a second to import

from ..models.table import aligned
from ._types import FloatArray

_ALPHA = 0.01
_LEAST = 3  # rungs that must agree for an end to be trusted


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
    """The rungs that agree with one slope."""
    slope: float
    """Their effect per unit delay, weighted by their uncertainties; NaN where none is trusted."""
    slope_uncertainty: float
    p_value: float
    """How often rungs of one slope would scatter as much as all of these do."""
    faster: bool
    """Whether some delay makes the program significantly faster."""

    def __str__(self) -> str:
        rows = [["delay", "effect", "S", "per unit", ""]]
        inside = range(*self.trusted.indices(len(self.delays)))
        for i, numbers in enumerate(zip(self.delays, self.effects, self.uncertainties, self.per_unit, strict=True)):
            rows.append([*(f"{number:.4g}" for number in numbers), "trusted" if i in inside else ""])
        ends = {"linear": "linear", "noise": "noise only", "neither": "no end to trust"}
        text = ends.get(self.verdict, f"trust the {self.verdict}")
        if np.isfinite(self.slope):
            text += f": {self.slope:.4g} ± {self.slope_uncertainty:.2g} per unit delay"
        return aligned(rows, words={4}) + f"\n{text}" + ("; some delays make it faster" if self.faster else "")


def ladder(delays: ArrayLike, effects: ArrayLike, uncertainties: ArrayLike, sigmas: float = 3.0) -> Ladder:
    """Judge the effects of one factor at several delays.

    Parameters
    ----------
    delays : array_like (k,)
        Above zero, three at least, in any order.
    effects : array_like (k,)
        Of an experiment with each delay.
    uncertainties : array_like (k,) or float
        Standard uncertainties S of the effects, above zero.
    sigmas : float
        An effect within so many S is noise.

    Returns
    -------
    Ladder

    Raises
    ------
    ValueError
        For fewer rungs, or numbers that are no delays or uncertainties.

    Notes
    -----
    Rungs agree where the chi-squared of their effects about one slope through zero has a chance above 1%. If all do,
    the ladder is linear. If not, the most rungs from the large end, and from the small end, that agree are sought,
    three at least, and at the small end, where noise agrees with anything, two of them beyond it. The end with more of
    them is trusted, the large one where there are as many.

    Examples
    --------
    >>> found = ladder([1, 2, 5, 10, 20], [-3.0, -1.0, 15.1, 29.9, 60.0], 0.3)
    >>> found.verdict, found.delays[found.trusted].tolist(), round(found.slope, 2), found.faster
    ('large delays', [5.0, 10.0, 20.0], 3.0, True)
    """
    d, e = np.asarray(delays, np.float64), np.asarray(effects, np.float64)
    if d.ndim != 1 or d.shape != e.shape or len(d) < _LEAST:
        raise ValueError(
            f"delays {d.shape} and effects {e.shape}: a ladder has {_LEAST} rungs at least, an effect each"
        )
    s = np.broadcast_to(np.asarray(uncertainties, np.float64), d.shape)
    if not (d > 0).all() or not (s > 0).all() or not np.isfinite(np.concatenate([d, e, s])).all():
        raise ValueError("delays and uncertainties must be above zero, and all numbers finite")
    order = np.argsort(d)
    d, e, s = d[order], e[order], s[order]
    k, clear = len(d), np.abs(e) > sigmas * s
    everything = _agreement(d, e, s)
    verdict, trusted = "noise", slice(0, 0)
    slope, error = _slope(d, e, s)
    if clear.any() or abs(slope) > sigmas * error:
        ends = {"large delays": [slice(i, k) for i in range(k - _LEAST + 1)]}
        ends["small delays"] = [slice(0, i) for i in range(k, _LEAST - 1, -1)]
        verdict, trusted = ("linear", slice(0, k)) if everything > _ALPHA else ("neither", trusted)
        for name, many in ends.items() if verdict == "neither" else ():
            agreeing = (end for end in many if _agreement(d[end], e[end], s[end]) > _ALPHA)
            end = next((end for end in agreeing if end.start or clear[end].sum() >= 2), slice(0, 0))
            if end.stop - end.start > trusted.stop - trusted.start:
                verdict, trusted = name, end
    slope, error = _slope(d[trusted], e[trusted], s[trusted])
    faster = bool((e < -sigmas * s).any())
    return Ladder(d, e, s, e / d, verdict, trusted, slope, error, everything, faster)


def _slope(d: FloatArray, e: FloatArray, s: FloatArray) -> tuple[float, float]:
    """Return the slope through zero by weighted least squares, and its standard uncertainty."""
    if not len(d):
        return float("nan"), float("nan")
    weight = float(((d / s) ** 2).sum())
    return float((d * e / s**2).sum()) / weight, weight**-0.5


def _agreement(d: FloatArray, e: FloatArray, s: FloatArray) -> float:
    slope, _ = _slope(d, e, s)
    return float(chdtrc(len(d) - 1, (((e - slope * d) / s) ** 2).sum()))
