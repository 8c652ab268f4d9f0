"""NIST's certified regressions: the sets are checked in rational numbers, and fits must reach the required digits.

Filip is a polynomial of degree 10 over a short range.  Longley has nearly collinear columns of very different units.
Wampler 3 to 5 hide the same polynomial under ever larger residuals.
"""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smp.models.fit.linear import Fit, fit

FOLDER = Path(__file__).parents[1] / "data" / "nist"

# Required correct decimal digits of (estimates, standard deviations, R²): about one fewer than were observed, to allow
# for other LAPACKs. Double precision offers 16, and the condition of a set costs some: Filip's 5e9 leaves seven.
DIGITS = {
    "norris": (11, 12, 14),
    "pontius": (11, 12, 14),
    "noint1": (13, 13, 14),
    "noint2": (13, 13, 14),
    "filip": (6.5, 6.5, 9),
    "longley": (9.5, 11.5, 13),
    "wampler1": (9, None, 14),
    "wampler2": (11.5, None, 14),
    "wampler3": (9, 12, 14),
    "wampler4": (6.5, 12, 14),
    "wampler5": (4.5, 12, 12),
}

Exact = list[Fraction]


@cache
def loaded(name: str) -> dict[str, Any]:
    """Return a data set, with its numbers as exact decimals."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(), parse_float=Fraction, parse_int=Fraction)
    return found


def exact_columns(name: str) -> list[Exact]:
    data = loaded(name)
    if data["powers"] is None:
        return [[Fraction(1), *row] for row in data["x"]]
    return [[x ** int(power) for power in data["powers"]] for x in data["x"]]


@cache
def exact(name: str) -> tuple[Exact, list[Exact], Fraction, Fraction]:
    """Return estimates, covariance, residual variance and R² from the normal equations, without any rounding."""
    columns, y = exact_columns(name), loaded(name)["y"]
    count, k = len(y), len(columns[0])
    rows = [
        [
            *(sum((row[i] * row[j] for row in columns), Fraction()) for j in range(k)),
            sum((row[i] * value for row, value in zip(columns, y, strict=True)), Fraction()),
            *(Fraction(i == j) for j in range(k)),
        ]
        for i in range(k)
    ]
    for i in range(k):  # Gauss-Jordan; the matrix is positive definite, so no pivot is zero
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in set(range(k)) - {i}:
            rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    estimates = [row[k] for row in rows]
    off = [value - sum(map(Fraction.__mul__, row, estimates)) for row, value in zip(columns, y, strict=True)]
    squares = sum((value**2 for value in off), Fraction())
    mean = sum(y, Fraction()) / count if all(row[0] == 1 for row in columns) else Fraction()
    total = sum(((value - mean) ** 2 for value in y), Fraction())
    variance = squares / (count - k)
    return estimates, [[variance * value for value in row[k + 1 :]] for row in rows], variance, 1 - squares / total


def root(value: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def apart(found: Fraction, certified: Fraction) -> Fraction:
    """Return the relative difference; 15 certified digits are at most 5e-15 off."""
    return abs(found - certified) / abs(certified) if certified else abs(found)


def digits(found: Any, true: Any) -> float:
    """Return the number of correct digits of the worst of all numbers."""
    found, true = np.atleast_1d(np.asarray(found, dtype=float)), np.atleast_1d(np.asarray(true, dtype=float))
    return float(-np.log10(np.max(np.abs(found - true) / np.abs(true)) + 1e-16))


@cache
def fitted(name: str) -> Fit:
    """Return the fit of a set as a user would make it, with columns in double precision."""
    data = loaded(name)
    x, y = np.array(data["x"], dtype=float), np.array(data["y"], dtype=float)
    matrix: NDArray[np.float64]
    if data["powers"] is None:
        matrix = np.column_stack([np.ones(len(y)), x])
    else:
        matrix = x[:, None] ** np.array(data["powers"], dtype=float)
    return fit(matrix, y, [f"b{i}" for i in range(matrix.shape[1])], relative=False)


@pytest.mark.parametrize("name", DIGITS)
def test_the_files_hold_the_certified_values(name: str) -> None:
    certified = loaded(name)["certified"]
    estimates, covariance, variance, explained = exact(name)
    assert len(estimates) == len(certified["estimates"]) == len(certified["deviations"])
    for i, (estimate, deviation) in enumerate(zip(certified["estimates"], certified["deviations"], strict=True)):
        assert apart(estimates[i], estimate) < 5.1e-15
        assert apart(root(covariance[i][i]), deviation) < 5.1e-15
    assert apart(root(variance), certified["residual"]) < 5.1e-15
    assert apart(explained, certified["r_squared"]) < 5.1e-15


@pytest.mark.parametrize("name", DIGITS)
def test_fits_reach_the_required_digits(name: str) -> None:
    model, certified = fitted(name), loaded(name)["certified"]
    of_estimates, of_deviations, of_r_squared = DIGITS[name]
    assert digits(model.coefficients, certified["estimates"]) > of_estimates
    assert digits(model.r_squared, certified["r_squared"]) > of_r_squared
    if of_deviations is None:  # a perfect fit: the certified deviations are zero
        assert model.errors.max() < 1e-8
        assert model.residual < 1e-8
    else:
        assert digits(model.errors, certified["deviations"]) > of_deviations
        assert digits(model.residual, certified["residual"]) > min(of_deviations, 10)
        assert digits(model.covariance, exact(name)[1]) > of_deviations - 1
    assert model.freedom == len(loaded(name)["y"]) - len(certified["estimates"])


def test_an_ill_conditioned_set_has_unidentified_terms() -> None:
    # Filip has no digit to spare; Norris has all of them.
    filip, norris = fitted("filip"), fitted("norris")
    assert filip.condition > 1e9
    assert len(filip.unidentified) == 11
    assert np.isfinite(filip.errors).all()
    assert norris.condition < 10
    assert norris.unidentified == ()
