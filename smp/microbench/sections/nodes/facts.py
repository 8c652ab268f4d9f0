"""Figures of a machine of MPI that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator

from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select
from smp.microbench.method.spreads import of_repeats

from .rows import Nodes


def compared(found: Nodes, samples: Samples) -> Iterator[Figure]:
    """Yield the time of each operation."""
    for row in found.operations:
        name = row.name if row.where == "all" else f"{row.name}, {row.where}"
        bursts = select(samples, "nodes_operations", operation=row.name, where=row.where)
        spread = of_repeats(None if bursts is None else bursts["seconds"])
        yield Figure(name, "us", row.seconds * 1e6, valid=row.valid is not False, spread=spread)
