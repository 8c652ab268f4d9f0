"""Numbers of whole programs, judged by their repeats, since nothing else shows if a program was disturbed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.microbench.method.figures import Figure
from smp.microbench.method.spreads import of_repeats
from smp.microbench.method.windows import LIMITS

MOST = 0.25
"""Share of the programs on p processors that may be unsteady.  If more are, the others count as disturbed too, since a
program that shares its CPUs from beginning to end is slow in every repeat, and so looks steady."""

Timed = tuple[Figure, int, NDArray[Any] | None]
"""A number, how many processors its program uses, and the seconds of its repeats."""


def judged(programs: Iterable[Timed]) -> Iterator[Figure]:
    """Yield the numbers with their spreads and their validity; a number with fewer than 3 repeats counts as steady."""
    rows = list(programs)
    steady = [_steady(seconds) for _, _, seconds in rows]
    disturbed = {
        p
        for p in {p for _, p, _ in rows}
        if np.mean([not each for each, (_, q, _) in zip(steady, rows, strict=True) if q == p]) > MOST
    }
    for each, (figure, p, seconds) in zip(steady, rows, strict=True):
        yield figure._replace(spread=of_repeats(seconds), valid=each and p not in disturbed)


def _steady(seconds: NDArray[Any] | None) -> bool:
    if seconds is None or len(seconds) < 3:
        return True
    first, third = np.percentile(seconds, [25, 75])
    return bool(third <= LIMITS.spread * first)
