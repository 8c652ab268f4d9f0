"""Two-level designs by name: ``2^3``, ``2^(6-2)``, ``PB12``.

    2^p        full: every pattern of delays; nothing is aliased
    2^(p-k)    fractional: k factors take the columns of interactions of the others
    PBn        of Plackett and Burman: n - 1 factors in n trials, n a multiple of four; main effects only

The functions return a `smp.perturb.designs.design.Design`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from smp.models._types import IntArray

from . import aberration, words
from .catalogue import PUBLISHED
from .design import Design
from .hadamard import LARGEST, plackett_burman, walsh

_FORM = re.compile(r"2\^(?:([1-9]\d*)|[({]?([1-9]\d*)-(\d+)[)}]?)")
Factors = str | Sequence[str] | None


def design(text: str, factors: Factors = None) -> Design:
    """Return a design by name: a name for `fractional`, or ``PB12``, or ``PB`` for the smallest of `screening`."""
    name = text.replace(" ", "")
    if (found := re.fullmatch(r"(?i)PB(\d*)", name)) is None:
        return fractional(name, factors)
    trials = int(found[1]) if found[1] else None
    if factors is None:
        if trials is None:
            raise ValueError("PB alone is not a design: give its size, such as PB12, or the factors")
        factors = words.named(None, min(max(trials, 2), LARGEST) - 1)
    return screening(factors, trials)


def fractional(text: str, factors: Factors = None, generators: Sequence[str] | None = None) -> Design:
    """Return a full or fractional factorial design by its name.

    Parameters
    ----------
    text : str
        ``"2^p"`` or ``"2^(p-k)"``: p factors in ``2**(p-k)`` trials, at most 4,096.
    factors : str or sequence of str, optional
        Names of the factors; see `words.named`.
    generators : sequence of str, optional
        Definitions of the k generated factors, such as ``["e=abc", "f=-bcd"]``: each takes the column of an
        interaction, or its opposite. By default they are those of the published tables, which go up to eleven factors.
        Designs that are not in the tables come from a search, which matches the published designs up to 15 factors in 8
        to 128 trials. The resolution is IV if there are at least twice as many trials as factors, and higher if that is
        possible.

    Returns
    -------
    Design
        Trials in Yates order: the first factor changes fastest.

    Raises
    ------
    ValueError
        For a name that is not of this form, too few or too many trials, or generators that do not fit.

    Examples
    --------
    >>> print(fractional("2^(6-2)"))
    2^(6-2): 6 factors in 16 trials, resolution IV, I = abce = adef = bcdf
    """
    found = _FORM.fullmatch(text.replace(" ", ""))
    if found is None:
        raise ValueError(f"{text!r} is not a design of two levels: write 2^3, or 2^(6-2) for 6 factors in 16 trials")
    p, k = (int(number) if number else 0 for number in (found[1] or found[2], found[3]))
    if p - k < p.bit_length():
        least = p.bit_length()
        raise ValueError(f"{text} is too small: {p} factors need at least 2^{least} trials, as in 2^({p}-{p - least})")
    if p - k >= LARGEST.bit_length():
        raise ValueError(
            f"{text} has 2^{p - k} trials, but a design may have at most {LARGEST:,}: take a smaller fraction"
        )
    names = words.named(factors, p)
    if generators is not None:
        columns, signs = _generated(names, k, generators)
    elif (p, k) in PUBLISHED:
        columns, signs = _generated(words.LETTERS[:p], k, PUBLISHED[p, k].split())
    else:
        columns, signs = aberration.columns(p, p - k), (1,) * p
    return Design(f"2^({p}-{k})" if k else f"2^{p}", names, columns, signs, walsh(p - k), True)


def smallest(factors: Sequence[str], resolution: int = 4) -> Design:
    """Return the full or fractional design with the fewest trials that has at least this resolution.

    No design with fewer trials exists for a resolution up to IV, or for up to eleven factors. For higher resolutions of
    more factors, none is known to `fractional`.

    Examples
    --------
    >>> print(smallest("abcdefgh").name, smallest("abcdefgh", resolution=5).name)
    2^(8-4) 2^(8-2)
    """
    names = words.named(factors)
    p = len(names)
    for bits in range(p.bit_length(), min(p, LARGEST.bit_length() - 1) + 1):
        found = fractional(f"2^({p}-{p - bits})", names)
        if (found.resolution or resolution) >= resolution:
            return found
    raise ValueError(
        f"no design of {p} factors up to {LARGEST:,} trials has resolution {resolution}: ask for a lower one"
    )


def screening(factors: str | Sequence[str], trials: int | None = None) -> Design:
    """Return a design of Plackett and Burman: main effects only, in hardly more trials than factors.

    Parameters
    ----------
    factors : str or sequence of str
    trials : int, optional
        Number of trials. By default the fewest for which a design is known: the next multiple of four for up to 127
        factors.

    Notes
    -----
    Interactions are spread over the main effects of other factors (resolution III). Contrasts that no factor takes are
    left for the estimate of the noise. Fold the design over to free main effects of interactions.
    """
    names = words.named(factors)
    wanted = [trials] if trials is not None else range(4 * (len(names) // 4 + 1), LARGEST + 1, 4)
    for size in wanted:
        if len(names) < size <= LARGEST and (matrix := plackett_burman(size)) is not None:
            return Design(f"PB{size}", names, tuple(range(1, len(names) + 1)), (1,) * len(names), matrix, regular=False)
    raise ValueError(
        f"PB{'' if trials is None else trials}: no such design of {len(names)} factors is known; it needs more trials "
        f"than factors, and a multiple of four: any up to 128, some up to {LARGEST:,}"
    )


def recognised(levels: ArrayLike, factors: Factors = None) -> tuple[Design, IntArray]:
    """Recover a full or fractional design, and so its generators, from the signs of its trials.

    Parameters
    ----------
    levels : array_like (trials, factors) of -1 and +1
        Levels of the trials, in any order of the trials.
    factors : str or sequence of str, optional

    Returns
    -------
    Design
    order : ndarray (trials,) int64
        ``levels[order]`` are the levels of the design.

    Raises
    ------
    ValueError
        If no set of words generates these trials.

    Examples
    --------
    >>> found, order = recognised([[1, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]])
    >>> print(found, order)
    2^(3-1): 3 factors in 4 trials, resolution III, I = abc [1 2 3 0]
    """
    given = np.asarray(levels)
    if given.ndim != 2 or not np.isin(given, (-1, 1)).all():
        raise ValueError(
            f"levels of shape {given.shape} must have a row per trial and a column per factor, of -1 and +1"
        )
    trials, p = given.shape
    bits = trials.bit_length() - 1
    names = words.named(factors, p)
    basic: list[int] = []
    for i in range(p):  # a factor is basic if it halves all groups of trials that the basic ones before it make
        if 1 << len(basic) < trials and np.unique(given[:, [*basic, i]], axis=0).shape[0] == 2 << len(basic):
            basic.append(i)
    places = (given[:, basic] > 0) @ (1 << np.arange(len(basic)))
    if len(basic) != bits or sorted(places.tolist()) != list(range(trials)):
        raise ValueError(f"no full or fractional factorial design of {p} factors in {trials} trials has these levels")
    order = np.argsort(places)
    matrix = walsh(bits)
    products = matrix.T.astype(np.int64) @ given[order]
    columns = np.abs(products).argmax(axis=0)
    signs = np.sign(products[columns, np.arange(p)])
    if (np.abs(products[columns, np.arange(p)]) < trials).any():
        raise ValueError(
            f"{trials} trials of {p} factors are not a factorial design: not all columns are products of {bits} columns"
        )
    name = f"2^({p}-{p - bits})" if p > bits else f"2^{p}"
    return Design(name, names, tuple(columns.tolist()), tuple(signs.tolist()), matrix, True), order


def _generated(names: Sequence[str], k: int, generators: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the columns and signs of all factors."""
    parts = [text.partition("=") for text in generators]
    made = {name.strip(): word for name, _, word in parts}
    if len(parts) != k or any(name not in names or not word.strip() for name, word in made.items()):
        raise ValueError(f"generators {', '.join(generators)}: there must be {k}, each of the form {names[-1]}=word")
    basic = [name for name in names if name not in made]
    if len(made) != k:
        raise ValueError(f"generators {', '.join(generators)}: one factor is generated twice")
    columns, signs = {name: 1 << i for i, name in enumerate(basic)}, dict.fromkeys(basic, 1)
    for name, word in made.items():
        who, signs[name] = words.parsed(basic, word)
        columns[name] = sum(1 << i for i in who)
    taken = [columns[name] for name in names]
    if 0 in taken or len(set(taken)) < len(taken):
        raise ValueError(
            f"generators {', '.join(generators)}: a factor is constant, or two factors have the same column"
        )
    return tuple(taken), tuple(signs[name] for name in names)
