"""Numbers of memory latency that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import size
from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select
from smp.microbench.method.spreads import Spread, of_record, of_windows

if TYPE_CHECKING:
    from .rows import Latency, OfArray


def compared(found: Latency, samples: Samples) -> Iterator[Figure]:
    """Yield the time of a load from each memory level, and of a load in random order for each array size."""
    huge = found.levels_from == "huge"
    points = [(row, "random") for row in found.random] + [(row, "huge") for row in found.huge if huge]
    for level in found.levels:
        # a level is a plateau of the curve, and the point closest to its time supplies the spread
        point, curve = min(points, key=lambda each: abs(each[0].ns - level.ns), default=(None, ""))
        valid, spread = (True, None) if point is None else (_valid(point), _spread(point, samples, curve))
        yield Figure(f"{level.name}{', huge pages' * huge}", "ns", level.ns, valid=valid, spread=spread)
    for row in found.random:
        spread = _spread(row, samples, "random")
        yield Figure(f"random order, {size(row.bytes)}", "ns", row.ns, valid=_valid(row), spread=spread)


def _valid(row: OfArray) -> bool:
    return row.valid is not False


def _spread(row: OfArray, samples: Samples, curve: str) -> Spread | None:
    return of_windows(select(samples, "latency", curve=curve, bytes=row.bytes)) or of_record(row)
