"""Inputs outside the calibrated ranges of a library, for which its models are held to the edges of the ranges.

    below the range    the prediction at the lower end
    above the range    the prediction at the upper end; for a size, times (given / upper end) ** growth
                       growth: slope of the logarithm of the time over the last doubling of the range, at least 0

A formula that fits well within a range can bend anywhere beyond it, even below zero.  The edge has been measured, and
so has the growth towards it.  Inputs with geometric ranges or with powers of two are sizes, on which times depend by a
power; others, such as shares, are held at the end of their range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ..models.fit.inputs import Input

SIZES = ("geometric", "powers")
"""Spacings of inputs that grow beyond their ranges."""


class ExtrapolationWarning(UserWarning):
    """Warns that a library is used outside the ranges that it was calibrated for."""


def grows(given: Input) -> bool:
    """Return True if times grow with an input beyond its range."""
    return given.spacing in SIZES


def at_edges(ranges: Sequence[Input], inputs: Sequence[float]) -> list[float]:
    """Return the inputs for the models: values outside their ranges are moved to the nearer end."""
    return [min(max(given, r.low), r.high) for given, r in zip(inputs, ranges, strict=True)]


def outside(ranges: Sequence[Input], inputs: Sequence[float]) -> str:
    """Return a text on the inputs outside their ranges; empty if there are none.

    Examples
    --------
    >>> outside([Input.parse("n", "100..1e6"), Input.parse("p", "2, 4")], [5e7, 4])
    'n = 5e+07 is outside the calibrated range 100 to 1e+06'
    """
    return "; ".join(
        f"{r.name} = {given:.4g} is outside the calibrated range {r.low:.4g} to {r.high:.4g}"
        for given, r in zip(inputs, ranges, strict=True)
        if not r.low <= given <= r.high
    )


def growth(
    predict: Callable[..., float], ranges: Sequence[Input], inputs: Sequence[float], own: Mapping[str, int]
) -> float:
    """Return the factor by which a time is larger than at the edge of the ranges.

    Parameters
    ----------
    predict : callable
        ``predict(*inputs, *own values)`` returns seconds.
    ranges : sequence of Input
    inputs : sequence of float
        Values of the inputs, some of them above their ranges.
    own : mapping of name to int
        The parameter of the implementation, if it has one.

    Returns
    -------
    float
        1 if no size lies above its range.  A growth is taken as 1, so that the time is proportional to the size, if the
        prediction is not defined or not above zero half-way to the edge.
    """
    edge, factor = at_edges(ranges, inputs), 1.0
    for k, (given, each) in enumerate(zip(inputs, ranges, strict=True)):
        if not grows(each) or given <= each.high:
            continue
        before = max(each.low, each.high / 2)
        inner = [before if k == j else value for j, value in enumerate(edge)]
        power = 1.0
        try:
            low, high = predict(*inner, *own.values()), predict(*edge, *own.values())
            if 0 < low < math.inf and 0 < high < math.inf and before < each.high:
                power = max(0.0, math.log(high / low) / math.log(each.high / before))
        except (ArithmeticError, ValueError):
            pass
        factor *= (given / each.high) ** power
    return factor
