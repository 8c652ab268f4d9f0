"""Least squares that reports which coefficients the data leave open: singular values, null spaces, signs.

    columns / norm  ->  U S V'  ->  drop S <= 1e-10 S_max  ->  the smallest solution, its variance, open directions
                        |
                        +->  small S: their vectors in V name the terms that cannot be separated

The columns arrive equilibrated, each divided by its norm. Otherwise the singular values would say more about the units
than about the data.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear

from smp.errors import FitError

from .._types import BoolArray, FloatArray

CUTOFF = 1e-10  # singular values up to this share of the largest are rounding; NIST's hardest set, Filip, reaches 2e-10
CONDITION = 1e3  # beyond this ratio of singular values, three digits of data leave no digit of a coefficient
_TOUCHED = 1e-6  # a component above this is weight of a term in a null space: rounding leaves about 1e-10
_SUPPORT = 0.1  # a component of a unit vector above this makes a term part of a nearly null combination
_RIDGE = 1e-8  # its square is one rounding error, see `free_terms`


def checked_system(
    columns: ArrayLike, y: ArrayLike, terms: Sequence[str], relative: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the columns (n, k) and y (n,) as float64, or raise `FitError` if they cannot be fitted."""
    matrix, measured = np.asarray(columns, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if matrix.ndim != 2 or measured.ndim != 1 or matrix.shape != (len(measured), len(terms)):
        raise FitError(
            f"columns of shape {matrix.shape} and y of shape {measured.shape} for {len(terms)} terms do not "
            "agree: give columns of shape (n, k), y of shape (n,) and k names"
        )
    if len(measured) < len(terms) or not len(terms):
        raise FitError(
            f"{len(measured)} measurements cannot fit {len(terms)} terms {tuple(terms)}: "
            "measure more points or fit fewer terms (at least one)"
        )
    broken = ~(np.isfinite(matrix).all(axis=1) & np.isfinite(measured))
    if broken.any():
        raise FitError(
            f"{broken.sum()} of {len(broken)} rows contain NaN or infinity; the first is row {broken.argmax()}: "
            "leave out rows that could not be measured"
        )
    if relative and measured.min() <= 0.0:
        raise FitError(
            f"y[{measured.argmin()}] = {measured.min():g} is not above zero, so it has no relative error: "
            "leave the row out, or fit with relative=False"
        )
    return matrix, measured


class Solution(NamedTuple):
    """Solution for k coefficients, with the directions that the rows leave open.

    Attributes
    ----------
    values : ndarray (k,) float64
        The smallest of the solutions.
    spread : ndarray (k, rank) float64
        ``spread @ spread.T`` is the covariance of the coefficients per unit of residual variance.
    null : ndarray (k, k - rank) float64
        Directions in which the coefficients may move without a change in the rows.
    """

    values: FloatArray
    spread: FloatArray
    null: FloatArray


def solve(scaled: FloatArray, target: FloatArray) -> Solution:
    """Minimise the norm of ``scaled @ values - target``.

    Parameters
    ----------
    scaled : ndarray (n, k) float64
        Equilibrated columns.
    target : ndarray (n,) float64

    Notes
    -----
    O(n k^2).
    """
    left, values, right = np.linalg.svd(scaled, full_matrices=False)
    kept = values > CUTOFF * values.max(initial=0.0)
    spread = right[kept].T / values[kept]
    null = right[~kept].T
    return Solution(spread @ (left[:, kept].T @ target), spread, np.where(np.abs(null) > _TOUCHED, null, 0.0))


def touches(rows: FloatArray, null: FloatArray) -> BoolArray:
    """Return True for rows (m, k) that a move along a null direction (k, j) changes; such rows cannot be predicted."""
    return np.asarray((np.abs(rows @ null) > _TOUCHED * (np.abs(rows) @ np.abs(null))).any(axis=1))


def identify(scaled: FloatArray) -> tuple[float, BoolArray, BoolArray]:
    """Find the terms that the rows cannot separate.

    Parameters
    ----------
    scaled : ndarray (n, k) float64
        Equilibrated columns, n >= k.

    Returns
    -------
    condition : float
        Largest over smallest singular value; infinite when one is below the cut-off.
    unidentified : ndarray (k,) bool
        Terms with weight in the null space, and terms that take part in a combination whose singular value is more than
        `CONDITION` times smaller than the largest.
    linked : ndarray (k, k) bool
        Pairs of unidentified terms that take part in the same such combination; each such term is paired with itself.
    """
    values, right = np.linalg.svd(scaled, full_matrices=False)[1:]
    lost = values <= CUTOFF * values[0]
    weak = values * CONDITION < values[0]
    left_open = np.linalg.norm(right[lost], axis=0) > _TOUCHED
    condition = np.inf if lost.any() else float(values[0] / values[-1])
    unidentified = left_open | (np.abs(right[weak & ~lost]) > _SUPPORT).any(axis=0)
    # Singular vectors of equal singular values are determined only up to a rotation, which mixes pairs of terms. The
    # projector onto their space is unique.
    projector = np.abs(right[weak].T @ right[weak])
    linked = (projector > _SUPPORT**2) & np.outer(unidentified, unidentified)
    return condition, unidentified, linked | np.diag(unidentified)


def free_terms(scaled: FloatArray, target: FloatArray, bounded: BoolArray) -> BoolArray:
    """Find the terms that stay free if the bounded ones must not be negative.

    Parameters
    ----------
    scaled : ndarray (n, k) float64
        Equilibrated columns.
    target : ndarray (n,) float64
    bounded : ndarray (k,) bool
        Terms that must not be negative.

    Returns
    -------
    ndarray (k,) bool
        False for the terms held at zero. `solve` over the free ones gives the constrained solution.

    Notes
    -----
    Bounded-variable least squares (Stark and Parker 1995). A ridge of 1e-8 keeps every subproblem at full rank, as the
    algorithm assumes. It moves a singular value s by less than 1e-16 / s, so it only decides between sets that fit
    equally well.
    """
    if not bounded.any():
        return np.ones(len(bounded), dtype=bool)
    count = len(bounded)
    found = lsq_linear(
        np.vstack([scaled, _RIDGE * np.eye(count)]),
        np.concatenate([target, np.zeros(count)]),
        (np.where(bounded, 0.0, -np.inf), np.inf),
        method="bvls",
        tol=1e-14,
        max_iter=10 * count,
    )
    free = np.asarray(found.active_mask == 0)
    # If sets fit equally well, rounding may leave a bounded term just below zero: hold it too.
    while (below := _most_negative(scaled, target, bounded, free)) is not None:
        free[below] = False
    return free


def r_squared(matrix: FloatArray, measured: FloatArray, weights: FloatArray, squares: float) -> float:
    """Return R²: the share that the fit explains of the squares about the best constant, or about zero.

    Zero is taken if no column is constant. ``squares`` is the sum of the squares that the fit leaves.
    """
    constant = bool(((np.ptp(matrix, axis=0) == 0.0) & (matrix[0] != 0.0)).any())
    base = np.average(measured, weights=weights**2) if constant else 0.0
    around = weights * (measured - base)
    total = float(around @ around)
    # If all y are equal, the constant explains them, and the ratio would be rounding over rounding.
    return 1.0 - squares / total if total > 1e-28 * len(measured) * base**2 * weights.max() ** 2 else 1.0


def _most_negative(scaled: FloatArray, target: FloatArray, bounded: BoolArray, free: BoolArray) -> int | None:
    solution = np.zeros(len(free))
    solution[free] = solve(scaled[:, free], target).values
    solution[~bounded] = 0.0
    return int(solution.argmin()) if solution.min() < 0.0 else None
