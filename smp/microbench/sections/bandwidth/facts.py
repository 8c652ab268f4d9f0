"""The figures of bandwidth that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp.microbench.method.figures import Figure

from .kernels import KERNELS

if TYPE_CHECKING:
    from .rows import Bandwidth


def compared(found: Bandwidth) -> Iterator[Figure]:
    """Yield the bandwidth of each kernel, by processors."""
    for row in sorted(found.stream, key=lambda row: (row.processors, KERNELS.index(row.kernel))):
        what, valid = f"{row.kernel}, p = {row.processors}", row.valid is not False
        yield Figure(what, "GB/s", row.GBps, more_is_better=True, valid=valid)
