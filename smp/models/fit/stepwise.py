"""Choice of the terms of a model: terms that the data do not support are removed, one at a time.

    fit  ->  is every term's interval clear of zero, and none mistaken for another?  -- yes -->  done
     ^                                   | no
     +--  without the least relevant  <--+

A term's relevance is its coefficient divided by half the width of its 95% interval. The term with the least relevance
is also the term whose removal raises the sum of the squared residuals least. Removing a term changes the others: of two
terms that say nearly the same, both can look irrelevant while they are in the model together, and one becomes relevant
once the other is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from smp.errors import FitError

from .._types import FloatArray
from .linear import Fit, fit

_ROUNDING = 1e-9  # a term that never adds more than this part of the measured value is only rounding


@dataclass(frozen=True)
class Removed:
    """A term that was removed.

    Attributes
    ----------
    term : str
    coefficient, low, high : float
        Its last fitted coefficient, and the 95% interval.
    relevance : float
        The coefficient divided by half the width of its interval, 0 or more; a term of 1 or less is irrelevant.
    why : str
        Reason for the removal.
    """

    term: str
    coefficient: float
    low: float
    high: float
    relevance: float
    why: str

    def __str__(self) -> str:
        return f"without {self.term}: {self.why}"


@dataclass(frozen=True, eq=False)
class Selection:
    """A model of the terms that were kept; printed as a log of the removed terms.

    Attributes
    ----------
    fit : Fit
        Fit of the terms that were kept, in the order given.
    kept : tuple of int
        Indices of these terms among the given columns: ``fit.predict(columns[:, kept])``.
    removed : tuple of Removed
        The removed terms, in the order of removal.
    doubtful : tuple of str
        Terms that are in the fit although they are not relevant: they had to be kept, or only one term was left.
    """

    fit: Fit
    kept: tuple[int, ...]
    removed: tuple[Removed, ...]
    doubtful: tuple[str, ...]

    def __str__(self) -> str:
        doubts = f"; of these, not relevant: {', '.join(self.doubtful)}" if self.doubtful else ""
        return "\n".join([*map(str, self.removed), f"kept {', '.join(self.fit.terms)}{doubts}"])


def select(
    columns: ArrayLike,
    y: ArrayLike,
    terms: Sequence[str],
    *,
    keep: Collection[str] = (),
    nonnegative: Sequence[bool] | None = None,
    relative: bool = True,
    reweighted: bool = False,
    logarithmic: bool = False,
) -> Selection:
    """Fit a linear model and remove irrelevant terms, one at a time with a refit after each.

    A term is removed if its 95% interval includes zero, if it cannot be separated from others, or if a constraint holds
    it at zero. The least relevant term is removed first; of several that are equally relevant (as terms are that differ
    only by a factor), the one given last. So give simple terms first.

    Parameters
    ----------
    columns : array_like (n, k)
        One column per term, n > k.
    y : array_like (n,)
        Measured values; above zero if `relative`.
    terms : sequence of k str
        Names of the terms.
    keep : collection of str
        Terms that are never removed. At least one term stays in any case.
    nonnegative, relative, reweighted, logarithmic
        As `smp.models.fit.linear.fit` takes them.

    Returns
    -------
    Selection

    Raises
    ------
    FitError
        As `fit` raises it; also if there are no more rows than terms, so that the terms cannot be judged, if a name
        occurs twice, or if a name to keep is not a term.

    Notes
    -----
    At most k fits. Chance plays a part: an irrelevant term stays in about 5% of cases, and a term whose true
    relevance is just 2 is removed in about 2.5%.

    Source: Brewer, Portable High-Performance Supercomputing, section 3.6.2 and figure 3-9. There the variance is that
    of the absolute residuals even if the weights are relative (equations 12 and 28). Here it is on the scale of the
    fit: over three decades of times, the variance of the absolute residuals makes the intervals 1.8 times too wide.

    Examples
    --------
    >>> n = np.geomspace(1e3, 1e6, 12)
    >>> seconds = 1e-6 + 2e-9 * n * np.tile([1.01, 0.99], 6)
    >>> print(select(np.column_stack([np.ones(12), n, n / 8, np.sqrt(n)]), seconds, ["1", "n", "n/8", "sqrt(n)"]))
    without n/8: it cannot be separated from n (condition inf)
    without sqrt(n): its 95% interval, -6.31e-09 to 5.9e-09, includes zero
    kept 1, n
    """
    matrix, names = np.asarray(columns, dtype=np.float64), tuple(terms)
    if len(set(names)) < len(names):
        raise FitError(f"terms {names} contain a name more than once: give each term a name of its own")
    if unknown := set(keep) - set(names):
        raise FitError(f"terms to keep {tuple(sorted(unknown))} are not among the terms {names}")
    signs = [False] * len(names) if nonnegative is None else list(nonnegative)
    kept, removed = list(range(len(names))), list[Removed]()
    fitted = partial(fit, relative=relative, reweighted=reweighted, logarithmic=logarithmic)
    model = fitted(matrix, y, names, nonnegative)
    if model.count <= len(names):
        raise FitError(
            f"{model.count} measurements are too few to judge {len(names)} terms: "
            f"measure at least {len(names) + 1} points"
        )
    measured = np.asarray(y, dtype=np.float64)
    while True:
        relevance = _relevance(model, matrix[:, kept], measured)
        doubtful = [
            i
            for i, term in enumerate(model.terms)
            if relevance[i] <= 1.0 or term in model.unidentified or term in model.held
        ]
        removable = [i for i in doubtful if model.terms[i] not in keep]
        if len(kept) == 1 or not removable:
            return Selection(model, tuple(kept), tuple(removed), tuple(model.terms[i] for i in doubtful))
        least = min(removable, key=lambda i: (relevance[i], -i))
        removed.append(_removed(model, least, relevance[least]))
        del kept[least]
        model = fitted(matrix[:, kept], y, [names[i] for i in kept], [signs[i] for i in kept])


def _relevance(model: Fit, matrix: FloatArray, measured: FloatArray) -> list[float]:
    """Return each coefficient divided by half its interval, lowered if the term is lost in rounding."""
    size = np.abs(model.coefficients)
    scale = measured[:, None] if model.relative else np.abs(measured).max()
    with np.errstate(divide="ignore", invalid="ignore"):
        against_noise = size / (model.high - model.coefficients)
        against_rounding = np.abs(matrix * size / scale).max(axis=0) / _ROUNDING
    relevance: list[float] = np.minimum(against_noise, against_rounding).tolist()
    return [0.0 if np.isnan(ratio) else ratio for ratio in relevance]  # 0 / 0


def _removed(model: Fit, i: int, relevance: float) -> Removed:
    """Return the record of a removal, with the most informative reason that applies."""
    term, low, high = model.terms[i], float(model.low[i]), float(model.high[i])
    others = [other for j, other in enumerate(model.terms) if model.linked[i, j] and j != i]
    if term in model.held:
        why = "it would be negative, so it is held at zero"
    elif others:
        why = f"it cannot be separated from {', '.join(others)} (condition {model.condition:.3g})"
    elif term in model.unidentified:
        why = "the measurements do not determine it"
    elif low <= 0.0 <= high:
        why = f"its 95% interval, {low:.3g} to {high:.3g}, includes zero"
    else:
        why = f"it never adds more than {_ROUNDING:g} of the measured value"
    return Removed(term, float(model.coefficients[i]), low, high, relevance, why)
