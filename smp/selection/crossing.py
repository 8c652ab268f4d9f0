"""Sizes at which another implementation becomes the fastest, by the models of a calibrated library.

    fastest
    by_numpy   ├──────────────┤ 52,000 ├───────────────────▶  at width = 4
    by_loop    ├───┤ 610 ├──▶                                at width = 64
               n

The range of one input is looked through at values close to each other.  Between two values with different fastest
implementations, the change is found by bisection, to a whole number if the input has whole numbers only.  A predicted
time has an error, so around a change two implementations cannot be distinguished.  The range in which their times
differ by less than the mean errors of both models is given too.

Source: Brewer, Portable High-Performance Supercomputing, figure 4-14 and table 4-4.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..models.fit.inputs import Input
from ..models.fit.model import Model
from .library import Library
from .sampled import shared_inputs

STEPS = 240
"""Number of values at which the range of the size is looked through."""
COMBINATIONS = 12
"""Most combinations of the other inputs; if there were more, only one input at a time leaves its middle."""
FEW = 6
"""An input with no more values than this is looked at with all of them, and one with more at three."""
HALVINGS = 60
_UNDEFINED = (ArithmeticError, ValueError)
Times = dict[str, float]
"""Predicted seconds of the implementations that apply."""


@dataclass(frozen=True)
class Crossover:
    """A size from which another implementation is predicted to be the fastest.

    Attributes
    ----------
    at : dict of name to float
        Values of the other inputs.
    size : float
        First value of the size at which ``after`` is the fastest. NaN if one implementation is the fastest everywhere.
    before, after : str
        Names of the implementations; both are the same if there is no change, and empty if none has a prediction.
    seconds : float
        Predicted time at the change, or NaN.
    low, high : float
        Range around the change in which the two times differ by less than the models' mean errors. It is not wider
        than the regions in which either of the two is the fastest. NaN if there is no change.
    """

    at: dict[str, float]
    size: float
    before: str
    after: str
    seconds: float = math.nan
    low: float = math.nan
    high: float = math.nan


def crossovers(
    library: Library | Mapping[str, Model],
    over: str = "",
    at: Mapping[str, Iterable[float]] | None = None,
) -> list[Crossover]:
    """Return the sizes at which another implementation of a calibrated library becomes the fastest.

    Parameters
    ----------
    library : Library, or mapping of implementation's name to Model
        With a library, each parameter has its best value. With models alone, it has the best value of its grid.
    over : str
        The input that is the size; by default the first one.
    at : mapping of name to values, optional
        Values of the other inputs. By default, an input with few values is looked at with all of them, and another
        one at the least, the median and the largest value that was measured.

    Returns
    -------
    list of Crossover
        In the order of the combinations of the other inputs, and by size for each. A combination without a change has
        one entry.

    Raises
    ------
    ModelError
        If there are no models, or a name is not that of an input.

    Examples
    --------
    >>> import smp
    >>> library = smp.Library("wait", {"n": "1..1e6", "width": "4, 8"}, lambda n, width: (n, width))
    >>> slow, fast = (lambda n, width: 1e-6 * n * width), (lambda n, width: 1e-3 + 1e-8 * n)
    >>> for name, task, terms in (("slow", slow, ["n * width"]), ("fast", fast, ["n"])):
    ...     library.add(smp.Implementation(name, task, terms))
    >>> crossovers(smp.calibrate(library))    # doctest: +SKIP
    [Crossover(at={'width': 4.0}, size=251.0, before='slow', after='fast', ...), ...]
    """
    models = library.models if isinstance(library, Library) else dict(library)
    if not models:
        raise ModelError("the library has no models, so it has no crossovers: calibrate it first")
    inputs = shared_inputs(models)
    if not inputs:
        raise ModelError("the implementations share no input, so there is no size at which their order could change")
    size = _named(inputs, over) if over else inputs[0]
    others = [each for each in inputs if each.name != size.name]
    for name in at or {}:
        _named(others, name)
    predict = _of_library(library) if isinstance(library, Library) else _of_models(models, inputs)
    values = {each.name: _looked_at(each, models) for each in others}
    values |= {name: sorted(map(float, given)) for name, given in (at or {}).items()}
    found = list[Crossover]()
    for place in _combinations(values):

        def times(n: float, place: dict[str, float] = place) -> Times:
            return predict({**place, size.name: n})

        found += _along(size, times, place, models)
    return found


def _named(inputs: list[Input], name: str) -> Input:
    for each in inputs:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in inputs) or "none"
    raise ModelError(f"{name!r} is not among the inputs that can be given here: {known}")


def _looked_at(given: Input, models: Mapping[str, Model]) -> list[float]:
    """Return the values of an input to look at: all, if they are few, or the least, the median and the largest."""
    if len(given.grid) <= FEW:
        return list(given.grid)
    taken = next((model.samples for model in models.values() if model.samples is not None), None)
    if taken is None:
        return [given.grid[0], given.grid[len(given.grid) // 2], given.grid[-1]]
    measured = np.sort(taken.inputs[given.name])
    return sorted({float(measured[k]) for k in (0, len(measured) // 2, -1)})


def _combinations(values: Mapping[str, list[float]]) -> Iterator[dict[str, float]]:
    """Yield the combinations; if they are many, those in which all inputs but one have their middle value."""
    if math.prod(len(each) for each in values.values()) <= COMBINATIONS:
        for chosen in itertools.product(*values.values()):
            yield dict(zip(values, chosen, strict=True))
        return
    middle = {name: each[len(each) // 2] for name, each in values.items()}
    yield middle
    for name, each in values.items():
        yield from ({**middle, name: value} for value in each if value != middle[name])


def _of_library(library: Library) -> Callable[[Mapping[str, float]], Times]:
    def predict(place: Mapping[str, float]) -> Times:
        made = library.predictions(*(place[name] for name in library.inputs))
        return {name: choice.seconds for name, choice in made.items() if 0 < choice.seconds < math.inf}

    return predict


def _of_models(models: Mapping[str, Model], inputs: list[Input]) -> Callable[[Mapping[str, float]], Times]:
    shared = {each.name for each in inputs}
    own = {name: [each for each in model.inputs if each.name not in shared] for name, model in models.items()}

    def predict(place: Mapping[str, float]) -> Times:
        made = Times()
        for name, model in models.items():
            tried = [
                _predicted(model, {**place, **dict(zip((each.name for each in own[name]), chosen, strict=True))})
                for chosen in itertools.product(*(each.grid for each in own[name]))
            ]
            if (least := min(tried)) < math.inf:
                made[name] = least
        return made

    return predict


def _predicted(model: Model, place: Mapping[str, Any]) -> float:
    """Return a predicted time, which is infinite if the model has none, or none above zero."""
    try:
        seconds = model.predict(**place)
    except _UNDEFINED:
        return math.inf
    return seconds if seconds > 0 else math.inf


def _values_of(size: Input) -> list[float]:
    if size.spacing in ("listed", "powers"):
        return list(size.grid)
    spread = np.linspace if size.spacing == "linear" else np.geomspace
    made = spread(size.low, size.high, STEPS)
    return [float(value) for value in np.unique(np.round(made) if size.whole else made)]


def _best(times: Times) -> str:
    return min(times, key=lambda name: times[name], default="")


def _along(
    size: Input, times: Callable[[float], Times], place: dict[str, float], models: Mapping[str, Model]
) -> Iterator[Crossover]:
    """Yield the changes over the size, or an entry that says that there is none."""
    values = _values_of(size)
    looked = [times(value) for value in values]
    best = [_best(each) for each in looked]
    between = size.spacing not in ("listed", "powers")
    changes = list[tuple[int, float, str, str]]()  # the index of the value after a change, its size, and the names
    for k in range(1, len(values)):
        low, name = values[k - 1], best[k - 1]
        while name != best[k] and len(changes) < len(values):
            at = _change(size, times, low, values[k]) if between else values[k]
            changes.append((k, at, name, _best(times(at))))
            low, name = at, changes[-1][3]
    if not changes:
        yield Crossover(place, math.nan, best[0], best[0])
    ends = [0, *(k for k, *_ in changes), len(values)]
    for which, (k, at, before, after) in enumerate(changes):
        tolerated = math.log(math.prod(1 + models[name].quality.mre for name in (before, after) if name))

        def close(index: int, names: tuple[str, str] = (before, after), tolerated: float = tolerated) -> bool:
            here = looked[index]
            return all(name in here for name in names) and abs(math.log(here[names[0]] / here[names[1]])) < tolerated

        below = itertools.takewhile(close, range(k - 1, ends[which] - 1, -1))
        above = itertools.takewhile(close, range(k, ends[which + 2]))
        low, high = min((values[i] for i in below), default=at), max((values[i] for i in above), default=at)
        yield Crossover(place, at, before, after, times(at).get(after, math.nan), low, max(at, high))


def _change(size: Input, times: Callable[[float], Times], low: float, high: float) -> float:
    """Return the least value above ``low`` at which the implementation that is the fastest there no longer is."""
    before = _best(times(low))
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high) if low > 0 and size.spacing != "linear" else (low + high) / 2
        if size.whole:
            middle = math.floor(middle) if math.floor(middle) > low else low + 1
        if not low < middle < high:
            break
        if _best(times(middle)) == before:
            low = middle
        else:
            high = middle
    return high
