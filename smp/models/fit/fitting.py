"""Fitting of a model to measured points: minima, slow points, relevant terms, and verification on points kept apart.

    points, raw timings  ->  least of each point  ->  slow points out  ->  irrelevant terms out, one at a time
                                                      points kept apart from the fit  ->  MRE; a warning above 10%

The fit is on the logarithmic scale.  MRE is the mean relative error.

Source: Brewer, Portable High-Performance Supercomputing, sections 2.3 and 3.6.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import FitError

from .._types import FloatArray
from .linear import mean_relative_error
from .model import Model
from .records import Dropped, Quality, Samples
from .robust import explained, slow_points
from .specification import Specification
from .stepwise import Selection, select

TOLERATED = 0.10
"""Mean relative error, on points that were not fitted, above which a model comes with a warning."""


class ModelWarning(UserWarning):
    """Warns that the model is usable, with a caveat."""


def fit_model(
    specification: Specification,
    points: Mapping[str, FloatArray],
    raw: Sequence[Sequence[float]],
    verification: NDArray[np.bool_],
    machine: Mapping[str, Any] | None = None,
) -> Model:
    """Fit a specification's terms to measured points.

    Parameters
    ----------
    specification : Specification
    points : mapping of input to ndarray (n,)
    raw : sequence of n sequences of float
        All timings of each point, in seconds; the least is taken, because slow spells of the computer only add time.
    verification : ndarray (n,) bool
        True for points that are kept apart, to verify the model on.
    machine : mapping, optional
        Description of the measured machine, kept with the model.

    Returns
    -------
    Model

    Raises
    ------
    FitError
        No more points than terms, a term that is not finite at some point, or a time that is not above zero.

    Warns
    -----
    ModelWarning
        If the mean relative error on the points kept apart is above 10%.
    """
    seconds = typical(specification, raw)
    columns = np.column_stack([term.of(points) for term in specification.expressions.values()])
    names = tuple(specification.expressions)
    check_enough(specification, int((~verification).sum()))
    # Terms of a parameter (a keyword) are never removed: its best value is where a rising and a falling term balance.
    # Without one of the two it would be an end of the range.
    steers = [bool(set(term.names) & set(specification.keywords)) for term in specification.expressions.values()]
    kept = [name for name, steering in zip(names, steers, strict=True) if steering]
    slow, ratios = np.zeros(len(seconds), dtype=bool), np.ones(len(seconds))
    apart = np.flatnonzero(~verification)
    if (most := explained([raw[k] for k in apart.tolist()])) > 0:
        slow[apart], ratios[apart] = slow_points(columns[apart], seconds[apart], names, steers, most)
    fitted = ~verification & ~slow
    least = float(seconds[fitted].min()) / 2
    selected = partial(select, columns[fitted], seconds[fitted], names, keep=kept, logarithmic=True)
    chosen = above(least, columns, selected, steers)
    found = chosen.fit
    predicted = np.maximum(columns[:, list(chosen.kept)] @ found.coefficients, least)
    off = np.abs(predicted / seconds - 1)[verification]
    quality = Quality(
        count=int(fitted.sum()),
        verified=len(off),
        r_squared=float(found.r_squared),
        mre_fit=float(found.mre),
        mre=mean_relative_error(off) if len(off) else float(found.mre),
        worst=float(off.max(initial=0.0)),
        log=str(chosen),
    )
    inputs = {name: np.asarray(values) for name, values in points.items()}
    model = Model(
        specification.name,
        specification.ranges,
        {name: specification.expressions[name] for name in found.terms},
        found.coefficients,
        found.covariance,
        found.residual,
        found.freedom,
        specification.when,
        quality,
        dict(machine or {}),
        Samples(inputs, seconds, [list(t) for t in raw], verification),
        least,
        tuple(
            Dropped({name: float(values[k]) for name, values in inputs.items()}, float(seconds[k]), float(ratios[k]))
            for k in sorted(np.flatnonzero(slow).tolist(), key=lambda k: -ratios[k])
        ),
    )
    if quality.mre > TOLERATED:
        tried = f"{quality.verified} points that it was not fitted to" if quality.verified else "its own points"
        warnings.warn(
            f"{model.name} predicts with a mean error of {quality.mre:.0%} on {tried}: look at its residuals; a term "
            "may be missing, or the computer was busy",
            ModelWarning,
            stacklevel=2,
        )
    return model


def above(
    least: float, columns: FloatArray, selected: Callable[..., Selection], nonnegative: Sequence[bool]
) -> Selection:
    """Select terms such that no prediction falls below the least seconds, at any of the points.

    Two points can be all that determines a term, and it is negative then if one of them took a little long.  Between
    the two, where only a point for verification lies, the model would predict next to nothing.  So the term that takes
    most away there must not be negative, and the terms are selected again.

    Parameters
    ----------
    least : float
    columns : ndarray (n, k)
        The terms at all points, those for verification included: their timings are not looked at.
    selected : callable
        ``selected(nonnegative=...)`` selects the terms.
    nonnegative : sequence of k bool
        Terms whose coefficients must not be negative in any case.
    """
    bounded = np.array(nonnegative, dtype=bool)
    while True:
        chosen = selected(nonnegative=bounded)
        kept = np.array(chosen.kept)
        parts = columns[:, kept] * chosen.fit.coefficients
        lowest = parts[parts.sum(axis=1).argmin()]
        taking = np.where(bounded[kept], 0.0, lowest)
        if lowest.sum() >= least or taking.min() >= 0:
            return chosen
        bounded[kept[taking.argmin()]] = True


def typical(specification: Specification, raw: Sequence[Sequence[float]]) -> FloatArray:
    """Return the seconds of each point: the least of its timings, or their median if the task has its own clock.

    Seconds by a task's own clock differ by chance, as those of an emulated machine do, and not by slow spells.
    """
    return np.array([np.median(timings) if specification.clocked else min(timings) for timings in raw], np.float64)


def check_enough(specification: Specification, points: int) -> None:
    """Raise `FitError` if there are no more points than terms."""
    terms = len(specification.expressions)
    if points <= terms:
        raise FitError(
            f"{points} points cannot fit the {terms} terms of {specification.name} and show its error: "
            "widen the ranges, give them more values, or leave out terms"
        )
