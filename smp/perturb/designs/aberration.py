"""Fractional designs beyond the tables: a search for columns that make as few short words as possible.

A word is a set of factors whose columns have a constant product. A short word aliases effects of few factors. A column
added to a design makes a word of w factors for every set of w - 1 columns whose product it is. So the design is grown
one column at a time, and for each contrast the search keeps how many sets of one to five columns have it as their
product. Several designs are grown together (a beam). Those with the fewest words of three factors come first, then
those with the fewest words of four, and so on. This is the criterion of A. Fries and W. G. Hunter, Technometrics 22
(1980).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp.models._types import IntArray

_BEAM = 30
_TRIED = 6  # most columns tried at each step; each makes different words
_SETS = 5  # size of the largest sets of columns that are counted


class _Grown(NamedTuple):
    words: tuple[int, ...]  # number of words of three, four, five and six factors
    columns: tuple[int, ...]
    products: IntArray  # (sets of 0 to 5 columns, contrast): number of sets that have this product


def columns(p: int, bits: int) -> tuple[int, ...]:
    """Return the contrasts of p factors in ``2**bits`` trials, the basic ones first.

    The design has resolution IV if ``2**bits >= 2 * p``. For that, designs of columns that are products of odd numbers
    of basic factors are grown too; these columns make up the foldover of the saturated design.
    """
    every = np.ones(1 << bits, np.bool_)
    odd = np.array([contrast.bit_count() % 2 == 1 for contrast in range(1 << bits)])
    return min((_grow(p, bits, preferred) for preferred in (every, odd)), key=lambda one: one.words).columns


def _grow(p: int, bits: int, preferred: NDArray[np.bool_]) -> _Grown:
    width = max(1, min(_BEAM, 1024 >> bits))
    products = np.zeros((_SETS + 1, 1 << bits), np.int64)
    products[0, 0] = 1
    start = _Grown((0,) * (_SETS - 1), (), products)
    for basic in range(bits):
        start = _added(start, 1 << basic, start.words)
    beam = [start]
    for _ in range(bits, p):
        found: dict[tuple[tuple[int, ...], bytes], _Grown] = {}
        for one in beam:
            for words, contrast in _promising(one, preferred):
                grown = _added(one, contrast, words)
                found.setdefault((words, np.sort(grown.products[3]).tobytes()), grown)  # one of designs that are alike
        beam = sorted(found.values(), key=lambda one: (one.words, one.columns))[:width]
    return beam[0]


def _promising(one: _Grown, preferred: NDArray[np.bool_]) -> list[tuple[tuple[int, ...], int]]:
    free = np.ones_like(preferred)
    free[[0, *one.columns]] = False
    contrasts = np.flatnonzero(free & preferred if (free & preferred).any() else free)
    words = one.products[2:, contrasts].T + np.array(one.words)
    different, first = np.unique(words, axis=0, return_index=True)
    return [(tuple(row), int(contrasts[i])) for row, i in zip(different[:_TRIED].tolist(), first[:_TRIED], strict=True)]


def _added(one: _Grown, contrast: int, words: tuple[int, ...]) -> _Grown:
    products = one.products.copy()
    products[1:] += one.products[:-1][:, np.arange(products.shape[1]) ^ contrast]
    return _Grown(words, (*one.columns, contrast), products)
