"""The figures of bandwidth that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select
from smp.microbench.method.spreads import Spread, of_best

from .kernels import KERNELS

if TYPE_CHECKING:
    from .rows import Bandwidth, Stream


def compared(found: Bandwidth, samples: Samples) -> Iterator[Figure]:
    """Yield the bandwidth of each kernel, by number of processors."""
    for row in sorted(found.stream, key=lambda row: (row.processors, KERNELS.index(row.kernel))):
        what, valid = f"{row.kernel}, p = {row.processors}", row.valid is not False
        yield Figure(what, "GB/s", row.GBps, more_is_better=True, valid=valid, spread=_spread(row, samples))


def _spread(row: Stream, samples: Samples) -> Spread | None:
    """Return the spread of the best of all repeats but the first, by `of_best`; None without samples."""
    stamps = select(samples, "bandwidth_stream", processors=row.processors, kernel=row.kernel)
    if stamps is None:
        return None
    if "memory" in (stamps.dtype.names or ()):
        stamps = stamps[stamps["memory"] == "shared"]
    repeats = [stamps[stamps["repeat"] == repeat] for repeat in np.unique(stamps["repeat"])[1:]]
    return of_best(np.array([each["end"].max() - each["start"].min() for each in repeats]))
