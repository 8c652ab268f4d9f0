"""Statistics of a list of numbers: each result is a number of the list, or is rounded only once.

A number is a bool, an int, a float or a NumPy longdouble.  Each finite one is a fraction whose denominator is a power
of two.  With the largest denominator d, each number is k / d for a whole number k.  Mean and variance are quotients of
whole numbers, which Python computes without error up to the division:

    mean        Σk / (n d)
    variance    (n Σk² - (Σk)²) / (n (n - 1) d²)

The second form is that of the source.  In floating point its difference cancels, in whole numbers it is exact.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1 and Strata manual, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def smallest(numbers: Sequence[Any]) -> Any:
    """Return the smallest number, the first of equal ones; a NaN if there is one."""
    return _unless_nan(min, numbers)


def largest(numbers: Sequence[Any]) -> Any:
    """Return the largest number, the first of equal ones; a NaN if there is one."""
    return _unless_nan(max, numbers)


def median(numbers: Sequence[Any]) -> Any:
    """Return the ceil(n/2)-th smallest of n numbers; a NaN if there is one."""
    return _unless_nan(lambda given: sorted(given)[(len(given) - 1) // 2], numbers)


def mean(numbers: Sequence[Any]) -> float:
    """Return the mean, correctly rounded; infinite numbers count as in a sum of floats."""
    if special := _not_finite(numbers):
        return sum(special)
    units, denominator = _in_units(numbers)
    return _quotient(sum(units), len(units) * denominator)


def variance(numbers: Sequence[Any]) -> float:
    """Return the sample variance, correctly rounded: 0.0 for one number, NaN if a number is not finite."""
    if _not_finite(numbers):
        return math.nan
    n = len(numbers)
    if n == 1:
        return 0.0
    units, denominator = _in_units(numbers)
    return _quotient(n * sum(k * k for k in units) - sum(units) ** 2, n * (n - 1) * denominator**2)


def _unless_nan(choose: Callable[[Sequence[Any]], Any], numbers: Sequence[Any]) -> Any:
    """Return the number that a function chooses, or the first NaN."""
    for x in numbers:
        if x != x:
            return x
    return choose(numbers)


def _not_finite(numbers: Sequence[Any]) -> list[float]:
    """Return the infinite numbers and the NaNs.  A finite longdouble may be infinite as a float, and is not one."""
    return [float(x) for x in numbers if not abs(x) < math.inf]


def _in_units(numbers: Sequence[Any]) -> tuple[list[int], int]:
    """Return finite numbers as whole multiples of 1/d, and d."""
    ratios = [x.as_integer_ratio() for x in numbers]
    denominator = max(d for _, d in ratios)
    return [k * (denominator // d) for k, d in ratios], denominator


def _quotient(dividend: int, divisor: int) -> float:
    """Return a quotient of whole numbers, correctly rounded: infinite if it is beyond the range of floats."""
    try:
        return dividend / divisor
    except OverflowError:
        return math.inf if dividend > 0 else -math.inf
