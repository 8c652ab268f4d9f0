"""Two-level designs: which trials delay which factors, and which effects can be separated afterwards.

    2^(4-1)   a  b  c  d    d = abc: the fourth factor takes the column of the interaction abc, so that I = abcd is
    trial 1   -  -  -  -    the defining relation, and the resolution is IV; and each contrast holds two effects:
          2   +  -  -  +    a+bcd   b+acd   ab+cd   c+abd   ac+bd   ad+bc   d+abc
          ...

The aliases of a design follow from the columns that its factors take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from smp.models._types import IntArray, Signs

from . import aliases, words
from .aliases import Effect
from .hadamard import LARGEST, doubled, plackett_burman, walsh

_ROMAN = ("0", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI")
_SPELLED_OUT = 6  # generators: a defining relation of more than 63 words is given by its generators


@dataclass(frozen=True, eq=False)
class Design:
    """Trials of two levels: columns of a Hadamard matrix.  Made by the functions of `smp.perturb.designs.by_name`.

    Attributes
    ----------
    name : str
        Name of the design, such as ``2^(6-2)``.
    factors : tuple of str
    columns : tuple of int
        The contrast that each factor takes, a column of `matrix`.
    signs : tuple of int
        -1 for a factor that takes the opposite of its column, otherwise 1.
    matrix : ndarray (trials, trials) int8
        Hadamard matrix whose columns are the contrasts; column 0 is the mean.
    regular : bool
        True if contrasts multiply as their numbers xor, as in all designs except those of Plackett and Burman.
    folds : int
        Number of times that the design was folded over. Each time doubled the trials.
    """

    name: str
    factors: tuple[str, ...]
    columns: tuple[int, ...]
    signs: tuple[int, ...]
    matrix: Signs
    regular: bool
    folds: int = 0

    @property
    def trials(self) -> int:
        """Number of trials."""
        return len(self.matrix)

    @cached_property
    def levels(self) -> Signs:
        """Array (trials, factors) int8: +1 if the treatment is set, -1 if it is not."""
        return np.ascontiguousarray(self.matrix[:, self.columns] * np.array(self.signs, np.int8))

    @cached_property
    def blocks(self) -> IntArray:
        """Array (trials,) int64: the part of a folded design that each trial belongs to, in the order of folding."""
        return np.arange(self.trials) // (self.trials >> self.folds)

    @cached_property
    def word_lengths(self) -> tuple[Fraction, ...]:
        """Number of words of the defining relation that have 1, 2, ... factors; see `aliases.word_lengths`."""
        return aliases.word_lengths(self.levels, self.regular)

    @property
    def resolution(self) -> int | None:
        """Length of the shortest word, computed from the trials; None if nothing is aliased.

        III: main effects are aliased with two-factor interactions. IV: two-factor interactions are aliased with each
        other. V: neither is the case.
        """
        return next((i + 1 for i, count in enumerate(self.word_lengths) if count), None)

    @cached_property
    def _words(self) -> tuple[dict[int, tuple[int, int]], list[int]]:
        return words.eliminate(self.columns) if self.regular else ({}, [])

    @property
    def is_full(self) -> bool:
        """True for a full factorial design: every pattern of delays has a trial."""
        return self.regular and not self.folds and self.trials == 1 << len(self.factors)

    @property
    def generators(self) -> tuple[str, ...]:
        """Words of the factors that take the column of an interaction: ``("e=abc", "f=bcd")``."""
        found = []
        for mask in self._words[1]:
            *rest, last = words.members(mask)
            found.append(f"{self.factors[last]}={words.spelled(self.factors, rest, self._sign(mask))}")
        return tuple(found)

    @property
    def defining_relation(self) -> str:
        """Text ``I = abce = bcdf = adef``; if there are more than 63 words, only the words of the generators."""
        group = [0]
        for mask in self._words[1] if len(self._words[1]) <= _SPELLED_OUT else []:
            group += [mask ^ other for other in group]
        shown = sorted(group[1:] or self._words[1], key=lambda mask: (mask.bit_count(), words.members(mask)))
        left = (1 << len(self._words[1])) - 1 - len(shown)
        text = ["I", *(words.spelled(self.factors, words.members(mask), self._sign(mask)) for mask in shown)]
        return " = ".join(text) + (f" = ... ({left:,} words more)" if left else "")

    def contrast(self, effect: str) -> tuple[int, int]:
        """Return the contrast that an effect is measured in, and its sign there.

        Raises
        ------
        ValueError
            For a name that is not a factor. Also for an interaction in a design of Plackett and Burman, where it
            spreads over all contrasts.
        """
        factors, sign = words.parsed(self.factors, effect)
        if not self.regular and len(factors) != 1:
            raise ValueError(
                f"{self.name} has no contrast for the interaction {effect!r}, which spreads over all contrasts"
            )
        contrast = 0
        for i in factors:
            contrast, sign = contrast ^ self.columns[i], sign * self.signs[i]
        return contrast, sign

    def alias_sets(self, order: int = 3) -> dict[int, list[Effect]]:
        """Return the effects of up to ``order`` factors by contrast, fewer factors first; treat it as read-only."""
        if order not in self._kept:
            self._kept[order] = aliases.alias_sets(self.columns, self.signs, order if self.regular else 1)
        return self._kept[order]

    @cached_property
    def _kept(self) -> dict[int, dict[int, list[Effect]]]:
        return {}

    def aliases(self, effect: str, order: int = 3) -> tuple[str, ...]:
        """Return the effects of up to ``order`` factors that cannot be separated from this one.

        Examples
        --------
        >>> from smp.perturb.designs.by_name import fractional
        >>> fractional("2^(8-4)").aliases("ab", order=2)
        ('cg', 'dh', 'ef')
        """
        contrast, sign = self.contrast(effect)
        own = words.parsed(self.factors, effect)[0]
        found = self.alias_sets(order).get(contrast, [])
        return tuple(words.spelled(self.factors, who, side * sign) for who, side in found if who != own)

    def alias_structure(self, order: int = 3) -> tuple[str, ...]:
        """Return all effects of up to ``order`` factors, with those that share a contrast in one string.

        Examples
        --------
        >>> from smp.perturb.designs.by_name import fractional
        >>> fractional("2^(4-1)").alias_structure()
        ('a+bcd', 'b+acd', 'ab+cd', 'c+abd', 'ac+bd', 'ad+bc', 'd+abc')
        """
        return tuple(
            words.either(self.factors, [words.spelled(self.factors, who, sign) for who, sign in effects])
            for contrast, effects in sorted(self.alias_sets(order).items())
            if contrast
        )

    def sources(self, order: int = 2) -> tuple[tuple[str, int], ...]:
        """Return the source of each contrast from 1 to trials - 1, in words, and the sign of its first word.

        The words are the effects of up to ``order`` factors. A main effect stands alone; `aliases` returns the effects
        aliased with it. A contrast that holds no such effect is named after the interaction that it is. It is ``block``
        if it is the difference between a design and its foldover, and ``-`` if nothing is assigned to it.

        Examples
        --------
        >>> from smp.perturb.designs.by_name import fractional
        >>> [source for source, _ in fractional("2^(4-1)").sources()]
        ['a', 'b', 'ab+cd', 'c', 'ac+bd', 'ad+bc', 'd']
        """
        sets = self.alias_sets(order)
        return tuple(self._source(contrast, sets.get(contrast, [])) for contrast in range(1, self.trials))

    def _source(self, contrast: int, effects: Sequence[Effect]) -> tuple[str, int]:
        if effects:
            mains = [effect for effect in effects if len(effect[0]) == 1]
            first = effects[0][1]
            found = [words.spelled(self.factors, who, sign * first) for who, sign in mains or effects]
            return words.either(self.factors, found), first
        if contrast % (self.trials >> self.folds) == 0:
            return "block", 1
        rest, mask = words.reduce(self._words[0], contrast)
        return ("-", 1) if rest else (words.spelled(self.factors, words.members(mask)), self._sign(mask))

    def _sign(self, mask: int) -> int:
        return int(np.prod([self.signs[i] for i in words.members(mask)]))

    def folded(self, on: str | Sequence[str] | None = None) -> Design:
        """Return this design followed by its foldover: the same trials with the levels of some factors reversed.

        Parameters
        ----------
        on : str or sequence of str, optional
            The factors, by default all: main effects are then free of all two-factor interactions. Reversing a single
            factor frees its main effect and all its two-factor interactions.

        Notes
        -----
        The difference between the halves is a contrast of its own, ``block``, so the second half may be run later.
        """
        names = self.factors if on is None else words.named(on)
        if not set(names) <= set(self.factors):
            raise ValueError(f"cannot fold over on {on!r}: the factors of this design are {', '.join(self.factors)}")
        if 2 * self.trials > LARGEST:
            raise ValueError(
                f"{2 * self.trials:,} trials; a design may have at most {LARGEST:,}: start from a smaller one"
            )
        shift = [self.trials * (factor in names) for factor in self.factors]
        return Design(
            f"{self.name} folded over" + ("" if on is None else f" on {', '.join(names)}"),
            self.factors,
            tuple(column + more for column, more in zip(self.columns, shift, strict=True)),
            tuple(-sign if more else sign for sign, more in zip(self.signs, shift, strict=True)),
            doubled(self.matrix),
            self.regular,
            self.folds + 1,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads. The rows are for human readers, and to check the rest against."""
        return {
            "name": self.name,
            "factors": list(self.factors),
            "columns": list(self.columns),
            "signs": list(self.signs),
            "regular": self.regular,
            "folds": self.folds,
            "rows": ["".join("+" if level > 0 else "-" for level in row) for row in self.levels],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Design:
        """Return the design that `to_json` converted to this JSON.

        Raises
        ------
        ValueError
            If the rows are not those that the columns make.
        """
        trials, folds = len(data["rows"]), data["folds"]
        if data["regular"]:
            matrix = walsh(trials.bit_length() - 1)
        else:
            base = plackett_burman(trials >> folds)
            matrix = np.ones((1, 1), np.int8) if base is None else base
            for _ in range(folds):
                matrix = doubled(matrix)
        columns, signs = tuple(data["columns"]), tuple(data["signs"])
        fits = len(matrix) == trials and all(0 < column < trials for column in columns)
        design = cls(data["name"], words.named(data["factors"]), columns, signs, matrix, data["regular"], folds)
        if not fits or design.to_json()["rows"] != list(data["rows"]):
            raise ValueError(f"the rows of design {data['name']!r} do not follow from its columns: it was changed")
        return design

    def __str__(self) -> str:
        resolution = self.resolution
        told = "nothing is aliased" if resolution is None else f"resolution {_roman(resolution)}"
        return f"{self.name}: {len(self.factors)} factors in {self.trials} trials, {told}" + (
            f", {self.defining_relation}" if self._words[1] else ""
        )


def _roman(number: int) -> str:
    return _ROMAN[number] if number < len(_ROMAN) else str(number)
