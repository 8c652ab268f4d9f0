"""From which size on a library's models are worth asking: a number that each calibration determines.

    size     below: one implementation without a look       from there on: look, choice, the chosen implementation
    loss     its time over the best one's                   the same, with the seconds of look and choice added

To look at the arguments of a call and to choose takes about 10 to 100 us, which a short call does not gain back.  The
guard is the size at which the sum of the relative losses is least, over the points that were measured.  The times are
predicted by the models, and the seconds of look and choice are measured.

If recent calls correct the predictions (see `recent`), choices gain more on a busy computer than the models can say.
So the models are then asked at the latest from the size on at which look and choice take a hundredth of a call.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.fit.expressions import Expression
from .library import Library
from .trial import arguments_of, random_cases

SMALL = 0.01
"""Share of a call that look and choice may take, for predictions to be corrected by recent calls."""
GLANCE = 0.25
"""Time of a glance and of a remembered choice, over that of look and choice."""
CASES, TIMES = 8, 3
"""Number of random calls in which look and choice are timed, and of timings of each, of which the least counts."""


def determined(library: Library, seed: int = 1) -> float:
    """Return the size from which a calibrated library's models should be asked; infinity if it never pays.

    Parameters
    ----------
    library : Library
        A library with a guard, and with models that have their samples.
    seed : int
        Seed of the calls in which look and choice are timed.

    Returns
    -------
    float
        The guard's default if no point can be judged.
    """
    guard = library.guard
    if guard is None:
        raise ValueError(f"the library {library.name} has no guard")
    library.forget()  # the models decide alone
    inputs = _measured(library)
    names, columns = list(library.inputs), dict(zip(library.inputs, inputs.T, strict=True))
    sizes, spared = Expression(guard.size, names).of(columns), Expression(guard.spared, names).of(columns)
    costs = choice_seconds(library, np.random.default_rng(seed))
    plain, best = np.array([_predicted(library, guard.plain, row) for row in inputs.tolist()]).reshape(-1, 2).T
    usable = np.isfinite(plain) & np.isfinite(best) & (plain > 0) & (best > 0)
    at, spent = np.array(sorted(costs)).T
    costs_here = np.interp(np.log(np.maximum(sizes, 1)), np.log(np.maximum(at, 1)), spent)
    costs_here[spared != 0] *= GLANCE
    sizes, plain, best, costs_here = (values[usable] for values in (sizes, plain, best, costs_here))
    found = threshold(sizes, plain, best + costs_here, guard.default)
    return min(found, cheap_from(sizes, costs_here / best)) if library.correct else found


def cheap_from(sizes: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return the size from which on look and choice take at most `SMALL` of the time of a call, on average.

    Parameters
    ----------
    sizes, shares : ndarray (n,)
        Sizes of calls, and the share of look and choice in the time of each.

    Returns
    -------
    float
        Infinity if the average over all larger sizes is above `SMALL` everywhere.
    """
    order = np.argsort(sizes, kind="stable")
    means = np.cumsum(shares[order][::-1])[::-1] / np.arange(len(sizes), 0, -1)
    cheap = sizes[order][means <= SMALL]
    return float(cheap[0]) if len(cheap) else math.inf


def threshold(
    sizes: NDArray[np.float64], plain: NDArray[np.float64], chosen: NDArray[np.float64], default: float
) -> float:
    """Return the size from which the chosen way should be taken instead of the plain one.

    Parameters
    ----------
    sizes, plain, chosen : ndarray (n,)
        Sizes of calls, and their seconds by either way.
    default : float
        Size that is returned if there are no calls.

    Returns
    -------
    float
        The size with the least sum of the relative losses of the calls below and from there on: between two sizes,
        infinity if the plain way is best for all sizes, or 0 if the chosen way is.

    Examples
    --------
    >>> sizes, plain = np.array([10.0, 100.0, 1000.0]), np.array([1.0, 10.0, 100.0])
    >>> round(threshold(sizes, plain, plain / 2 + 10, 50.0))
    316
    """
    if not len(sizes):
        return default
    order = np.argsort(sizes, kind="stable")
    sizes, plain, chosen = sizes[order], plain[order], chosen[order]
    gained = (plain - chosen) / np.minimum(plain, chosen)
    from_here = np.append(np.cumsum(gained[::-1])[::-1], 0.0)  # gain if the chosen way is taken from the k-th call on
    first = np.append(True, sizes[1:] > sizes[:-1])  # a guard lies between two sizes
    from_here[:-1][~first] = -math.inf
    best = len(from_here) - 1 - int(np.argmax(from_here[::-1]))  # of equally good ones, the largest size
    if best == len(sizes):
        return math.inf
    return float(np.sqrt(sizes[best - 1] * sizes[best])) if best else 0.0


def choice_seconds(library: Library, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return the sizes of random calls, and the seconds of a look at the arguments with the choice.

    Each is timed as the first one on new arguments, because that is how a program meets it.
    """
    guard, found = library.guard, []
    assert guard is not None
    size = Expression(guard.size, list(library.inputs))
    for case in random_cases(library, rng, CASES):
        taken = []
        for _ in range(TIMES):
            with arguments_of(library, case) as arguments:
                seconds, inputs = _timed(library, arguments)
                taken.append(seconds)
        found.append((float(size.of(dict(zip(library.inputs, inputs, strict=True)))), min(taken)))
    return found


def _timed(library: Library, arguments: Sequence[Any]) -> tuple[float, Sequence[float]]:
    of: Callable[..., Sequence[float]] = library.of
    library.choose(*(given.low for given in library.ranges))  # compiles the choice
    began = time.perf_counter_ns()
    inputs = of(*arguments)
    library.best(*inputs)
    return (time.perf_counter_ns() - began) * 1e-9, inputs


def _measured(library: Library) -> NDArray[np.float64]:
    """Return the inputs at which the models were measured, a row for each point."""
    rows = [
        np.column_stack([model.samples.inputs[name] for name in library.inputs])
        for model in library.models.values()
        if model.samples is not None
    ]
    return np.unique(np.concatenate(rows), axis=0) if rows else np.empty((0, len(library.inputs)))


def _predicted(library: Library, plain: str | None, inputs: Sequence[float]) -> tuple[float, float]:
    """Return the predicted seconds of the plain implementation, and of the chosen one."""
    each, name = library.predictions(*inputs), library.rule(*inputs) if plain is None else plain
    return (each[name].seconds if name in each else math.nan), library.best(*inputs).seconds
