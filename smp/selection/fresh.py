"""Compares new models with the kept ones on fresh points, which were measured for neither of them.

    random points  ->  timings as in a calibration  ->  error of the new models, error of the earlier ones  ->  verdict

A calibration under load can be worse than the one before it.  Its own points do not show that, because they were
measured under the same load, and the earlier models may have been fitted to the same ones.

Source: Brewer, Portable High-Performance Supercomputing, section 3.6 (models are verified on other points).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._runtime.host.looking import Looker
from ..models.fit.fitting import typical
from ..models.fit.inputs import drawn
from ..models.fit.linear import mean_relative_error
from ..models.fit.model import Model
from .calibration import alike, take
from .library import Library
from .suite import Suite
from .timings import Series

POINTS = 20
"""Number of fresh points of each loop nest."""
LOST = 1.0
"""Relative error of a model that predicts nothing at a point where its task applies."""
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Verdict:
    """Comparison of new models of a library or suite with the earlier ones.

    Attributes
    ----------
    name : str
    count : int
        Number of measurements: each task at each fresh point at which it applies.
    new, earlier : float
        Mean relative errors of the models there.
    noise : float
        Standard error of their difference, from the differences at each measurement.
    """

    name: str
    count: int
    new: float
    earlier: float
    noise: float = 0.0

    @property
    def better(self) -> bool:
        """True if the new models have the smaller error, beyond the noise, so that they replace the earlier ones."""
        return self.new < self.earlier - self.noise

    def __str__(self) -> str:
        kept, other = ("new", "earlier") if self.better else ("earlier", "new")
        errors = {"new": self.new, "earlier": self.earlier}
        tie = not self.better and self.new <= self.earlier
        equal = f", which is not less beyond the noise of {self.noise:.1%}" if tie else ""
        return (
            f"{self.name}: the {kept} models are kept, because their error on {self.count} fresh measurements is "
            f"{errors[kept]:.1%}, and that of the {other} ones {errors[other]:.1%}{equal}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as plain JSON."""
        kept = "new" if self.better else "earlier"
        return {"kept": kept, "said": str(self), "count": self.count, "new": self.new, "earlier": self.earlier}


def compare(
    of: Library | Suite,
    new: Mapping[str, Model],
    earlier: Mapping[str, Model],
    *,
    points: int = POINTS,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Measure fresh points, and compare the errors of two sets of models there.

    Parameters
    ----------
    of : Library or Suite
    new, earlier : mapping of name to Model
        Models of all its tasks, by the names of its specifications.
    points : int
        Number of fresh points.
    rng : numpy.random.Generator, optional
        By default the points differ from call to call, so that no calibration has the same ones.
    progress : callable, optional
        Called with the share of the work that is done, and with a text.

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng() if rng is None else rng
    series = []
    for group in alike(list(of.specifications())):
        series.append(Series(group, drawn(group[0].nested, rng, points), np.ones(points, dtype=bool)))
    take(series, None, int(rng.integers(1 << 31)), progress or _nothing, Looker(), _nothing)
    errors: dict[str, list[float]] = {"new": [], "earlier": []}
    for each in series:
        for task in each.tasks:
            inputs, raw, _ = each.measured(task)
            seconds = typical(task.specification, raw)
            for which, models in (("new", new), ("earlier", earlier)):
                with np.errstate(all="ignore"):
                    off = np.abs(models[task.specification.name].of(inputs) / seconds - 1)
                errors[which] += np.where(np.isfinite(off), off, LOST).tolist()
    found = {which: mean_relative_error(off) for which, off in errors.items()}
    apart = np.log1p(errors["new"]) - np.log1p(errors["earlier"])  # the errors are means on this scale
    noise = float(np.std(apart) / np.sqrt(len(apart))) * (1 + found["earlier"])
    return Verdict(of.name, len(apart), found["new"], found["earlier"], noise)


def _nothing(*_: object) -> None:
    pass
