"""Orthogonal arrays of more than two levels, to search settings of delays in a balanced way.

In any two columns every pair of levels comes equally often. The paper's array of 25 trials for six factors of five
levels (section 3.2.1 and table 4, after R. N. Kacker, E. S. Lagergren and J. J. Filliben, J. Res. NIST 96 (1991)) is
``OA25(5^6)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from smp.models._types import FloatArray, IntArray

from .words import named

_TERM = r"[1-9]\d*(?:\^[1-9]\d*)?"
_FORM = re.compile(rf"(?i)(?:OA|L)_?(\d+)[(\[] *({_TERM}(?:[ x*]+{_TERM})*) *[)\]]")


def arrays() -> tuple[str, ...]:
    """Return the names of the tabulated arrays that were checked: each is of strength two.

    The tables are those of pydoe; one that is not orthogonal is left out. Beyond them `orthogonal_array` makes those of
    s*s trials for s + 1 factors of s levels, s a prime.
    """
    return tuple(f"OA{len(levels)}({form})" for form, levels in _tables().items())


def orthogonal_array(name: str) -> IntArray:
    """Return an orthogonal array.

    Parameters
    ----------
    name : str
        ``"OA25(5^6)"``, in brackets of either kind: trials, and levels to the power of factors; ``"OA18(6^1 3^6)"``.
        Fewer factors than an array has may be asked for.

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
        raise ValueError(f"{name!r} is no orthogonal array: write OA25(5^6), 25 trials of 6 factors of 5 levels")
    trials, wanted = int(found[1]), _levels(found[2])
    for levels in [*_tables().values(), *_prime(trials)]:
        if len(levels) == trials and (places := _places(levels, wanted)) is not None:
            return np.ascontiguousarray(levels[:, places])
    raise ValueError(f"no array {name} is known; there are {', '.join(arrays())}, and s*s trials for s + 1 factors")


def settings(factors: str | Sequence[str], levels: Sequence[float] | Mapping[str, Sequence[float]]) -> FloatArray:
    """Return the trials of the smallest array that holds these factors, as delays.

    Parameters
    ----------
    factors : str or sequence of str
    levels : sequence of float, or such of each factor
        ``(0, 7, 14, 21, 28)``.  All factors must have equally many.

    Returns
    -------
    ndarray (trials, factors) float64
        The first trial has the first level everywhere.

    Examples
    --------
    >>> settings("abcdef", (0, 7, 14, 21, 28))[[0, 6, 15, 24]].astype(int).tolist()  # table 4 of the paper
    [[0, 0, 0, 0, 0, 0], [7, 7, 14, 21, 28, 0], [21, 0, 21, 7, 28, 14], [28, 28, 21, 14, 7, 0]]
    """
    names = named(factors)
    missing = [name for name in names if isinstance(levels, Mapping) and name not in levels]
    if missing:
        raise ValueError(f"no levels for {', '.join(missing)}: give a list for each factor, or one for all")
    lists = [list(levels[name] if isinstance(levels, Mapping) else levels) for name in names]
    counts = {len(one) for one in lists}
    if len(counts) != 1 or min(counts) < 2:
        raise ValueError(f"levels: {sorted(counts)} of a factor; each must have equally many, two at least")
    (count,) = counts
    fitting = [
        array
        for array in [*_tables().values(), *_prime(count * count)]
        if _places(array, [count] * len(names)) is not None
    ]
    if not fitting:
        raise ValueError(
            f"no array is known for {len(names)} factors of {count} levels: take fewer, or 2, 3, 4 or 5 levels"
        )
    array = min(fitting, key=len)
    places = _places(array, [count] * len(names)) or []
    return np.array([[lists[i][level] for i, level in enumerate(row)] for row in array[:, places]], np.float64)


def strength(levels: IntArray) -> int:
    """Return 2 where in any two columns all pairs of levels come equally often, 1 where the levels do, else 0."""
    counts = [np.unique(column, return_counts=True)[1] for column in levels.T]
    if any(np.ptp(count) for count in counts):
        return 0
    for i, j in combinations(range(levels.shape[1]), 2):
        pairs = np.unique(levels[:, [i, j]], axis=0, return_counts=True)[1]
        if len(pairs) != len(counts[i]) * len(counts[j]) or np.ptp(pairs):
            return 1
    return 2


def _tables() -> dict[str, IntArray]:
    """Return the arrays of pydoe, smallest first; its import takes most of a second."""
    global _checked
    if not _checked:
        from pydoe import get_orthogonal_array, list_orthogonal_arrays

        found = [np.asarray(get_orthogonal_array(name), np.int64) for name in list_orthogonal_arrays()]
        _checked = {_form(array): array for array in sorted(found, key=len) if strength(array) == 2}
    return _checked


_checked: dict[str, IntArray] = {}


def _prime(trials: int) -> list[IntArray]:
    """Return the array of s*s trials for a prime s: columns a, b, a + b, 2a + b, ... modulo s (R. C. Bose, 1938)."""
    s = round(trials**0.5)
    if s < 2 or s * s != trials or any(s % divisor == 0 for divisor in range(2, s)):
        return []
    a, b = np.divmod(np.arange(trials), s)
    return [np.stack([a, *((times * a + b) % s for times in range(s))], axis=1)]


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
    """Return columns with so many levels, in order; None where the array has too few."""
    counts = [int(column.max()) + 1 for column in levels.T]
    places: list[int] = []
    for count in wanted:
        free = [i for i, other in enumerate(counts) if other == count and i not in places]
        if not free:
            return None
        places.append(free[0])
    return places
