"""Inputs of a model: the values of the grid that it is fitted on, and random values in the same range.

    "100..1e6"              geometric: 12 values of equal ratios
    "linear 0..1 x 5 real"  5 values at equal distances, not rounded to whole numbers
    "powers 1..1024"        powers of two
    "4, 8, 64"              these values

Random values come from the whole range, uniform on the scale of the grid: if the grid is geometric, their logarithms
are uniform. Random powers and listed values come from the grid itself.

Source: Brewer, Portable High-Performance Supercomputing, section 3.2 (loop nest, iteration variables).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp.errors import ModelError

from .expressions import RESERVED

COUNT, MOST = 12, 100_000
"""Number of values of a grid whose text gives no number; the most values that a grid may have."""
Values = NDArray[np.float64]
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(
    rf"(?:(?P<spacing>geometric|linear|powers)\s+)?(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER})"
    r"(?:\s+x\s*(?P<count>\d+))?(?P<real>\s+real)?"
)


@dataclass(frozen=True)
class Input:
    """An explanatory variable and its range.

    Attributes
    ----------
    name : str
    text : str
        The range as it was written, in the form that `parse` reads.
    spacing : {"geometric", "linear", "powers", "listed"}
    grid : tuple of float
        The values of the loop nest, ascending.
    whole : bool
        True if only whole numbers make sense.
    """

    name: str
    text: str
    spacing: str
    grid: tuple[float, ...]
    whole: bool

    @classmethod
    def parse(cls, name: str, text: str) -> Input:
        """Read a range.

        Parameters
        ----------
        name : str
        text : str
            ``[geometric | linear | powers] low..high [x count] [real]``, or numbers separated by commas.

        Raises
        ------
        ModelError
            The text has another form, the range is empty or has too few or too many values, or the name is not allowed
            in a Python or C function.

        Examples
        --------
        >>> Input.parse("n", "100..1e6 x 5").grid
        (100.0, 1000.0, 10000.0, 100000.0, 1000000.0)
        >>> Input.parse("digit", "linear 1..16 x 4").grid
        (1.0, 6.0, 11.0, 16.0)
        >>> Input.parse("p", "powers 1..8").grid
        (1.0, 2.0, 4.0, 8.0)
        """
        if not name.isidentifier() or not name.isascii() or name.startswith("_") or name in RESERVED:
            raise ModelError(
                f"{name!r} cannot name an input: give an ASCII identifier that does not begin with an underscore and "
                "is not a keyword of Python or C or the name of a function"
            )
        if not isinstance(text, str):
            raise ModelError(f"the range of {name} is {text!r}: write it as text, such as '100..1e6'")
        if listed := re.fullmatch(rf"\s*{_NUMBER}(\s*,\s*{_NUMBER})*\s*", text):
            numbers = sorted({float(part) for part in listed[0].split(",")})
            if not -math.inf < numbers[0] <= numbers[-1] < math.inf:
                raise ModelError(f"{text!r} of {name} contains a number that is larger than a float can be")
            return cls(name, text, "listed", tuple(numbers), all(n.is_integer() for n in numbers))
        found = _RANGE.fullmatch(text.strip())
        if not found:
            raise ModelError(
                f"the range {text!r} of {name} cannot be read: give '[geometric|linear|powers] low..high [x count] "
                "[real]', such as '100..1e6 x 20', or numbers such as '4, 8'"
            )
        low, high = float(found["low"]), float(found["high"])
        spacing, whole = found["spacing"] or "geometric", not found["real"]
        if not low < high < math.inf or (spacing != "linear" and low <= 0):
            cause = f"a {spacing} range must begin above zero" if low < high < math.inf else "its ends must ascend"
            raise ModelError(f"the range {text!r} of {name} is empty: {cause}")
        if whole and not (low.is_integer() and high.is_integer()):
            raise ModelError(f"the range {text!r} of {name} has ends that are not whole numbers: add 'real'")
        count = float(found["count"] or COUNT)
        if count < 2:
            raise ModelError(f"the range {text!r} of {name} must have at least 2 values, its two ends")
        if count > MOST:
            raise ModelError(f"the range {text!r} of {name} must have at most {MOST:,} values")
        if spacing == "powers":
            if found["count"]:
                raise ModelError(f"the range {text!r} of {name} takes all its powers of two: leave out 'x'")
            grid = 2.0 ** np.arange(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
        else:
            spread = np.geomspace if spacing == "geometric" else np.linspace
            grid = spread(low, high, int(count))
        values = np.unique(np.round(grid)) if whole else grid
        if not len(values):
            raise ModelError(f"the range {text!r} of {name} contains no power of two")
        return cls(name, text, spacing, tuple(values.tolist()), whole)

    @property
    def low(self) -> float:
        """The least value."""
        return self.grid[0]

    @property
    def high(self) -> float:
        """The largest value."""
        return self.grid[-1]

    def draw(self, rng: np.random.Generator, count: int) -> Values:
        """Return random values of the range, shape (count,); listed values and powers come from the grid itself."""
        if self.spacing in ("listed", "powers"):
            return rng.choice(self.grid, count)
        if self.spacing == "linear":
            drawn = rng.uniform(self.low, self.high, count)
        else:
            drawn = np.exp(rng.uniform(math.log(self.low), math.log(self.high), count))
        return np.round(drawn) if self.whole else drawn


def nest(inputs: Sequence[Input]) -> dict[str, Values]:
    """Return all combinations of the inputs' grids, as an array of values for each input; the first is outermost.

    Examples
    --------
    >>> points = nest([Input.parse("n", "10, 20"), Input.parse("p", "1, 2")])
    >>> {name: values.tolist() for name, values in points.items()}
    {'n': [10.0, 10.0, 20.0, 20.0], 'p': [1.0, 2.0, 1.0, 2.0]}
    """
    rows = np.array(list(itertools.product(*(given.grid for given in inputs))))
    return {given.name: rows[:, k] for k, given in enumerate(inputs)}


def scattered(inputs: Sequence[Input], rng: np.random.Generator, count: int) -> dict[str, Values]:
    """Return ``count`` of the combinations of the inputs' grids, at random but evenly spread; all if there are no more.

    Every value of an input comes about equally often, and so does every range of values of several.  If combinations
    were drawn one by one, a whole range could be left out, and a model would have to guess there.

    Source: Halton, Algorithm 247: radical-inverse quasi-random point sequence, Communications of the ACM 7, 1964.
    """
    from scipy.stats import qmc  # it takes half a second to import, and only a calibration needs it

    sizes = [len(given.grid) for given in inputs]
    if count >= math.prod(sizes):
        return nest(inputs)
    points, found = qmc.Halton(len(sizes), seed=rng), dict[tuple[int, ...], None]()
    while len(found) < count:
        found |= dict.fromkeys(map(tuple, np.floor(points.random(count) * sizes).astype(int).tolist()))
    rows = sorted(list(found)[:count])  # in the order of the nest
    return {given.name: np.array(given.grid)[[row[k] for row in rows]] for k, given in enumerate(inputs)}


def drawn(inputs: Sequence[Input], rng: np.random.Generator, count: int) -> dict[str, Values]:
    """Return random points: for each input, ``count`` values."""
    return {given.name: given.draw(rng, count) for given in inputs}


def parsed(ranges: Mapping[str, str]) -> tuple[Input, ...]:
    """Read the ranges of all inputs of a model.

    Raises
    ------
    ModelError
        No range at all, or one that cannot be read.
    """
    if not ranges:
        raise ModelError(
            "a model needs at least one input: give a mapping of names to ranges, such as {'n': '100..1e6'}"
        )
    return tuple(Input.parse(name, text) for name, text in ranges.items())
