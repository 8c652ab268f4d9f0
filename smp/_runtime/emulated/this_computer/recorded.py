"""Times that were measured during a run, in the order in which each processor comes to them.

A run that is given the times of another takes them one after another instead of the clock, so it repeats exactly.
They can be written as JSON:

    {"program": [[ns, ns, ...] of processor 0, [...] of processor 1, ...], "loops": {loop, types and size class: ns}}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

PROGRAM, LOOPS = "program", "loops"


class Recorded:
    """The measured times of one run.

    Parameters
    ----------
    earlier : mapping, optional
        Times of an earlier run, from `times`.

    Raises
    ------
    ValueError
        If the mapping is not of this form.
    """

    def __init__(self, earlier: Mapping[str, Any] | None = None) -> None:
        given = dict(earlier or {})
        self._earlier, self.loops = given.pop(PROGRAM, []), given.pop(LOOPS, {})
        lists = isinstance(self._earlier, list) and all(isinstance(row, list) for row in self._earlier)
        numbers = [ns for row in self._earlier for ns in row] if lists else []
        if given or not lists or not isinstance(self.loops, dict) or not all(map(_valid, [*numbers, *_of(self.loops)])):
            raise ValueError(
                'times must be those of an earlier run, run.times: {"program": a list of whole ns for each processor, '
                '"loops": whole ns by loop}'
            )
        self.begin()

    def begin(self, rank: Callable[[], int | None] = lambda: None) -> None:
        """Begin a new run; ``rank`` returns the processor that runs."""
        self._rank = rank
        self._taken: list[list[int]] = []

    def next(self, measured: int) -> int:
        """Return the ns of the running processor's next stretch of work: recorded, or else measured."""
        rank = self._rank()
        if rank is None:
            return 0
        while len(self._taken) <= rank:
            self._taken.append([])
        mine = self._taken[rank]
        earlier = self._earlier[rank] if rank < len(self._earlier) else []
        found = int(earlier[len(mine)]) if len(mine) < len(earlier) else max(0, measured)
        mine.append(found)
        return found

    def times(self, loops: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Return the times of this run so far."""
        return {PROGRAM: [list(row) for row in self._taken], LOOPS: dict(loops or {})}


def _valid(ns: Any) -> bool:
    return isinstance(ns, int) and not isinstance(ns, bool) and ns >= 0


def _of(loops: Mapping[str, Any]) -> list[Any]:
    return [*loops.values()]
