"""Records that a model carries: the quality of its fit, the samples it was made from, and the points left out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray

SHOWN = 3
"""Number of left-out points that a printed model lists."""


@dataclass(frozen=True)
class Quality:
    """Quality of a model's fit and of its predictions.

    Attributes
    ----------
    count, verified : int
        Number of points that the model was fitted to, and of other points that it was verified on.
    r_squared : float
        R² of the fit, on the relative scale.
    mre_fit, mre : float
        Mean relative error (geometric mean of 1 + absolute relative error, less 1) of the fit, and on the points that
        were not fitted.
    worst : float
        Largest absolute relative error on the points that were not fitted.
    log : str
        Terms that were removed, in order, each with the reason.
    """

    count: int
    verified: int
    r_squared: float
    mre_fit: float
    mre: float
    worst: float
    log: str = ""


@dataclass(frozen=True, eq=False)
class Samples:
    """Measurements that a model was made from.

    Attributes
    ----------
    inputs : dict of name to ndarray (n,)
    seconds : ndarray (n,) float64
        The least of each point's timings; in files of earlier versions, their median.
    raw : list of n lists of float
        All timings of each point, in the order in which they were taken.
    verification : ndarray (n,) bool
        True for points that were kept apart from the fit.
    """

    inputs: dict[str, FloatArray]
    seconds: FloatArray
    raw: list[list[float]]
    verification: NDArray[np.bool_]


@dataclass(frozen=True)
class Dropped:
    """A point that was left out of the fit because all its timings were slow.

    Attributes
    ----------
    inputs : mapping of name to float
    seconds : float
        The least of its timings.
    ratio : float
        These seconds, divided by the prediction of the fit without the point.
    """

    inputs: Mapping[str, float]
    seconds: float
    ratio: float

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value:,.4g}" for name, value in self.inputs.items())
        return f"{at} ({self.ratio:.2f} times its prediction)"


def listed(dropped: tuple[Dropped, ...]) -> str:
    """Return a text on the points that were left out, the slowest first; empty if there are none."""
    if not dropped:
        return ""
    some = "; ".join(str(each) for each in dropped[:SHOWN])
    more = f"; and {len(dropped) - SHOWN} more" if len(dropped) > SHOWN else ""
    return f"{len(dropped)} slow point{'s' if len(dropped) > 1 else ''} left out of the fit: {some}{more}"
