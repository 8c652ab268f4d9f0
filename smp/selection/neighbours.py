"""Checks whether the parameter value that a model predicts as the best is faster than the neighbouring values.

    digit      7        8        11         the nearest steps to the best one that give other values
              5.3 ms   5.0 ms   5.2 ms      in rounds, see `rounds`
    right      no neighbour is faster by more than 2% and by more than the noise

Source: Brewer, Portable High-Performance Supercomputing, section 5.3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._runtime.host.looking import Looker
from ..errors import ModelError
from .implementation import Parameter
from .library import Library
from .rounds import in_rounds
from .trial import Case, Progress, arguments_of, random_cases, told

PATIENCE = 20
"""Most random cases that are drawn for each case that counts. Some cases are outside the condition, and in others the
best value has no neighbour to compare it with."""


@dataclass(frozen=True)
class ParameterTrial:
    """Cases of a parameter, with their summary.

    Attributes
    ----------
    name : str
        ``library/implementation: parameter``.
    cases : sequence of Case
        Cases as in `smp.selection.trial`, in which ``chosen`` and the names of the times are the parameter's values.
    placement : str
        Text on the timings that were repeated because the host had moved the CPUs; empty if it had not.
    """

    name: str
    cases: Sequence[Case]
    placement: str = ""

    @property
    def right(self) -> float:
        """Share of the cases in which no neighbour was faster by more than 2% and by more than the noise."""
        return float(np.mean([case.right or not case.beaten for case in self.cases]))

    @property
    def within(self) -> float:
        """Share of the cases in which the value was the fastest, or within 2% of it, by the medians alone."""
        return float(np.mean([case.right for case in self.cases]))

    @property
    def losses(self) -> tuple[float, float]:
        """Median and largest loss against the fastest neighbour, which is 0 if the value is the fastest."""
        found = [case.loss for case in self.cases]
        return float(np.median(found)), max(found)


def parameters(library: Library) -> Iterator[tuple[str, Parameter]]:
    """Yield the name and the parameter of each implementation of a library that has one."""
    for name, each in library.implementations.items():
        if each.parameter is not None:
            yield name, each.parameter


def with_neighbours(
    parameter: Parameter, predict: Callable[..., float], inputs: Sequence[float]
) -> tuple[int, list[int]]:
    """Return the best value, and the nearest other values below and above it in the order of the steps.

    Parameters
    ----------
    parameter : Parameter
    predict : callable
        ``predict(*inputs, value)`` returns the predicted seconds, infinite for values that are not allowed.
    inputs : sequence of float

    Examples
    --------
    >>> digit = Parameter("digit", "1..16", bottom=1, top=32, value=lambda passes: -(-32 // passes))
    >>> with_neighbours(digit, lambda digit: 32 / digit + 2**digit / 100, ())
    (7, [8, 6])
    """
    low, high = parameter.ends(inputs)
    step = parameter.best_step(predict, inputs)
    best = parameter.at(step, inputs)
    found = []
    for others in (range(step - 1, low - 1, -1), range(step + 1, high + 1)):
        values = (parameter.at(other, inputs) for other in others)
        beside = next((value for value in values if value != best), best)
        if beside != best and math.isfinite(predict(*inputs, beside)):
            found.append(beside)
    return best, found


def try_parameter(
    library: Library,
    name: str,
    cases: int,
    *,
    seed: int = 3,
    progress: Progress | None = None,
    into: list[Case] | None = None,
) -> ParameterTrial:
    """Try the parameter of one implementation on random cases.

    Parameters
    ----------
    library : Library
        A calibrated library.
    name : str
        Name of the implementation.
    cases : int
        Number of cases that count, in which the condition holds and there is a neighbour.
    seed : int
        Seed of the cases; it should differ from the calibration's.
    progress : callable, optional
    into : list, optional
        List to which the cases are added one by one, so that they are not lost on Ctrl-C.

    Returns
    -------
    ParameterTrial
        The trial. It has fewer cases if not enough of `PATIENCE` times as many random cases count.

    Raises
    ------
    ModelError
        If the library is not calibrated, or the implementation has no parameter.
    """
    parameter = dict(parameters(library)).get(name)
    if parameter is None or name not in library.models:
        missing = "parameter" if parameter is None else "model"
        raise ModelError(f"{name!r} of the library {library.name} has no {missing} to try")
    rng, looker = np.random.default_rng(seed), Looker()
    made: list[Case] = [] if into is None else into
    for _ in range(PATIENCE * cases):
        if len(made) == cases:
            break
        (case,) = random_cases(library, rng, 1)
        if progress is not None:
            progress(len(made) / cases, told(library, case))
        with arguments_of(library, case) as arguments:
            found = _try_case(library, name, parameter, arguments, rng, looker)
        if found is not None:
            made.append(found)
    return ParameterTrial(f"{library.name}/{name}: {parameter.name}", made, looker.said())


def _try_case(
    library: Library,
    name: str,
    parameter: Parameter,
    arguments: tuple[Any, ...],
    rng: np.random.Generator,
    looker: Looker,
) -> Case | None:
    """Time the best value and its neighbours on the same arguments. Return None if there is nothing to compare."""
    inputs = library.of(*arguments)
    if not math.isfinite(library.predictions(*inputs)[name].seconds):
        return None
    predict, asked = library.models[name].predict, library.held(*inputs)
    best, beside = with_neighbours(parameter, predict, asked)
    if not beside:
        return None
    function = library.implementations[name].function
    calls = {str(value): partial(function, *arguments, **{parameter.name: value}) for value in (best, *beside)}
    times = in_rounds(calls, str(best), rng, looker)
    return Case(dict(zip(library.inputs, inputs, strict=True)), str(best), predict(*asked, best), times)
