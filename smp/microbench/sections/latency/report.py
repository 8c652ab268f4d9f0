"""The report's section on memory latency: the levels found, the curves in random order, and the strides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from smp._computer.huge_pages import SWITCH
from smp._output.numbers import fixed, number, size
from smp._output.table import Cell, Column, Table, text
from smp.microbench.output.format import few, field, flagged, judged
from smp.microbench.output.tera import HOT_SPOT, LATENCY, MACHINE
from smp.profiles.profile import Profile

from .rows import GlobalArrays, Latency, OfArray, OfStride

LEVELS = (
    *(text("level"), Column("", "ns"), Column("", "cycles")),
    *(Column("ends at", form="bytes"), Column("reported", form="bytes")),
)
RANDOM = {
    "random": "random, 4 KiB pages",
    "page_local": "page-local, 4 KiB pages",
    "huge": "random, huge pages",
    "shared": "random, global array",
}
WORTH = 1.1
"""Smallest ratio to the latency in huge pages at which the report recommends the switch that grants them."""
STRIDES = 8
"""Largest number of strides in the table, out of those that at least half of the arrays have; the plot has all."""
THERE = (
    f"{MACHINE}: {LATENCY.value:g} clocks, {LATENCY.ns:.0f} ns, for any array; {HOT_SPOT.value:g} clocks for a "
    f"word that is read again and again ({LATENCY.place})"
)


def tables(found: Latency, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile whose memory latency was measured."""
    levels = level_rows(found)
    walk = page_walk(found)
    if walk:
        levels.append([judged("page walk", walk), walk.ns, walk.cycles, None, None])
    if found.shared_page_walk:
        walk = found.shared_page_walk[-1]
        levels.append([judged("page walk, global array", walk), walk.ns, walk.cycles, None, None])
    if levels:
        yield Table("Levels", LEVELS, levels, [f"{remark}." for remark in remarks(found)])
    if any(getattr(found, name) for name in RANDOM):
        yield _random(found)
    if found.stride:
        yield _strides(found.stride)


def level_rows(found: Latency, mark: Callable[[str, Any], Cell] = judged) -> list[list[Cell]]:
    """Return the rows of the table `LEVELS` without the page walks: the levels, and the largest global array.

    Parameters
    ----------
    found : Latency
    mark : callable, optional
        Function that returns the cell of a name, marked if its record is not valid.
    """
    rows: list[list[Cell]] = [
        [mark(one.name, one), one.ns, one.cycles, one.found_bytes, one.reported_bytes] for one in found.levels
    ]
    if found.shared:
        largest = found.shared[-1]
        name = mark(f"global array, {size(largest.bytes)}", largest)
        rows.append([name, largest.ns, largest.cycles, None, None])
    return rows


def page_walk(found: Latency) -> OfArray | None:
    """Return the page walk at the largest size, with the reasons against its loads; None if it was not measured."""
    if found.page_walk_ns is None:
        return None
    walks = (row for row in found.page_walk if row.bytes == found.page_walk_bytes)
    row = next(walks, OfArray(bytes=1, ns=found.page_walk_ns))
    curves = found.random, getattr(found, found.page_walk_from or "huge")
    same = [point for curve in curves for point in curve if point.bytes == row.bytes]
    why = row.why or [reason for point in same for reason in point.why or []]
    return row.model_copy(update={"ns": found.page_walk_ns, "why": why})


def remarks(found: Latency) -> Iterator[str]:
    """Yield the remarks that a reader of the levels needs, one sentence each."""
    if found.levels_from:
        yield f"levels: from random order in {_PAGES.get(found.levels_from, 'small pages, page walks included')}"
    if found.levels_missing:
        yield f"no separate level was found for {', '.join(found.levels_missing)}"
    if found.page_walk_ns is not None:
        base = _PAGES.get(found.page_walk_from or "", "page-local order")
        yield f"page walk: random order in 4 KiB pages minus {base}, at {size(found.page_walk_bytes)}"
    if found.huge_pages and found.huge_pages.granted is False:
        yield f"no huge pages: {found.huge_pages.why}"
    if found.global_arrays:
        yield from _global_arrays(found.global_arrays)
    if found.capped:
        yield found.capped


def _global_arrays(found: GlobalArrays) -> Iterator[str]:
    """Yield remarks on the pages that global arrays lie in, their cost, and the switch that would change it."""
    lie = f"global arrays lie in {_KINDS[found.pages]}"
    if found.pages == "transparent":
        lie += f" if it has any ({size(found.huge_bytes)} of those measured here)"
    if found.factor is None:
        yield lie
        return
    much = f"{fixed(found.factor)} times as long as from private memory in huge pages"
    yield f"{lie}; a load from one of {size(found.bytes)} takes {number(found.ns)} ns, {much}"
    if found.pages == "small" and found.factor >= WORTH:
        yield (
            f"loads from global arrays of that size would be {fixed(found.factor)} times as fast in huge pages, which "
            f"the system does not grant to shared memory ({SWITCH} is {found.switch or 'missing'}); if the kernel has "
            f"the switch, root can set it with: echo advise > {SWITCH}"
        )


_KINDS = {
    "small": "small pages",
    "transparent": "huge pages that the kernel grants",
    "pool": "huge pages of the system's pool",
}

_PAGES = {"huge": "huge pages"}


def _random(found: Latency) -> Table:
    """Return ns a load by size: a column for each curve, and the spread of one of them (``huge`` if there is one)."""
    curves = {name: {row.bytes: row for row in rows} for name in RANDOM if (rows := getattr(found, name))}
    walks, in_global = ({row.bytes: row for row in rows} for rows in (found.page_walk, found.shared_page_walk))
    last = next(name for name in ("huge", "page_local", "random", "shared") if name in curves)
    shown: list[list[Cell]] = []
    for nbytes in sorted({nbytes for curve in curves.values() for nbytes in curve}):
        points = [curve.get(nbytes) for curve in curves.values()]
        spread = [point.minimum_ns, point.p95_ns] if (point := curves[last].get(nbytes)) else [None, None]
        walk = [field(rows.get(nbytes), "ns") for rows in ((walks, in_global) if in_global else (walks,))]
        shown.append([nbytes, *(field(one, "ns") for one in points), *spread, *walk])
    name = last.replace("_", "-")
    columns = (
        Column("array", form="bytes"),
        *(Column(RANDOM[curve], "ns") for curve in curves),
        *(Column(f"{name}: min.", "ns"), Column(f"{name}: p95", "ns"), Column("page walk", "ns", "fixed", 1)),
        *([Column("page walk, global", "ns", "fixed", 1)] if in_global else []),
    )
    title = "Time of a load that waits for the one before, in random order"
    notes = [flagged(row for curve in curves.values() for row in curve.values())]
    if any(row.valid is False for row in (*walks.values(), *in_global.values())):
        notes.append(
            "a page walk is the difference of two loads: not valid if one of them is not, or if the rounds differ"
        )
    return Table(title, columns, shown, notes)


def _strides(points: list[OfStride]) -> Table:
    """Return ns a load by size and stride, for a few of the strides."""
    arrays = sorted({row.bytes for row in points})
    met = Counter(row.stride for row in points)
    often = [stride for stride, times in met.items() if 2 * times >= len(arrays)]
    strides = few(sorted(often or met), STRIDES)
    known = {(row.bytes, row.stride): row for row in points}
    rows = [
        [nbytes, *(judged(row.ns, row) if (row := known.get((nbytes, stride))) else "" for stride in strides)]
        for nbytes in arrays
    ]
    columns = (Column("array", form="bytes"), *(Column(size(stride), "ns") for stride in strides))
    return Table("Time of a load by array and stride (after figure 3)", columns, rows, [THERE, flagged(points)])
