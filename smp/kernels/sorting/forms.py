"""Table of the forms of sorting that are SPMD programs.

`functions` and `programs` read it, and so do the microbenchmarks and the predictions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..costs import longest_block
from ..form import Form
from . import column, radix, sample

ROUNDS = "ceil(span / digit)"
USED = f"ceil(span / {ROUNDS})"
"""Bits of the digit that are used, because the rounds take even shares of the span."""
RADIX = [
    "n",
    ROUNDS,
    f"n * {ROUNDS}",
    f"n * {ROUNDS} * max(0, {USED} - 6)",
    f"n * {ROUNDS} * max(0, {USED} - 10)",
    f"2 ** {USED} * {ROUNDS}",
    f"max(0, n - 131072) * {ROUNDS}",
    f"max(0, n - 1048576) * {ROUNDS}",
]
LOCAL = ["n", "n * log2(n) * rare", "n * bits * (1 - rare)", "max(0, n - 131072)", "max(0, n - 1048576)"]
"""Terms of programs that end with NumPy's sort, see `smp.kernels.sorting.choice.PASSES`."""


@dataclass(frozen=True)
class SortForm(Form):
    """Form of a program that sorts.

    Parameters
    ----------
    by_bits : bool
        True if the program takes the number of ``bits`` that it has to go over.
    """

    by_bits: bool = False


def _compared(n: int, p: int) -> float:
    longest = longest_block(n, p)
    return longest * math.log2(longest) if longest > 1 else float(longest)


def _fewest_rounds(n: float, span: float, *_: float) -> int:
    return math.ceil(span / radix.WIDEST)


def _most_rounds(n: float, span: float, *_: float) -> int:
    """Return a number of rounds up to which each further round makes the digit smaller."""
    return max(_fewest_rounds(n, span), math.isqrt(int(span)))


def _digit(rounds: int, n: float, span: float, *_: float) -> int:
    return math.ceil(span / rounds)


FORMS = {
    "radix": SortForm(
        "radix sort",
        radix.sort_radix,
        cost=radix.cost,
        element_bytes=4,
        terms=tuple(RADIX),
        parameter={
            "name": "digit",
            "text": "4, 6, 8, 9, 10, 11, 12, 13, 14",
            "bottom": _fewest_rounds,
            "top": _most_rounds,
            "value": _digit,
        },
        by_bits=True,
    ),
    "sample": SortForm(
        "sample sort", sample.sort_sample, cost=sample.cost, work=_compared, element_bytes=4, terms=tuple(LOCAL)
    ),
    "column": SortForm(
        "column sort", column.sort_column, cost=column.cost, work=_compared, element_bytes=4, terms=tuple(LOCAL)
    ),
}
"""Forms by the name that `sort` takes as its ``algorithm``."""
