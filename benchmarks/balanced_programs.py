"""Random programs whose parallel parts take about the same time, as those do that somebody has tuned.

Lengths of places that work at the same time differ by 20% at most.  There are four kinds of programs, in turn:

    forks      two forks of three branches, each followed by a barrier
    pipeline   two pipelines of three stages, a processor for each stage, which pass items on by cells
    stencil    four parts of a grid, a barrier, and what is left over, which one processor does
    holders    four processors that work, and then hold the same lock, for about the same time

After each, all processors pass a short place: a join, an exchange of rims, or the like.
"""

from __future__ import annotations

import itertools

import numpy as np
from random_programs import Phase, Place, Program

KINDS = ("forks", "pipeline", "stencil", "holders")
_LEAST, _MOST = 20_000, 200_000  # ns of the longest of the places that work at the same time
_SPREAD = 0.2  # largest share by which another one is shorter
_SHORT = (0.05, 0.3)  # length of the place after them, as a share
_ITEMS = 8  # that pass a pipeline in a round


def balanced(seed: int) -> Program:
    """Draw a program, of the kind ``KINDS[seed % 4]``."""
    rng = np.random.default_rng(seed)
    make = {"forks": _forks, "pipeline": _pipeline, "stencil": _stencil, "holders": _holders}[KINDS[seed % len(KINDS)]]
    groups, barriers = make(rng)
    processors = len(groups[0][0].passes)
    short = np.full(processors, groups[-1][0].work[0] * rng.uniform(*_SHORT))
    groups.append([Place("", "apart", 0, (1,) * processors, short)])
    chained = itertools.chain.from_iterable(groups)
    places = [place._replace(name=name) for name, place in zip("abcdefghij", chained, strict=False)]
    ends = itertools.accumulate(map(len, groups), initial=0)
    numbers = [tuple(range(*group)) for group in itertools.pairwise(ends)]
    phases = tuple(Phase(*one) for one in zip(numbers, (*barriers, True), strict=True))
    return Program(processors, int(rng.integers(3, 5)), tuple(places), phases)


_Made = tuple[list[list[Place]], tuple[bool, ...]]
"""Places that work at the same time, group by group, and whether a barrier follows each group."""


def _alike(rng: np.random.Generator, kind: str, processors: int, passes: int = 1) -> list[Place]:
    """Return a place for each processor."""
    longest = float(np.exp(rng.uniform(np.log(_LEAST), np.log(_MOST)))) / passes
    return [
        Place(
            "",
            kind,
            0,
            tuple(passes * int(rank == one) for one in range(processors)),
            np.full(passes, longest * rng.uniform(1 - _SPREAD, 1)),
            first=kind != "stage" or rank == 0,
            last=kind != "stage" or rank == processors - 1,
        )
        for rank in range(processors)
    ]


def _forks(rng: np.random.Generator) -> _Made:
    return [_alike(rng, "branch", 3) for _ in range(2)], (True, True)


def _pipeline(rng: np.random.Generator) -> _Made:
    return [_alike(rng, "stage", 3, _ITEMS) for _ in range(2)], (True, True)


def _stencil(rng: np.random.Generator) -> _Made:
    parts = _alike(rng, "part", 4)
    rest = Place("", "apart", 0, (1, 0, 0, 0), parts[0].work[:1] * rng.uniform(*_SHORT))
    return [parts, [rest]], (True, False)


def _holders(rng: np.random.Generator) -> _Made:
    return [_alike(rng, "apart", 4), _alike(rng, "locked", 4)], (False, True)
