"""Estimate by how much a figure would differ if it were measured again at once.

    windows of visit 1, 2, ...   ->  a median for each visit   ┐
    repeats of a program         ->  each by itself            ├─>  standard error of the figure's logarithm
    a record's median and p95    ->  if no samples are left    ┘

Windows that were taken one after the other are disturbed together, so a visit counts as one measurement, however many
windows it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .windows import per_operation

if TYPE_CHECKING:
    from smp.profiles.records import Timed

OF_MEDIAN = 1.2533
"""Standard error of a median divided by that of a mean, for normally distributed values."""
QUARTILES = 1.349
"""Distance between the quartiles, in standard deviations."""
P95 = 1.645
"""Distance of the 95th percentile from the median, in standard deviations."""
FEWEST_VISITS = 3
"""Number of visits assumed for a point if only its record is left, which does not say how many there were."""


class Spread(NamedTuple):
    """Uncertainty of a figure.

    Attributes
    ----------
    error : float
        Standard error of the figure's natural logarithm: 0.01 is 1%.
    freedom : float
        Degrees of freedom of the error.
    """

    error: float
    freedom: float


def of_visits(values: NDArray[Any], visits: NDArray[Any]) -> Spread | None:
    """Return the spread of a median, from values above zero and the visit of each; None for fewer than two visits."""
    medians = [float(np.median(values[visits == visit])) for visit in np.unique(visits)]
    if len(medians) < 2 or min(medians) <= 0.0:
        return None
    return Spread(float(np.log(medians).std(ddof=1) / np.sqrt(len(medians))), len(medians) - 1)


def of_windows(windows: NDArray[Any] | None) -> Spread | None:
    """Return the spread of a point, from its clean windows, or from all its windows if none is clean."""
    if windows is None:
        return None
    clean = windows[windows["flags"] == 0]
    used = clean if len(clean) else windows
    return of_visits(per_operation(used), used["round"])


def of_repeats(seconds: NDArray[Any] | None) -> Spread | None:
    """Return the spread of the median of repeats; None for fewer than three."""
    if seconds is None or len(seconds) < 3:
        return None
    low, high = np.percentile(np.log(seconds), [25, 75])
    return Spread(float((high - low) / QUARTILES * OF_MEDIAN / np.sqrt(len(seconds))), len(seconds) - 1)


def of_best(seconds: NDArray[Any] | None) -> Spread | None:
    """Return the spread of the best of repeats: its distance from the second best; None for fewer than three."""
    if seconds is None or len(seconds) < 3:
        return None
    best, second = np.sort(np.log(seconds))[:2]
    return Spread(float(second - best), len(seconds) - 1)


def of_record(row: Timed | None) -> Spread | None:
    """Return the spread of a point, from its median and 95th percentile alone."""
    if row is None or row.p95_ns is None or not 0.0 < row.ns <= row.p95_ns:
        return None
    deviation = float(np.log(row.p95_ns / row.ns)) / P95
    return Spread(deviation * OF_MEDIAN / FEWEST_VISITS**0.5, FEWEST_VISITS - 1)
