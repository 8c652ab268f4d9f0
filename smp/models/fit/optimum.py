"""Search for the best whole number for a parameter, by bisection: a root or a minimum of a model.

    integer_root       two costs that must balance:     f = one - other, one sign change
    integer_minimum    one cost that first falls, then rises:  the sign of f(x + 1) - f(x)

Source: Brewer, Portable High-Performance Supercomputing, section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable


def integer_root(bottom: int, top: int, f: Callable[[int], float]) -> int:
    """Return the whole number at which a function changes sign.

    Parameters
    ----------
    bottom, top : int
        The range, including both ends.
    f : callable
        Function of one whole number; monotonic, or with one change of sign.

    Returns
    -------
    int
        The last x before the change of sign, or a root itself. ``bottom - 1`` if ``f`` is negative everywhere,
        ``top + 1`` if it is positive everywhere.

    Raises
    ------
    ValueError
        An empty range.

    Notes
    -----
    2 + log2(top - bottom) evaluations.

    Examples
    --------
    >>> integer_root(0, 100, lambda rows: 7.5 - rows)       # 7 rows fit into the time, 8 do not
    7
    >>> integer_root(0, 100, lambda rows: -1.0), integer_root(0, 100, lambda rows: 1.0)
    (-1, 101)
    """
    _check(bottom, top)
    first, last = f(bottom), f(top)
    if first == 0:
        return bottom
    if last == 0:
        return top
    if (first > 0) == (last > 0):
        return top + 1 if first > 0 else bottom - 1
    low, high = bottom, top  # f(low) has the sign of first, f(high) that of last
    while high - low > 1:
        middle = (low + high) // 2
        value = f(middle)
        if value == 0:
            return middle
        low, high = (middle, high) if (value > 0) == (first > 0) else (low, middle)
    return low


def integer_minimum(bottom: int, top: int, f: Callable[[int], float]) -> int:
    """Return the whole number at which a function is least.

    Parameters
    ----------
    bottom, top : int
        The range, including both ends.
    f : callable
        Function of one whole number that falls, then rises. It may have flat pieces, and may be infinite only towards
        the top. With more than one minimum, one of them is found.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        An empty range.

    Notes
    -----
    2 log2(top - bottom) evaluations, and 2 log2(k) more for each flat piece of k numbers that the search meets.

    Examples
    --------
    >>> integer_minimum(1, 16, lambda digit: 2**digit / 1000 + 32 / digit)
    9
    """
    _check(bottom, top)
    while bottom < top:
        middle, beyond = (bottom + top) // 2, (bottom + top) // 2 + 1
        here, there = f(middle), f(beyond)
        if here == there:  # the direction shows only at the end of the flat piece
            beyond = _end_of_flat(beyond, top, here, f)
            there = f(beyond)
        if here <= there:
            top = middle
        else:
            bottom = beyond
    return bottom


def _end_of_flat(start: int, top: int, level: float, f: Callable[[int], float]) -> int:
    """Return the first x after ``start`` whose value differs from ``level``, or the top."""
    low, high, stride = start, min(start + 1, top), 1
    while high < top and f(high) == level:
        stride *= 2
        low, high = high, min(high + stride, top)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if f(middle) == level else (low, middle)
    return high


def _check(bottom: int, top: int) -> None:
    if bottom > top:
        raise ValueError(f"the range from {bottom} to {top} is empty")
