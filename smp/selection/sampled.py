"""The measured points of a calibrated library: how wrong each prediction is there, and each choice.

A point is a set of values of the inputs.  Implementations that take the same arguments are measured at the same points,
so there it is known which of them is the fastest.

Source: Brewer, Portable High-Performance Supercomputing, figure 4-8 and table 4-2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models.fit.inputs import Input
from ..models.fit.model import Model

RIGHT = 0.02
"""A choice is right if no implementation is faster by more than this share."""
Point = tuple[float, ...]


@dataclass(frozen=True)
class SampledErrors:
    """Errors of a model at the points at which it was measured.

    Attributes
    ----------
    inputs : dict of name to ndarray (n,)
        Values of the inputs that all models of the library share.
    errors : ndarray (n,) float64
        Absolute difference of the predicted and the measured time, as a share of the measured one.
    apart : ndarray (n,) bool
        True for points that the model was not fitted to.
    """

    inputs: dict[str, NDArray[np.float64]]
    errors: NDArray[np.float64]
    apart: NDArray[np.bool_]


@dataclass(frozen=True)
class SampledChoice:
    """A choice at a point at which several implementations were measured.

    Attributes
    ----------
    at : tuple of float
        Values of the shared inputs.
    chosen, fastest : str
        Implementation with the smallest predicted time, and with the smallest measured time.
    loss : float
        Measured time of the chosen one over that of the fastest one, less 1.
    """

    at: Point
    chosen: str
    fastest: str
    loss: float

    @property
    def right(self) -> bool:
        """True if no implementation is faster by more than 2%."""
        return self.loss <= RIGHT


def shared_inputs(models: Mapping[str, Model]) -> list[Input]:
    """Return the inputs that all models have; the others are parameters of an implementation."""
    first = next(iter(models.values()))
    return [each for each in first.inputs if all(each.name in model.names for model in models.values())]


def sampled_errors(models: Mapping[str, Model]) -> dict[str, SampledErrors]:
    """Return the errors of each model that has its samples, by the name of its implementation."""
    shared, found = shared_inputs(models), dict[str, SampledErrors]()
    for name, model in models.items():
        taken = model.samples
        if taken is not None:
            errors = np.abs(model.of(taken.inputs) - taken.seconds) / taken.seconds
            found[name] = SampledErrors({g.name: taken.inputs[g.name] for g in shared}, errors, taken.verification)
    return found


def sampled_choices(models: Mapping[str, Model]) -> list[SampledChoice]:
    """Return the choice at each point at which two implementations or more were measured, in the order of the points.

    An implementation with a parameter counts with the best of the values that were measured at the point, and with the
    best of their predictions.
    """
    shared = shared_inputs(models)
    measured, predicted = dict[Point, dict[str, float]](), dict[Point, dict[str, float]]()
    for name, model in models.items():
        if model.samples is None:
            continue
        columns = [model.samples.inputs[given.name].tolist() for given in shared]
        made = model.of(model.samples.inputs).tolist()
        for *at, seconds, prediction in zip(*columns, model.samples.seconds.tolist(), made, strict=True):
            for known, value in ((measured, seconds), (predicted, prediction)):
                times = known.setdefault(tuple(at), {})
                times[name] = min(times.get(name, math.inf), value)
    found = []
    for point, times in measured.items():
        tried = {name: seconds for name, seconds in predicted[point].items() if 0 < seconds < math.inf}
        if len(times) > 1 and tried:
            chosen, fastest = (min(each, key=lambda name: each[name]) for each in (tried, times))
            found.append(SampledChoice(point, chosen, fastest, times[chosen] / times[fastest] - 1))
    return found


def said_of(choices: Sequence[SampledChoice]) -> str:
    """Return a sentence on choices: how many are right, and what the others lose; empty if there are none.

    Examples
    --------
    >>> made = [SampledChoice((10.0,), "a", "a", 0.0), SampledChoice((20.0,), "a", "b", 0.25)]
    >>> said_of(made)
    '1 of 2 choices are right within 2%; the others lose 25.0% on average and 25.0% at most.'
    """
    if not choices:
        return ""
    losses = [one.loss for one in choices if not one.right]
    said = f"{len(choices) - len(losses)} of {len(choices)} choices are right within {RIGHT:.0%}"
    return said + (
        f"; the others lose {np.mean(losses):.1%} on average and {max(losses):.1%} at most." if losses else "."
    )
