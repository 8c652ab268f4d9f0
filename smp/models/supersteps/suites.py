"""Access patterns to measure: suites 1, 2 and 3 of the SMP paper (section 4.1).

    kind            reads of a processor           writes of a processor
    like-gather     h on the first x, else 0       floor(h x / p) on all
    like-scatter    floor(h x / p) on all          h on the first x, else 0
    vary            h on the first x, else 0       h on the first x, else 0

Suite 1 is these patterns for 1 <= x < p, and one pattern for x = p, for which the three coincide. Here p is the number
of processors, x the number of those that read or write h words each, and h the size in words. Suites 2 and 3 have a
pattern for each pattern of suite 1. Suite 2 keeps the most reads and the most writes of any processor and draws the
rest at random; suite 3 keeps the total.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp.errors import FitError

Counts = NDArray[np.int64]

T_MAX = 2_000_000  # the most words that a processor reads, and the most that it writes, in one superstep

H0 = tuple(5_000 * i for i in range(1, 11))
H1 = tuple(50_000 * i for i in range(1, 11))
H2 = tuple(550_000 + 150_000 * i for i in range(10))

KINDS = ("like-gather", "like-scatter", "vary")

# "quick" and "default" are members of H0, H1 and H2, spaced roughly geometrically: the fits are on the relative scale,
# and uniform sizes would leave only a handful of points for the small supersteps.
_SIZES = {
    "quick": (5_000, 15_000, 50_000, 150_000, 300_000, 550_000),
    "default": (
        *(5_000, 10_000, 20_000, 35_000, 50_000),
        *(100_000, 150_000, 200_000, 300_000, 500_000),
        *(700_000, 1_000_000, 1_450_000, 1_900_000),
    ),
    "full": tuple(sorted({*H0, *H1, *H2})),
}


@dataclass(frozen=True, eq=False)
class Pattern:
    """Numbers of words that each processor reads and writes in one superstep.

    Attributes
    ----------
    kind : str
        "like-gather", "like-scatter" or "vary": the suite-1 pattern that it is, or was drawn from.
    x, h : int
        Parameters of that pattern.
    reads, writes : ndarray (p,) int64
        Words that each processor reads and writes.
    """

    kind: str
    x: int
    h: int
    reads: Counts
    writes: Counts

    @property
    def hr(self) -> int:
        """h_r: the most reads of any processor, in words."""
        return int(self.reads.max())

    @property
    def hw(self) -> int:
        """h_w: the most writes of any processor, in words."""
        return int(self.writes.max())

    @property
    def m(self) -> int:
        """M: the reads plus the writes of all processors, in words."""
        return int(self.reads.sum() + self.writes.sum())


def sizes(mode: str) -> tuple[int, ...]:
    """Return the sizes h of a mode, in words, ascending.

    Parameters
    ----------
    mode : {"quick", "default", "full"}
        "full" is all of the paper's H0, H1 and H2 (29 sizes: H0 and H1 share 50,000).

    Raises
    ------
    FitError
        Any other mode.
    """
    if mode not in _SIZES:
        raise FitError(f"there are no sizes for mode {mode!r}: choose one of {', '.join(_SIZES)}")
    return _SIZES[mode]


def suite(number: int, p: int, sizes: Iterable[int], rng: np.random.Generator, most: int = T_MAX) -> list[Pattern]:
    """Return the patterns of a suite: 3 (p - 1) + 1 for each size.

    Parameters
    ----------
    number : {1, 2, 3}
        Suite 1 draws nothing at random.

        Suite 2: the reads of each processor are uniform integers from 0 to the largest of the suite-1
        pattern, and one processor, drawn at random, reads exactly that many; the writes likewise.

        Suite 3: the reads and writes of all processors together are as many as in the suite-1 pattern. They are cut
        at uniformly random places into 2 p counts, the reads and the writes of each processor. No count exceeds
        ``most``: the excess is cut again and added to the counts that have room.
    p : int
        Number of processors, at least 1.
    sizes : iterable of int
        The sizes h, from 1 to ``most`` words.
    rng : numpy.random.Generator
        Random source of suites 2 and 3.
    most : int
        The most words that a processor reads, and the most that it writes; the study's by default.

    Returns
    -------
    list of Pattern
        In the order of `sizes`, then x, then kind; x = p comes last, as "vary".

    Raises
    ------
    FitError
        A suite number, p or size out of range.

    Examples
    --------
    >>> [(a.kind, a.hr, a.hw, a.m) for a in suite(1, 2, [10], np.random.default_rng())][1:]
    [('like-scatter', 5, 10, 20), ('vary', 10, 10, 20), ('vary', 10, 10, 40)]
    """
    if number not in (1, 2, 3):
        raise FitError(f"there is no suite {number}: the paper defines suites 1, 2 and 3")
    if p < 1:
        raise FitError(f"a pattern needs at least 1 processor, not {p}")
    patterns = [pattern for h in sizes for pattern in _suite1(p, h, most)]
    if number == 2:
        return [_same_maxima(pattern, rng) for pattern in patterns]
    if number == 3:
        return [_same_total(pattern, rng, most) for pattern in patterns]
    return patterns


def _suite1(p: int, h: int, most: int) -> Iterator[Pattern]:
    if not 1 <= h <= most:
        raise FitError(f"size h = {h} words is out of range: choose from 1 to {most}")
    for x in range(1, p + 1):
        some = np.where(np.arange(p) < x, h, 0).astype(np.int64)
        every = np.full(p, h * x // p, dtype=np.int64)
        if x < p:
            yield Pattern("like-gather", x, h, some, every)
            yield Pattern("like-scatter", x, h, every, some)
        yield Pattern("vary", x, h, some, some)


def _same_maxima(pattern: Pattern, rng: np.random.Generator) -> Pattern:
    def below(largest: int) -> Counts:
        counts = rng.integers(0, largest, size=len(pattern.reads), endpoint=True)
        counts[rng.integers(len(counts))] = largest
        return counts

    return Pattern(pattern.kind, pattern.x, pattern.h, below(pattern.hr), below(pattern.hw))


def _same_total(pattern: Pattern, rng: np.random.Generator, most: int) -> Pattern:
    counts = np.zeros(2 * len(pattern.reads), dtype=np.int64)
    left = pattern.m
    while left:
        open_ = np.flatnonzero(counts < most)
        cuts = np.sort(rng.integers(0, left, size=len(open_) - 1, endpoint=True))
        counts[open_] += np.diff(cuts, prepend=0, append=left)
        left = int(np.maximum(counts - most, 0).sum())
        np.minimum(counts, most, out=counts)
    reads, writes = np.split(counts, 2)
    return Pattern(pattern.kind, pattern.x, pattern.h, reads, writes)
