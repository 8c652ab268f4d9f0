"""Plan of an experiment: the treatments of each trial.

design "2^(3-1)"        level -1: no treatment         level +1: the factor's treatment
array "OA25(5^6)"       level 0, 1, 2, ...: one treatment for each level, or none
design "speedup"        level 0: no treatment          level 1: the factor's treatment
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smp.models._types import IntArray

from ..designs.by_name import design as design_of
from ..designs.by_name import smallest
from ..designs.design import Design
from ..designs.orthogonal import orthogonal_array
from ..designs.slow_motion import all_but_one, is_all_but_one, is_named
from ..designs.words import named
from ..places.counting import Met
from ..places.treatments import Share, Stretch, Treatment, checked
from ..places.treatments import treatment as treatment_of

Given = Treatment | str
Levels = Given | Mapping[str, Given] | Sequence[Given | None]
_LEAST = 1e-6
"""Least seconds of a delay given as a share: the overhead of a delay in Python on the host is about as long."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Treatments of each trial of an experiment.

    Attributes
    ----------
    factors : tuple of str
    levels : ndarray (trials, factors) int64
        -1 and +1 for a design; 0, 1, 2, ... for an array.
    treatments : dict of str to tuple of (Treatment or None)
        For each factor, the treatments of its levels in their order; None is no treatment.
    design : Design or None
        None for an array of more levels, and for the design "speedup".
    """

    factors: tuple[str, ...]
    levels: IntArray
    treatments: dict[str, tuple[Treatment | None, ...]]
    design: Design | None

    @property
    def speedup(self) -> bool:
        """True for the design "speedup" (see `smp.perturb.designs.slow_motion`)."""
        return self.design is None and is_all_but_one(self.levels)

    def settings(self, trial: int) -> dict[str, Treatment]:
        """Return the treatments of a trial, by factor; untreated factors are absent."""
        found = {}
        for name, level in zip(self.factors, self.levels[trial].tolist(), strict=True):
            one = self.treatments[name][(level + 1) // 2 if self.design is not None else level]
            if one is not None:
                found[name] = one
        return found

    def shares(self) -> dict[str, str]:
        """Return, for each factor that has them, the treatments that are shares of the time in a place, as text."""
        found = {n: [str(one) for one in ladder if isinstance(one, Share)] for n, ladder in self.treatments.items()}
        return {name: ", ".join(texts) for name, texts in found.items() if texts}

    def measured(self, met: Mapping[str, Met], virtual: bool = False) -> Plan:
        """Return the plan with shares of the mean time in a place replaced by delays of that length.

        Raises
        ------
        ValueError
            For a share of a place in which no time was measured, also if its passes are stretched.
        """
        least = 1e-9 if virtual else _LEAST
        ladders = {
            name: tuple(one.of(name, met[name], least) if isinstance(one, Share) else one for one in ladder)
            for name, ladder in self.treatments.items()
        }
        found = replace(self, treatments=ladders)
        found.lengths(met)
        return found

    def lengths(self, met: Mapping[str, Met], virtual: bool = False) -> dict[str, list[float]]:
        """Return, for each factor and level, the seconds that its treatment takes, here or on an emulated machine.

        That of a stretched place is a mean, by the counts ``met``.  0 if there is no treatment, NaN if its time is not
        known beforehand.

        Raises
        ------
        ValueError
            If no time was measured in a stretched place.
        """

        def length(name: str, one: Treatment | None) -> float:
            if isinstance(one, Stretch):
                return one.mean(name, met[name])
            return 0.0 if one is None else _virtual(one) if virtual else one.seconds

        return {name: [length(name, one) for one in ladder] for name, ladder in self.treatments.items()}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "factors": list(self.factors),
            "levels": self.levels.tolist(),
            "treatments": {
                name: [None if one is None else str(one) for one in ladder] for name, ladder in self.treatments.items()
            },
            "design": None if self.design is None else self.design.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that `to_json` converted to this JSON; ValueError if its levels are not its design's."""
        ladders = {
            name: tuple(None if text is None else treatment_of(text) for text in ladder)
            for name, ladder in data["treatments"].items()
        }
        design = None if data["design"] is None else Design.from_json(data["design"])
        factors, levels = named(data["factors"]), np.array(data["levels"], np.int64)
        if design is not None and (factors != design.factors or not np.array_equal(levels, design.levels)):
            raise ValueError(f"the plan's factors or levels are not those of its design {design.name!r}")
        return cls(factors, levels, ladders, design)


def is_array(text: str) -> bool:
    """Return True if the name of a design is that of an orthogonal array."""
    return text.strip().upper().startswith(("OA", "L"))


def planned(
    design: Design | str | IntArray | None,
    treatment: Levels,
    factors: Sequence[str],
) -> Plan:
    """Return the plan of an experiment; see `screen`.

    Raises
    ------
    TypeError, ValueError
        If design, treatments and factors do not go together.
    """
    names = tuple(factors)
    if isinstance(design, str) and is_named(design):
        return Plan(names, all_but_one(len(names)), _of_two(treatment, names), None)
    if isinstance(design, str) and is_array(design):
        design = orthogonal_array(design)[:, : len(names)]  # any columns of an orthogonal array make one
    if isinstance(design, str):
        design = design_of(design, names)
    elif design is None:
        design = smallest(names)
    if isinstance(design, Design):
        if design.factors != names:
            raise ValueError(
                f"the design has the factors {', '.join(design.factors)}, but the given ones are {', '.join(names)}"
            )
        ladders = _of_two(treatment, names)
        return Plan(names, design.levels.astype(np.int64), ladders, design)
    levels = np.asarray(design)
    if levels.ndim != 2 or levels.shape[1] != len(names) or levels.dtype.kind not in "iu" or levels.size == 0:
        raise ValueError(
            f"levels of shape {levels.shape} and type {levels.dtype} must be integers, with a row for each trial and a "
            f"column for each of {', '.join(names)}"
        )
    if isinstance(treatment, str | Mapping) or not isinstance(treatment, Sequence):
        raise TypeError("an array of levels needs a sequence of treatments, one for each level (None for no treatment)")
    if levels.min() < 0 or levels.max() >= len(treatment):
        raise ValueError(
            f"levels from {levels.min()} to {levels.max()} do not fit {len(treatment)} treatments, which count from 0"
        )
    ladder = tuple(treatment_of(one) if isinstance(one, str) else one for one in treatment)
    return Plan(names, levels.astype(np.int64), dict.fromkeys(names, ladder), None)


def _of_two(treatment: Levels, names: tuple[str, ...]) -> dict[str, tuple[Treatment | None, ...]]:
    if isinstance(treatment, Mapping):
        found = checked(treatment)
        missing = [name for name in names if name not in found]
        if missing or len(found) > len(names):
            raise ValueError(f"there are treatments of {', '.join(found)}, but the factors are {', '.join(names)}")
    elif isinstance(treatment, Sequence) and not isinstance(treatment, str):
        raise TypeError("a design of two levels needs one treatment, or a mapping with one treatment for each factor")
    else:
        found = checked(dict.fromkeys(names, treatment))
        if not found:
            raise ValueError("there is no treatment: give what is done at a place, such as 10us")
    return {name: (None, found[name]) for name in names}


def _virtual(one: Treatment) -> float:
    return one.order(None).virtual * 1e-9 + 0 * one.seconds
