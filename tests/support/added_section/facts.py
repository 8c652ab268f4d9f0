"""Figures that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples

if TYPE_CHECKING:
    from .rows import Counted


def compared(found: Counted, samples: Samples) -> Iterator[Figure]:
    """Yield the time of each length."""
    for row in found.rows:
        yield Figure(f"a step of {row.length}", "ns", row.ns)
