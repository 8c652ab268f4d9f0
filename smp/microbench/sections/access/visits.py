"""The patterns measured for one number of processors: the suites of every group, and the costs of visits to them.

group       suites of patterns                                     words that a random access falls on
good, bad   1, 2 and 3, at all sizes of the mode, the same for both
good        1, 2 and 3, at larger sizes, those of whole arrays
random      1, 2 and 3, at a few sizes, drawn for each footprint   a footprint: from a processor's cache to memory
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import available_memory
from smp.microbench.method.plan import Plan
from smp.models.supersteps.suites import T_MAX, Pattern, sizes, suite

from .loops import BAD, GOOD, RANDOM

Suites = dict[int, list[Pattern]]

FOOTPRINTS = (1 << 18, 1 << 21, 1 << 24, 1 << 27)
"""Footprints of Random in bytes."""
RANDOM_SIZES = {
    "quick": (5_000, 50_000, 300_000),
    "default": (5_000, 15_000, 50_000, 150_000, 300_000, 550_000),
    "full": (5_000, 10_000, 20_000, 50_000, 100_000, 150_000, 300_000, 550_000, 1_000_000),
}
LARGER = {"quick": (), "default": (4_000_000, 8_000_000), "full": (3_000_000, 4_000_000, 6_000_000, 8_000_000)}
"""Sizes h of Good beyond those of the study, in words."""
ROOM = 8
"""The arrays of a larger pattern take at most one part in `ROOM` of the available memory."""
DENSER = {"quick": "default", "default": "full", "full": "full"}
SMALL_VISIT = 40_000
"""Words that all repeats in one visit to a small pattern copy together, roughly."""
PIECE = 1 << 16
"""Words of one piece of a Bad or Random phase, which takes less than a millisecond."""
SCATTERED = 4
"""Rough cost of a random access, in accesses of the Bad family."""


@dataclass(frozen=True, eq=False)
class Group:
    """Patterns to which one set of cost functions is fitted.

    Attributes
    ----------
    family : int
        `GOOD`, `BAD` or `RANDOM`.
    footprint : int
        Words that the accesses of Random fall on; 0 for the other families.
    suites : dict of int to list of Pattern
    """

    family: int
    footprint: int
    suites: Suites

    def rows(self, taken: NDArray[np.void], number: int, index: int) -> NDArray[np.bool_]:
        """Return a mask of the samples of one pattern."""
        mine = (taken["family"] == self.family) & (taken["footprint"] == self.footprint)
        return np.asarray(mine & (taken["suite"] == number) & (taken["pattern"] == index), np.bool_)


@dataclass(frozen=True)
class Visit:
    """One visit to a pattern: a few of its supersteps."""

    group: Group
    suite: int
    index: int
    pattern: Pattern
    repeats: int

    @property
    def piece(self) -> int:
        """Words of a piece; a phase of Good is one piece, since one large memmove differs from several small ones."""
        return max(T_MAX, self.pattern.hr, self.pattern.hw) if self.group.family == GOOD else PIECE

    @property
    def pieces(self) -> tuple[int, int]:
        """Number of pieces of copy-in and of copy-out, at least one of each."""
        reads, writes = (len(alike) for alike in self.alike)
        return reads, writes

    @property
    def alike(self) -> list[NDArray[np.int64]]:
        """For each piece of copy-in and of copy-out, the number of the first piece that is alike (see `fits`)."""
        found = []
        for words in (self.pattern.reads, self.pattern.writes):
            starts = self.piece * np.arange(max(1, -(-int(words.max()) // self.piece)))
            copied = np.clip(words - starts[:, None], 0, self.piece)
            _, first, inverse = np.unique(copied, axis=0, return_index=True, return_inverse=True)
            found.append(first[inverse.ravel()])
        return found


def groups_of(plan: Plan, p: int, rng: np.random.Generator) -> list[Group]:
    """Draw the suites of all groups for p processors.

    One processor has one pattern of each size, and two have four.  In the quick and default modes, one processor
    therefore gets more sizes, so that there is enough to fit.
    """
    heights = sizes(DENSER[plan.mode] if p == 1 else plan.mode)
    few = RANDOM_SIZES[DENSER[plan.mode] if p == 1 else plan.mode]

    def drawn(heights: Sequence[int], most: int = T_MAX) -> Suites:
        return {number: suite(number, p, heights, rng, most) for number in (1, 2, 3)}

    ends = drawn(heights)
    random = [Group(RANDOM, nbytes // plan.word_bytes, drawn(few)) for nbytes in FOOTPRINTS]
    larger = [h for h in LARGER[plan.mode] if ROOM * 2 * p * h * plan.word_bytes <= available_memory()]
    beyond = drawn(larger, max(larger, default=T_MAX))
    good = {number: [*ends[number], *beyond[number]] for number in ends}
    return [Group(GOOD, 0, good), Group(BAD, 0, ends), *random]


def visits_of(groups: list[Group]) -> list[Visit]:
    """Return one visit to every pattern of some groups."""
    return [
        Visit(group, number, index, pattern, _repeats(group.family, pattern))
        for group in groups
        for number, patterns in group.suites.items()
        for index, pattern in enumerate(patterns)
    ]


def costs(visits: list[Visit], line: int) -> NDArray[np.float64]:
    """Return the rough costs of visits, in accesses of the Bad family; ``line`` is in words."""
    return np.array([visit.repeats * _words(visit, line) for visit in visits], float)


def _repeats(family: int, pattern: Pattern) -> int:
    """Return the supersteps per visit: more for small patterns, whose times are short, and for Good, which is cheap."""
    return (3 if family == GOOD and pattern.h <= T_MAX else 1) * (1 + SMALL_VISIT // max(pattern.h, 1))


def _words(visit: Visit, line: int) -> int:
    words = visit.pattern.hr + visit.pattern.hw
    if visit.group.family == GOOD:
        return words // line * 2 + 500
    return words * (SCATTERED if visit.group.family == RANDOM else 1) + 500


def chunks(order: NDArray[np.intp], cost: NDArray[np.float64], limit: float = 10e6) -> Iterator[list[int]]:
    """Cut a round into runs of the machine, so that progress is shown and Ctrl-C takes effect between them."""
    chunk, size = list[int](), 0.0
    for i in order:
        chunk.append(int(i))
        size += cost[i]
        if size > limit:
            yield chunk
            chunk, size = [], 0.0
    if chunk:
        yield chunk
