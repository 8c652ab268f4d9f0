"""Knees of a cost function, found in the data: numbers of words from which a further word has another price.

    none, one, two of some candidates  ─▶  least squares with each  ─▶  the least criterion

The caches that a system reports are no guide: a virtual machine often reports other caches than those of its host, and
other programs use them too. One more knee is taken only if it explains enough: each further term costs what the
Bayesian information criterion charges for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from scipy.optimize import nnls

from .._types import FloatArray
from .cost import levels_of, matrix_of, term_names
from .measured import Measured

MOST_KNEES = 2
CANDIDATES = 20
"""Number of places at which a knee is tried, spread geometrically between the least and the largest h measured."""
SPARE = 2  # supersteps needed beyond the number of terms: with fewer, nothing is fitted, as the error is unknown


def terms_for(name: str, p: int, levels: int) -> tuple[str, ...]:
    """Return the terms of a function with p processors; with one, M is h_r + h_w and has no term next to these."""
    redundant = ("gM",) if p == 1 and name.startswith("HrHw") else ()
    return tuple(term for term in term_names(name, levels) if term not in redundant)


def matrix_for(terms: tuple[str, ...], part: Measured, knees: tuple[float, ...]) -> FloatArray:
    """Return the columns of some terms for measured supersteps."""
    return matrix_of(terms, part.hr, part.hw, part.m, levels_of({"knees": knees}), part.others)


def find_knees(name: str, p: int, part: Measured) -> tuple[float, ...]:
    """Return the knees of a function in words, ascending; empty if no knee explains enough.

    Parameters
    ----------
    name : str
        A function with knees, of `smp.models.supersteps.cost.NAMES`.
    p : int
        Number of processors.
    part : Measured
        Supersteps to fit.

    Notes
    -----
    About two hundred small least-squares problems: about 0.02 s.
    """
    n = len(part.seconds)
    sizes = part.h[part.h > 0]
    if not len(sizes):
        return ()
    grid = np.unique(np.geomspace(sizes.min(), sizes.max(), CANDIDATES + 2)[1:-1].round()).tolist()
    best: tuple[float, ...] = ()
    least = np.inf
    for knees in _subsets(grid, MOST_KNEES):
        terms = terms_for(name, p, len(knees) + 1)
        if n < len(terms) + SPARE:
            break
        matrix = matrix_for(terms, part, knees) / part.seconds[:, None]
        norms = np.linalg.norm(matrix, axis=0)
        _, residual = nnls(matrix / np.where(norms > 0, norms, 1.0), np.ones(n))
        criterion = n * np.log(max(residual, 1e-12) ** 2 / n) + len(terms) * np.log(n)
        if criterion < least:
            best, least = knees, criterion
    return best


def _subsets(grid: list[float], most: int) -> Iterable[tuple[float, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(grid, k) for k in range(most + 1))
