"""The statistics of one point, and whether they can be trusted.

windows -> clean ones -> minimum, median, 95th percentile       in ns an operation
        -> clean fraction, spread -> valid, or the reasons why not
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from .windows import LIMITS, NO_FLAG, Flag, Limits, MeasurementError, Windows, per_operation

Quote = Literal["minimum", "median"]


@dataclass(frozen=True)
class Result:
    """The statistics of one point, in ns an operation, and the windows that they were taken from.

    Parameters
    ----------
    key : Hashable
        The point's.
    minimum, median, p95 : float
        Of the clean windows (of all windows where none is clean); ns an operation.
    quoted : {"minimum", "median"}
        Which of them stands for the point: the minimum, or for two processors and more the median, where
        a minimum would mean that a partner slept.
    count : int
        The number of windows, clean or not.
    clean_fraction : float
        How many of them are clean.
    why : list of str
        The reasons against the point; empty where it is valid.
    windows : ndarray of WINDOW, shape (count,)
    """

    key: Hashable
    minimum: float
    median: float
    p95: float
    quoted: Quote
    count: int
    clean_fraction: float
    why: list[str]
    windows: Windows = field(repr=False)

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against the point."""
        return not self.why

    @property
    def value(self) -> float:
        """The quoted statistic, ns an operation."""
        return self.minimum if self.quoted == "minimum" else self.median


def summarise(
    key: Hashable,
    windows: Windows,
    quote: Quote = "minimum",
    ignore: Flag = NO_FLAG,
    limits: Limits = LIMITS,
) -> Result:
    """Draw the statistics of a point from its windows, and say whether they can be trusted.

    Parameters
    ----------
    key : Hashable
    windows : ndarray of WINDOW, shape (n,)
        With their flags set.
    quote : {"minimum", "median"}
    ignore : Flag
        What belongs to the operation itself: one that sleeps is switched away from.
    limits : Limits

    Returns
    -------
    Result

    Raises
    ------
    MeasurementError
        When there is no window.
    """
    if windows.size == 0:
        raise MeasurementError(f"point {key!r} has no window: it was never run, or its time was too short")
    clean = (windows["flags"] & ~np.uint8(ignore)) == 0
    count, good = windows.size, int(clean.sum())
    times = per_operation(windows[clean] if good else windows)
    low, first, median, third, p95 = np.percentile(times, [0, 25, 50, 75, 95])
    why = []
    if good < limits.clean_count:
        why.append(f"{good} clean windows of {count}, fewer than {limits.clean_count}")
    if good < limits.clean_fraction * count:
        why.append(f"{good / count:.0%} of the windows are clean, under {limits.clean_fraction:.0%}")
    if low <= 0:
        why.append("the timer's cost exceeds the shortest window")
    elif quote == "minimum" and median > limits.spread * low:
        why.append(f"unstable: the median is {median / low:.2f} of the minimum, above {limits.spread:.2f}")
    elif quote == "median" and third > limits.spread * first:
        why.append(f"unstable: the third quartile is {third / first:.2f} of the first, above {limits.spread:.2f}")
    return Result(key, float(low), float(median), float(p95), quote, count, good / count, why, windows)


def with_others_named(result: Result, limits: Limits = LIMITS) -> Result:
    """Return a point with the reason against it, where that is what other processes took of the CPUs.

    Parameters
    ----------
    result : Result
        The ``overlap`` of its windows is what others have left.
    limits : Limits
    """
    own = float(np.median(result.windows["overlap"]))
    if result.valid or own >= limits.overlap:
        return result
    return replace(result, why=[f"other processes took {1 - own:.0%} of the time of the CPUs"])
