"""Orthogonal arrays of more than two levels, for balanced searches over settings of delays.

In any two columns every pair of levels comes equally often. The paper's array of 25 trials for six factors of five
levels (section 3.2.1 and table 4, after R. N. Kacker, E. S. Lagergren and J. J. Filliben, J. Res. NIST 96 (1991)) is
``OA25(5^6)``.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence

import numpy as np

from smp.models._types import FloatArray, IntArray

from .constructions import expanded, linear, of_eight, replaced, thrice, twice
from .galois import field, prime_power
from .hadamard import plackett_burman
from .words import named

_TERM = r"[1-9]\d*(?:\^[1-9]\d*)?"
_FORM = re.compile(rf"(?i)(?:OA|L)_?(\d+)[(\[] *({_TERM}(?:[ x*]+{_TERM})*) *[)\]]")


def arrays() -> tuple[str, ...]:
    """Return the names of the arrays of up to 81 trials, the smallest first.

    Beyond these, `orthogonal_array` makes those of s*s trials for s + 1 factors of s levels, s a prime.
    """
    return tuple(f"OA{len(levels)}({_form(levels)})" for levels in _known())


def orthogonal_array(name: str) -> IntArray:
    """Return an orthogonal array by its name.

    Parameters
    ----------
    name : str
        ``"OA25(5^6)"`` or ``"OA18(6^1 3^6)"``: the number of trials and then, in round or square brackets, levels to
        the power of factors. A name may ask for fewer factors than the array has.

    Returns
    -------
    ndarray (trials, factors) int64
        Levels 0, 1, 2, ...

    Raises
    ------
    ValueError
        If no such array is known.

    Examples
    --------
    >>> orthogonal_array("OA9(3^4)")[4].tolist()
    [1, 1, 2, 0]
    """
    found = _FORM.fullmatch(name.strip())
    if found is None:
        raise ValueError(f"{name!r} is not an orthogonal array: write OA25(5^6) for 25 trials of 6 factors of 5 levels")
    trials, wanted = int(found[1]), _levels(found[2])
    for levels in [*_known(), *_square(trials)]:
        if len(levels) == trials and (places := _places(levels, wanted)) is not None:
            return np.ascontiguousarray(levels[:, places])
    raise ValueError(f"no array {name} is known; known are {', '.join(arrays())}, and s*s trials for s + 1 factors")


def settings(factors: str | Sequence[str], levels: Sequence[float] | Mapping[str, Sequence[float]]) -> FloatArray:
    """Return delays for the trials of the smallest array that holds these factors.

    Parameters
    ----------
    factors : str or sequence of str
    levels : sequence of float, or mapping of str to sequence of float
        Delays of the levels, such as ``(0, 7, 14, 21, 28)``, for all factors or for each.  All factors must have the
        same number of levels.

    Returns
    -------
    ndarray (trials, factors) float64
        The delays. The first trial has the first level of every factor.

    Examples
    --------
    >>> settings("abcdef", (0, 7, 14, 21, 28))[[0, 6, 15, 24]].astype(int).tolist()  # table 4 of the paper
    [[0, 0, 0, 0, 0, 0], [7, 7, 14, 21, 28, 0], [21, 0, 21, 7, 28, 14], [28, 28, 21, 14, 7, 0]]
    """
    names = named(factors)
    missing = [name for name in names if isinstance(levels, Mapping) and name not in levels]
    if missing:
        raise ValueError(f"no levels for {', '.join(missing)}: give a list for each factor, or one list for all")
    lists = [list(levels[name] if isinstance(levels, Mapping) else levels) for name in names]
    counts = {len(one) for one in lists}
    if len(counts) != 1 or min(counts) < 2:
        raise ValueError(f"all factors must have the same number of levels, at least 2, not {sorted(counts)}")
    (count,) = counts
    fitting = [
        array for array in [*_known(), *_square(count * count)] if _places(array, [count] * len(names)) is not None
    ]
    if not fitting:
        raise ValueError(
            f"no array is known for {len(names)} factors of {count} levels: take fewer factors, "
            "or 2, 3, 4, 5, 7, 8 or 9 levels"
        )
    array = min(fitting, key=len)
    places = _places(array, [count] * len(names)) or []
    return np.array([[lists[i][level] for i, level in enumerate(row)] for row in array[:, places]], np.float64)


def strength(levels: IntArray) -> int:
    """Return 2 if in any two columns all pairs of levels come equally often, 1 if only single levels do, else 0."""
    counts = [np.unique(column, return_counts=True)[1] for column in levels.T]
    if any(np.ptp(count) for count in counts):
        return 0
    for i, j in itertools.combinations(range(levels.shape[1]), 2):
        pairs = np.unique(levels[:, [i, j]], axis=0, return_counts=True)[1]
        if len(pairs) != len(counts[i]) * len(counts[j]) or np.ptp(pairs):
            return 1
    return 2


@functools.cache
def _known() -> tuple[IntArray, ...]:
    """Return the arrays of up to 81 trials, the smallest first."""
    powers = [(2, 2), (2, 3), (2, 4), (2, 5), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3), (5, 2), (7, 2), (8, 2), (9, 2)]
    found = [linear(s, k) for s, k in powers]
    found += [
        (made[::-1, 1:] > 0).astype(np.int64) for made in map(plackett_burman, (12, 20, 24, 28)) if made is not None
    ]
    six, eight, ten = (np.array(list(itertools.product(range(2), range(half)))) for half in (3, 4, 5))
    of_six = twice(3)
    eighteen = expanded(of_six, field(3)[0])
    found += [eighteen, replaced(eighteen, six), replaced(expanded(of_eight(), field(4)[0]), eight)]
    found += [replaced(expanded(twice(5), field(5)[0]), ten)]
    found += [replaced(expanded(thrice(of_six, 3), field(3)[0]), replaced(eighteen, six))]
    return tuple(sorted(found, key=len))


def _square(trials: int) -> list[IntArray]:
    """Return the array of s*s trials if s is a prime."""
    s = round(trials**0.5)
    return [linear(s, 2)] if s * s == trials and prime_power(s) == (s, 1) else []


def _levels(text: str) -> list[int]:
    found: list[int] = []
    for part in re.split(r"[ x*]+", text):
        base, _, power = part.partition("^")
        found += [int(base)] * int(power or 1)
    return found


def _form(levels: IntArray) -> str:
    counts = [int(column.max()) + 1 for column in levels.T]
    return " ".join(f"{count}^{counts.count(count)}" for count in dict.fromkeys(counts))


def _places(levels: IntArray, wanted: Sequence[int]) -> list[int] | None:
    """Return columns with the wanted numbers of levels, in order; None if the array has too few such columns."""
    counts = [int(column.max()) + 1 for column in levels.T]
    places: list[int] = []
    for count in wanted:
        free = [i for i, other in enumerate(counts) if other == count and i not in places]
        if not free:
            return None
        places.append(free[0])
    return places
