"""Times of synchronisation by name, and the numbers that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select
from smp.microbench.method.spreads import of_record, of_windows

if TYPE_CHECKING:
    from .rows import Operation, Synchronisation


def operations(found: Synchronisation) -> list[tuple[str, float, Operation | None]]:
    """Return the times that are not listed by p: a name, ns, and the row with their validity."""
    adds = found.fetch_add_ns
    alone, contended = (adds.alone, adds.contended or {}) if adds else (None, {})
    most = max(contended, key=int, default="0")
    every = [
        ("line hand-off, one way", found.handoff_store_ns, "store", 2),
        ("  by compare-exchange", found.handoff_exchange_ns, "exchange", 2),
        ("fetch-add alone", alone, "alone", 1),
        (f"fetch-add by {most}, contended", contended.get(most), "contended", int(most)),
    ]
    return [(name, ns, _row(found, what, p)) for name, ns, what, p in every if ns is not None]


def barriers(found: Synchronisation) -> list[tuple[int, list[float | None], Operation | None]]:
    """Return the ns of a compiled barrier and of one from Python for each p, ascending.

    The third item is the first of their two rows that is not valid, or None.
    """
    made = []
    for p, us in sorted((found.barrier_us or {}).items(), key=lambda item: int(item[0])):
        ns = [None if value is None else value * 1e3 for value in (us.compiled, us.python)]
        rows = [_row(found, how, int(p)) for how in ("compiled", "python")]
        made.append((int(p), ns, next((row for row in rows if row and row.valid is False), None)))
    return made


def compared(found: Synchronisation, samples: Samples) -> Iterator[Figure]:
    """Yield the times of operations, barriers and empty supersteps."""
    for what, ns, row in operations(found):
        yield _figure(what.replace("  by", "line hand-off by"), ns, row, samples)
    for p, us in sorted((found.barrier_us or {}).items(), key=lambda item: int(item[0])):
        for name, how, each in (("compiled", "compiled", us.compiled), ("from Python", "python", us.python)):
            if each is not None:
                yield _figure(f"barrier {name}, p = {p}", each * 1e3, _row(found, how, int(p)), samples)
    for p, us_empty in (found.superstep_us or {}).items():
        yield _figure(f"empty superstep, p = {p}", us_empty * 1e3, _row(found, "superstep", int(p)), samples)


def _figure(what: str, ns: float, row: Operation | None, samples: Samples) -> Figure:
    windows = select(samples, "synchronisation", what=row.what, processors=row.processors) if row else None
    valid = row is None or row.valid is not False
    return Figure(what, "ns", ns, valid=valid, spread=of_windows(windows) or of_record(row))


def _row(found: Synchronisation, what: str, p: int) -> Operation | None:
    return next((row for row in found.rows or () if (row.what, row.processors) == (what, p)), None)
