"""Effects worth having: does an experiment show or exclude them, and if neither, what would decide?

    0           half-width            worth            half-width: of the interval of an effect, `Analysis.expanded`
    ├───────────────┼───────────────────┼──▶ effect    worth: the effect of a place that is just worth improving
     effect + half-width < worth                       excluded: the place may be dropped
                     effect > half-width               significant
                     neither of the two                undecided

If the half-width is half the worth, nothing is undecided: an effect is either larger than the half-width, or excluded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import chdtri  # chi-squared; scipy.stats would take half a second to import

from .effects import Analysis, mark

WORTH = 0.05
"""Share of a run: a place that would save this share if it took no time is worth improving."""
_DOUBT = 0.1


class Power(NamedTuple):
    """Effect worth having of one factor, and what the trials show or need to decide about it."""

    worth: float
    """The effect worth having, in the unit of the response."""
    excluded: bool
    """True if the interval of the effect excludes an effect worth having, of either sign."""
    replicates: float
    """Number of additional replicates that would decide; infinite if none would."""
    times: float
    """Factor by which the delay must grow to decide; infinite if none would, NaN for a treatment without a length."""


def worth_having(run: float, delayed: float, spent: float, share: float = WORTH) -> float:
    """Return the effect of a place that would save the given share of a run if it took no time.

    Such a place has a sensitivity (effect per unit delay) of ``share * run / spent``. Its effect is the sensitivity
    times the delay.

    Parameters
    ----------
    run : float
        Response without delays.
    delayed : float
        Seconds that the treatment adds to a run; NaN for a treatment without a length, whose effect is compared with
        the run itself.
    spent : float
        Seconds in the place as it is, counted in the same way. If that is not known, 0: then the place may take all of
        the run.
    share : float
        Share of a run that the place would save.
    """
    if math.isnan(delayed):
        return share * run
    return share * run * delayed / spent if spent > 0 else share * delayed


def excluded(effect: float, half_width: float, worth: float) -> bool:
    """Return True if the interval of an effect lies within the effects that are not worth having."""
    return abs(effect) + half_width < worth


def power(analysis: Analysis, factor: str, delayed: float, spent: float, share: float = WORTH) -> Power:
    """Return what the trials could have shown of one factor; see `worth_having`."""
    half_width = max(analysis.expanded, analysis.rounding)
    worth = worth_having(float(analysis.means.min()), delayed, spent, share)
    out = excluded(analysis.effect(factor), half_width, worth)
    if not worth > 0:
        return Power(worth, out, math.inf, math.inf)
    times = math.nan if math.isnan(delayed) else 2 * max(analysis.factor * _cautious(analysis), half_width) / worth
    return Power(worth, out, _more(analysis, worth / 2), times)


def _cautious(analysis: Analysis) -> float:
    """Return an S that the true one exceeds once in ten times: later trials may be noisier than these."""
    return analysis.uncertainty * math.sqrt(analysis.freedom / float(chdtri(analysis.freedom, 1 - _DOUBT)))


def _more(analysis: Analysis, half_width: float) -> int:
    """Return how many more replicates would make the half-width this small."""
    blocks = len(set(analysis.blocks.tolist()))
    alone = _cautious(analysis) * math.sqrt(analysis.replications)  # S of one replicate
    count = max(analysis.replications + 1, math.ceil((mark(math.inf) * alone / half_width) ** 2))
    while mark((count - 1) * (analysis.design.trials - blocks)) * alone > half_width * math.sqrt(count):
        count += 1
    return count - analysis.replications
