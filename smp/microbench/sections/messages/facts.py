"""Figures of messages and collectives that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import count
from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select
from smp.microbench.method.spreads import of_record, of_windows

from .report import name_of
from .rows import Messages


def compared(found: Messages, samples: Samples) -> Iterator[Figure]:
    """Yield the time of each operation, by size and number of processors."""
    for row in found.rows:
        size = row.words or row.senders or 0
        windows = select(samples, "messages", side="operation", what=row.what, processors=row.processors, size=size)
        words = f" of {count(row.words)} words" if row.words else ""
        name = f"{name_of(row)}{words}, p = {row.processors}"
        spread = of_windows(windows) or of_record(row)
        yield Figure(name, "ns", row.ns, valid=row.valid is not False, spread=spread)
