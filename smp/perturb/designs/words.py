"""Effects as words: ``ab`` is the interaction of the factors a and b, ``push&pop`` that of push and pop.

Internally, a set of factors is an integer with one bit for each factor, and a contrast is the number of a column of the
matrix (see `hadamard`). Effects multiply as these numbers xor.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

LETTERS = string.ascii_lowercase.replace("i", "")
"""One letter for each factor, as in the tables. ``I`` is the column of ones."""


def named(factors: str | Sequence[str] | None, count: int | None = None) -> tuple[str, ...]:
    """Return the names of the factors as a tuple.

    Parameters
    ----------
    factors : str or sequence of str, optional
        ``"abc"`` is three factors, ``"push, pop"`` two. By default ``a``, ``b``, ... without ``i``, and ``f1``, ``f2``,
        ... for more than 25.
    count : int, optional
        Required number of factors; by default any.

    Raises
    ------
    TypeError, ValueError
        For no name, a wrong number of names, the same name twice, or a name that could be mistaken for a word.
    """
    if factors is None:
        count = count or 0
        return tuple(LETTERS[:count]) if count <= len(LETTERS) else tuple(f"f{i + 1}" for i in range(count))
    if isinstance(factors, str):
        factors = [name.strip() for name in factors.split(",")] if "," in factors else list(factors)
    names = tuple(factors)
    if not names:
        raise ValueError("there are no factors: give at least one")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"a factor's name must be a string, not {name!r}")
        if not name or not name.isprintable() or any(sign in name for sign in "&=+,; ") or name[0] == "-":
            raise ValueError(
                f"a factor cannot be called {name!r}: leave out spaces, commas, semicolons, &, = and +, "
                "and a minus in front"
            )
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"{', '.join(twice)}: more than one factor has this name; each needs a name of its own")
    if count is not None and len(names) != count:
        raise ValueError(f"a design of {count} factors cannot take {len(names)}: {', '.join(names)}")
    return names


def spelled(factors: Sequence[str], members: Iterable[int], sign: int = 1) -> str:
    """Return some factors as a word.

    Examples
    --------
    >>> spelled(("a", "b", "c"), (0, 2)), spelled(("push", "pop"), (0, 1), -1)
    ('ac', '-push&pop')
    """
    joint = "" if all(len(name) == 1 for name in factors) else "&"
    return ("-" if sign < 0 else "") + joint.join(factors[i] for i in members)


def parsed(factors: Sequence[str], word: str) -> tuple[tuple[int, ...], int]:
    """Return the factors of a word, as positions, and its sign.

    Examples
    --------
    >>> parsed(("push", "pop", "swap"), "-swap&push")
    ((0, 2), -1)
    """
    bare = word.strip().removeprefix("-")
    letters = all(len(name) == 1 for name in factors)
    parts = list(bare) if letters and "&" not in bare else bare.split("&")
    unknown = [part for part in parts if part.strip() not in factors]
    if unknown or not bare:
        raise ValueError(
            f"{word!r} is not an effect: {unknown[0] if unknown else ''!r} is not one of {', '.join(factors)}"
        )
    members: set[int] = set()
    for part in parts:
        members ^= {list(factors).index(part.strip())}  # a factor that appears twice cancels: its square is 1
    return tuple(sorted(members)), -1 if word.strip().startswith("-") else 1


def either(factors: Sequence[str], words: Sequence[str]) -> str:
    """Return aliases as one text: ``ab+ce`` for factors of one letter, ``push&pop OR lock`` for longer names.

    Examples
    --------
    >>> either("abce", ["ab", "-ce"]), either(("push", "pop", "lock"), ["push&pop", "lock"])
    ('ab-ce', 'push&pop OR lock')
    """
    short = all(len(name) == 1 for name in factors)
    return "+".join(words).replace("+-", "-") if short else " OR ".join(words)


def members(mask: int) -> tuple[int, ...]:
    """Return the positions of the bits that are set."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def eliminate(columns: Sequence[int]) -> tuple[dict[int, tuple[int, int]], list[int]]:
    """Find which columns are products of which others, by elimination over the two-element field.

    Parameters
    ----------
    columns : sequence of int
        The contrast of each factor.

    Returns
    -------
    pivots : dict
        For each highest bit, a contrast and the set of factors whose product it is.
    words : list of int
        The independent sets of factors whose product is constant: the generators of the design. Each has one factor
        that those before it lack.
    """
    pivots: dict[int, tuple[int, int]] = {}
    words = []
    for i, column in enumerate(columns):
        rest, mask = reduce(pivots, column)
        mask |= 1 << i
        if rest:
            pivots[rest.bit_length()] = (rest, mask)
        else:
            words.append(mask)
    return pivots, words


def reduce(pivots: dict[int, tuple[int, int]], contrast: int) -> tuple[int, int]:
    """Return what is left of a contrast after elimination by the pivots, and the set of factors removed from it."""
    mask = 0
    for bit in sorted(pivots, reverse=True):
        if contrast.bit_length() == bit:
            pivot, factors = pivots[bit]
            contrast, mask = contrast ^ pivot, mask ^ factors
    return contrast, mask
