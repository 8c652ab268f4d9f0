"""Choice of the form of the cost function: fitted on one suite, chosen by another, its error found on the third.

    fit      choose    error printed
    2        1         on suite 3            a turn: its error is on data that neither fitted nor chose the form
    2        3         on suite 1            another turn
    2        1 and 3   none                  the form that predicts

The forms are the functions of `cost`, and the suites are the access patterns of `suites`. All forms are fitted on suite
2, whose patterns are drawn at random (with one processor on suite 3, see `fit_forms`). Suite 1 is not suitable: in it
the second-largest count of any processor is zero, equal to the largest, or a fixed fraction of it, so its price cannot
be separated from the other prices.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from smp.errors import FitError

from .._types import FloatArray
from ..fit.linear import Fit, fit
from .cost import Name, predict, split
from .knees import SPARE, find_knees, matrix_for, terms_for
from .measured import Measured

FITTED_ON = 2


@dataclass(frozen=True, eq=False)
class Form:
    """A fitted form, and how far it is off on the suites that it was not fitted on.

    Attributes
    ----------
    name : str
        One of `smp.models.supersteps.cost.NAMES`.
    fit : Fit
        Its terms, coefficients and their intervals.
    knees : tuple of float
        Knees in words, ascending.
    h_range : tuple of 2 float
        The least and the largest h (the larger of h_r and h_w, in words) in the supersteps that it was fitted on.
    off : dict of int to ndarray
        By suite, the relative error on each of its supersteps.
    """

    name: Name
    fit: Fit
    knees: tuple[float, ...]
    h_range: tuple[float, float]
    off: dict[int, FloatArray]

    def error(self, *suites: int) -> float:
        """Return the mean, over the given suites, of its average error on each suite."""
        return float(np.mean([self.off[suite].mean() for suite in suites]))


@dataclass(frozen=True)
class Turn:
    """Error of the form that one suite chose, on a suite that neither fitted nor chose it."""

    name: Name
    chosen_by: int
    suite: int
    average: float
    maximum: float
    count: int


def names_for(p: int) -> tuple[Name, ...]:
    """Return the forms that are tried with p processors, the simplest first.

    Examples
    --------
    >>> names_for(1)
    ('H', 'HrHw', 'HrHwM-c')
    """
    if p == 1:
        return ("H", "HrHw", "HrHwM-c")
    contended: tuple[Name, ...] = ("HrHwN", "HrHwN-c") if p == 2 else ("HrHwN", "HrHwO", "HrHwN-c", "HrHwO-c")
    return ("H", "HM", "HrHw", "HrHwM", "HrHwM-c", *contended)


def fit_forms(p: int, suites: Mapping[int, Measured]) -> list[Form]:
    """Fit every form on suite 2, or with one processor on suite 3, and find its errors on the others.

    Parameters
    ----------
    p : int
        Number of processors.
    suites : mapping of suite number to Measured

    Returns
    -------
    list of Form
        The fitted forms. Forms that have too many terms for the number of measured supersteps are left out.

    Raises
    ------
    FitError
        No measurements of the suite to fit on, or numbers that cannot be fitted.

    Notes
    -----
    With one processor M is h_r + h_w, so the functions have no term for M. The processor's reads equal its writes in
    suite 2, so suite 3 is fitted instead. A form with knees takes about two hundred small least-squares problems: about
    0.02 s.
    """
    on = FITTED_ON if p > 1 else 3
    if on not in suites:
        raise FitError(
            f"the forms are fitted on suite {on}, but only suites {sorted(suites)} were measured: measure it too"
        )
    part = suites[on]
    return [form for name in names_for(p) for form in _fitted(name, p, part, suites, on)]


def _fitted(name: Name, p: int, part: Measured, suites: Mapping[int, Measured], on: int) -> Iterator[Form]:
    if len(part.seconds) < len(terms_for(name, p, 1)) + SPARE:
        return
    knees = find_knees(name, p, part) if split(name) else ()
    terms = terms_for(name, p, len(knees) + 1)
    made = fit(matrix_for(terms, part, knees), part.seconds, terms, [True] * len(terms))
    function = {"terms": terms, "coefficients": made.coefficients, "knees": knees}
    off = {
        number: np.abs(predict(function, s.hr, s.hw, s.m, others=s.others) - s.seconds) / s.seconds
        for number, s in sorted(suites.items())
        if number != on and len(s.seconds)
    }
    yield Form(name, made, knees, (float(part.h.min()), float(part.h.max())), off)


def chosen(forms: list[Form], *by: int) -> Form:
    """Return the form with the least average error on the given suites; of equals, the simplest.

    Raises
    ------
    FitError
        No forms.
    """
    if not forms:
        raise FitError("there is no form to choose from, because too few supersteps were measured: measure more")
    return min(forms, key=lambda form: form.error(*by))


def turns(forms: list[Form]) -> list[Turn]:
    """Return the errors of the choice: one suite chooses the form, and the error is that of this form on another suite.

    Parameters
    ----------
    forms : list of Form
        As `fit_forms` returns them; their errors are on suites that they were not fitted on.
    """
    suites = sorted(forms[0].off) if forms else []
    made = []
    for by, suite in itertools.permutations(suites, 2):
        form = chosen(forms, by)
        off = form.off[suite]
        made.append(Turn(form.name, by, suite, float(off.mean()), float(off.max()), len(off)))
    return made
