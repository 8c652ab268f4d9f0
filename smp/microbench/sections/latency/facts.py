"""The figures of memory latency that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import size
from smp.microbench.method.figures import Figure

if TYPE_CHECKING:
    from .rows import Latency


def compared(found: Latency) -> Iterator[Figure]:
    """Yield what a load takes from each level, and in random order by the size of the array."""
    pages = ", huge pages" if found.levels_from == "huge" else ""
    for level in found.levels:
        yield Figure(f"{level.name}{pages}", "ns", level.ns)
    for row in found.random:
        yield Figure(f"random order, {size(row.bytes)}", "ns", row.ns, valid=row.valid is not False)
