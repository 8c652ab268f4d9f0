"""The times of synchronisation by name, and the figures that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp.microbench.method.figures import Figure

if TYPE_CHECKING:
    from .rows import Operation, Synchronisation


def operations(found: Synchronisation) -> list[tuple[str, float, Operation | None]]:
    """Return what does not go by p: a name, ns, and the row that says whether it is valid."""
    adds = found.fetch_add_ns
    alone, contended = (adds.alone, adds.contended or {}) if adds else (None, {})
    most = max(contended, key=int, default="0")
    every = [
        ("line handed over, one way", found.handoff_store_ns, "store", 2),
        ("  by compare-exchange", found.handoff_exchange_ns, "exchange", 2),
        ("fetch-add alone", alone, "alone", 1),
        (f"fetch-add by {most}, contended", contended.get(most), "contended", int(most)),
    ]
    return [(name, ns, _row(found, what, p)) for name, ns, what, p in every if ns is not None]


def barriers(found: Synchronisation) -> list[tuple[int, list[float | None], Operation | None]]:
    """Return for each p, ascending, a barrier's ns compiled and from Python, and the row of one that is not valid."""
    made = []
    for p, us in sorted((found.barrier_us or {}).items(), key=lambda item: int(item[0])):
        ns = [None if value is None else value * 1e3 for value in (us.compiled, us.python)]
        rows = [_row(found, how, int(p)) for how in ("compiled", "python")]
        made.append((int(p), ns, next((row for row in rows if row and row.valid is False), None)))
    return made


def compared(found: Synchronisation) -> Iterator[Figure]:
    """Yield what an operation, a barrier and an empty superstep take."""
    for what, ns, row in operations(found):
        yield Figure(what.replace("  by", "line handed over by"), "ns", ns, valid=_valid(row))
    for p, times, row in barriers(found):
        for how, each in zip(("compiled", "from Python"), times, strict=True):
            if each is not None:
                yield Figure(f"barrier {how}, p = {p}", "ns", each, valid=_valid(row))
    for many, us in (found.superstep_us or {}).items():
        yield Figure(f"empty superstep, p = {many}", "ns", us * 1e3)


def _row(found: Synchronisation, what: str, p: int) -> Operation | None:
    return next((row for row in found.rows or () if (row.what, row.processors) == (what, p)), None)


def _valid(row: Operation | None) -> bool:
    return row is None or row.valid is not False
