"""The statistics of one point, with a verdict on whether they can be trusted.

windows -> clean ones -> minimum, median, 95th percentile       in ns per operation
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
    """Statistics of one point, in ns per operation, and the windows that they were computed from.

    Parameters
    ----------
    key : Hashable
        Key of the point.
    minimum, median, p95 : float
        Statistics of the clean windows (of all windows if none is clean), in ns per operation.
    quoted : {"minimum", "median"}
        Statistic that stands for the point: the minimum, or the median for two or more processors, where
        a minimum would mean that a partner slept.
    count : int
        Number of windows, clean or not.
    clean_fraction : float
        Fraction of the windows that are clean.
    why : list of str
        Reasons against the point; empty if it is valid.
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
        """True if there is no reason against the point."""
        return not self.why

    @property
    def value(self) -> float:
        """The quoted statistic, in ns per operation."""
        return self.minimum if self.quoted == "minimum" else self.median


def summarise(
    key: Hashable,
    windows: Windows,
    quote: Quote = "minimum",
    ignore: Flag = NO_FLAG,
    limits: Limits = LIMITS,
) -> Result:
    """Return the statistics of a point, computed from its windows, with the reasons not to trust them, if any.

    Parameters
    ----------
    key : Hashable
    windows : ndarray of WINDOW, shape (n,)
        Windows of the point, with their flags set.
    quote : {"minimum", "median"}
    ignore : Flag
        Flags that the operation itself causes, which do not make a window unclean: a thread that sleeps, for example,
        is switched away from.
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
        why.append(f"{good / count:.0%} of the windows are clean, below {limits.clean_fraction:.0%}")
    if low <= 0:
        why.append("the timer's cost exceeds the shortest window")
    elif quote == "minimum" and median > limits.spread * low:
        why.append(f"unstable: the median is {median / low:.2f} times the minimum, above {limits.spread:.2f}")
    elif quote == "median" and third > limits.spread * first:
        why.append(f"unstable: the third quartile is {third / first:.2f} times the first, above {limits.spread:.2f}")
    return Result(key, float(low), float(median), float(p95), quote, count, good / count, why, windows)


def with_others_named(result: Result, limits: Limits = LIMITS) -> Result:
    """Return a point; if it is invalid and other processes took too much of the CPUs, that becomes its reason.

    Parameters
    ----------
    result : Result
        The ``overlap`` of its windows is the share of the CPUs that others have left.
    limits : Limits
    """
    own = float(np.median(result.windows["overlap"]))
    if result.valid or own >= limits.overlap:
        return result
    return replace(result, why=[f"other processes took {1 - own:.0%} of the CPU time"])
