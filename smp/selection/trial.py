"""Checks how often a library chooses the fastest implementation, by timing all of them on random cases.

    case    random loops -> arguments -> the library's choice; then rounds of all implementations, see `rounds`
    again   after all cases: those in which another implementation came within 10% of the chosen one, or was faster
    right   the chosen one is the fastest, or within 2% of it, by the median over the rounds of the ratio of the two

All rounds of a short call can lie within one slow moment of the computer, so close cases are visited a second time.
Calibration and trial share no points.

Source: Brewer, Portable High-Performance Supercomputing, tables 4-1 to 4-4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._runtime.host.looking import Looker
from ..errors import ModelError
from ..models.fit.inputs import drawn, parsed
from ..models.fit.linear import mean_relative_error
from .library import Library
from .rounds import TOLERANCE, in_rounds, interval, ratio

CLOSE = 1.10
"""If the ratio of another implementation's time to the chosen one's is below this, the case is visited again."""
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Case:
    """One random case.

    Attributes
    ----------
    inputs : dict of name to float
    chosen : str
    predicted : float
        Predicted seconds of the chosen implementation.
    times : dict of name to list of float
        Seconds of each implementation that applies, in each round; NaN in rounds in which it was not timed.
    """

    inputs: dict[str, float]
    chosen: str
    predicted: float
    times: dict[str, list[float]]

    @property
    def close(self) -> bool:
        """True if another implementation came within 10% of the chosen one, or was faster."""
        return any(ratio(self.times, name, self.chosen) < CLOSE for name in self.times if name != self.chosen)

    def together(self, other: Case) -> Case:
        """Return this case with the rounds of a further visit added."""
        times = {name: taken + other.times[name] for name, taken in self.times.items()}
        return Case(self.inputs, self.chosen, self.predicted, times)

    @property
    def loss(self) -> float:
        """Fraction by which the chosen implementation takes longer than the fastest; 0 if it is the fastest."""
        return max(0.0, max(ratio(self.times, self.chosen, name) for name in self.times) - 1)

    @property
    def right(self) -> bool:
        """True if the loss is at most 2%."""
        return self.loss <= TOLERANCE

    @property
    def beaten(self) -> bool:
        """True if another implementation is faster beyond the noise: the interval of the ratio lies above 1."""
        return any(interval(self.times, self.chosen, name)[0] > 1 for name in self.times)


@dataclass(frozen=True)
class Trial:
    """Cases of a library, with their summary.

    Attributes
    ----------
    library : str
    cases : sequence of Case
    placement : str
        Text on the timings that were repeated because the host had moved the CPUs; empty if it had not.
    """

    library: str
    cases: Sequence[Case]
    placement: str = ""

    @property
    def accuracy(self) -> float:
        """Share of the cases in which the choice was right."""
        return float(np.mean([case.right for case in self.cases]))

    @property
    def fastest(self) -> float:
        """Share of the cases in which the chosen implementation was the fastest of all by the medians."""
        return float(np.mean([case.loss == 0 for case in self.cases]))

    @property
    def loss(self) -> float:
        """Mean loss of the wrong choices; 0 if there are none."""
        wrong = [case.loss for case in self.cases if not case.right]
        return float(np.mean(wrong)) if wrong else 0.0

    def gains(self) -> dict[str, tuple[float, float]]:
        """Return the gain of choosing over always calling one implementation, for each that applies in every case.

        Returns
        -------
        dict of name to (float, float)
            Geometric mean and maximum of the implementation's time divided by the chosen one's.  The implementation
            with the smallest mean is the best single one.
        """
        always = [name for name in self._names() if all(name in case.times for case in self.cases)]
        made = {}
        for name in always:
            ratios = [1 / ratio(case.times, case.chosen, name) for case in self.cases]
            made[name] = (math.exp(float(np.mean(np.log(ratios)))), max(ratios))
        return made

    def won(self) -> dict[str, tuple[int, int]]:
        """Return how often each implementation was chosen, and how often it was the fastest."""
        best = [
            max(case.times, key=lambda name, case=case: ratio(case.times, case.chosen, name))  # type: ignore[misc]
            for case in self.cases
        ]
        return {name: (sum(c.chosen == name for c in self.cases), best.count(name)) for name in self._names()}

    def error(self) -> float:
        """Return the mean relative error of the predictions for the chosen implementations.

        It is the geometric mean of 1 + error, less 1.  The models predict the least of several timings, so the least
        over the rounds is what they are compared with.
        """
        off = [abs(case.predicted / float(np.nanmin(case.times[case.chosen])) - 1) for case in self.cases]
        return mean_relative_error(off)

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for case in self.cases for name in case.times))


def try_library(
    library: Library,
    cases: int,
    *,
    seed: int = 2,
    progress: Progress | None = None,
    into: list[Case] | None = None,
) -> Trial:
    """Try a calibrated library on random cases.

    Parameters
    ----------
    library : Library
    cases : int
    seed : int
        Seed of the cases; it should differ from the calibration's.
    progress : callable, optional
    into : list, optional
        List to which the cases are added one by one, so that they are not lost on Ctrl-C.

    Returns
    -------
    Trial

    Raises
    ------
    ModelError
        If the library is not calibrated.
    """
    if not library.models:
        raise ModelError(f"the library {library.name} has no models to try: calibrate it first")
    library.forget()  # the trial is of the models alone
    rng, looker = np.random.default_rng(seed), Looker()
    made: list[Case] = [] if into is None else into
    points = random_cases(library, rng, cases)

    def visit(place: int, share: float) -> Case:
        if progress is not None:
            progress(share, told(library, points[place]))
        with arguments_of(library, points[place]) as arguments:
            return try_case(library, arguments, rng, looker)

    for place in range(cases):
        made.append(visit(place, place / cases / 2))
    for place, case in enumerate(made):
        if case.close:
            made[place] = case.together(visit(place, 0.5 + place / cases / 2))
    return Trial(library.name, made, looker.said())


def random_cases(library: Library, rng: np.random.Generator, count: int) -> list[dict[str, float]]:
    """Return random values of the loops from which a library's data are made; whole numbers are ints."""
    loops = parsed(library.inputs if library.loops is None else library.loops)
    points = drawn(loops, rng, count)
    return [
        {g.name: int(points[g.name][k]) if g.whole else float(points[g.name][k]) for g in loops} for k in range(count)
    ]


def told(library: Library, case: dict[str, float]) -> str:
    """Return a case as text, for messages of progress."""
    return f"{library.name}: {', '.join(f'{name} = {value:,.4g}' for name, value in case.items())}"


@contextmanager
def arguments_of(library: Library, case: dict[str, float]) -> Iterator[tuple[Any, ...]]:
    """Make the arguments of a call, and clean up at the end of the block."""
    arguments = tuple(case.values()) if library.setup is None else library.setup(**case)
    try:
        yield arguments
    finally:
        if library.cleanup is not None:
            library.cleanup(*arguments)


def try_case(library: Library, arguments: tuple[Any, ...], rng: np.random.Generator, looker: Looker) -> Case:
    """Time all implementations that apply, including the library's choice, on the same arguments."""
    inputs = library.of(*arguments)
    chosen = library.best(*inputs)
    made = {name: each for name, each in library.predictions(*inputs).items() if math.isfinite(each.seconds)}
    calls = {
        name: partial(library.implementations[name].function, *arguments, **each.keywords)
        for name, each in ({chosen.name: chosen} | made).items()
    }
    times = in_rounds(calls, chosen.name, rng, looker)
    return Case(dict(zip(library.inputs, inputs, strict=True)), chosen.name, chosen.seconds, times)
