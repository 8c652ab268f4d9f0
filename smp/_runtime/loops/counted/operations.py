"""The kinds of operations that a loop is counted in: the keys of the table ``[processor.ops]`` of a machine file.

A count is a mapping from kind to number.  The numbers of a loop's call are a tuple in the order of `TOTALS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..declarations import KINDS as KINDS

DECLARED = "declared"
"""Cycles of the loops that a loop calls and that declare their cost."""
TOTALS = (*KINDS, DECLARED)
"""The numbers that a loop which counts returns."""
Count = Mapping[str, int]
NOTHING: Count = {}
STEP: Count = {"int": 2, "branch": 1}
"""One more element in a loop over an array: the index is increased and compared, and a branch leads back."""
ELEMENTARY: Count = {"call": 1, "flop": 20, "fdiv": 1}
"""A function such as sine or logarithm.  This is an assumption: a polynomial of degree 8, and the reduction to it."""


def total(*counts: Count) -> Count:
    """Return the sum of counts."""
    summed: Counter[str] = Counter()
    for count in counts:
        summed.update(count)
    return summed


def times(count: Count, factor: int) -> Count:
    """Return a count, multiplied."""
    return {kind: number * factor for kind, number in count.items()}
