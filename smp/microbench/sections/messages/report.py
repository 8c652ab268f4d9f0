"""The report's section on messages and collectives: each next to its floor, to MPI, and to the CM-5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from smp._output.numbers import count, fixed, time
from smp._output.table import Bounded, Cell, Column, Row, Table, counted, ratio, text
from smp.microbench.output import cm5
from smp.microbench.output.format import by_placement, flagged, judged
from smp.profiles.profile import Profile

from .bursts import BLOCKS, VECTORS
from .rows import ByMpi, Cost, Messages

OPERATIONS = {
    "trip": "packet round trip",
    "one way": "packet one way",
    "both ways": "packet each way at once",
    "receive": "packet received",
    "poll": "poll in vain",
    "compiled barrier": "barrier in a compiled loop",
    "request": "request and reply, Python",
    "message": "message handled, Python",
    "block": "block",
    "block both ways": "block each way at once",
    "barrier": "barrier, Python",
    "any": "any, Python",
    "reduce": "reduce",
    "scan": "scan",
    "exclusive scan": "exclusive scan",
    "broadcast": "broadcast",
    "transpose": "transpose",
}
FLOORS = {
    "line": "line round trip",
    "addition": "fetch-add",
    "trip": "packet round trip",
    "one way": "packet one way",
    "compiled barrier": "compiled barrier",
    "barrier": "barrier",
    "copy": "copy",
}
BY_MPI = {
    "request": "Send and Recv",
    "message": "window of 64",
    "barrier": "Barrier",
    "any": "Allreduce",
    "block": "Send and Recv",
    "block both ways": "Sendrecv",
    "reduce": "Allreduce",
    "scan": "Scan",
    "exclusive scan": "Exscan",
    "broadcast": "Bcast",
    "transpose": "Alltoall",
}
"""The operation of MPI next to each operation that has one."""
THERE = {
    "trip": cm5.ROUND_TRIP,
    "one way": cm5.SEND,
    "both ways": cm5.SEND_AND_RECEIVE,
    "receive": cm5.RECEIVE,
    "poll": cm5.POLL,
    "compiled barrier": cm5.BARRIER,
}
"""Published numbers of the CM-5."""
ON_CM5 = (
    f"{cm5.MACHINE}: reduce {time(cm5.COMBINE.ns / 1e9)} for a word ({cm5.COMBINE.cycles:g} cycles), "
    f"{cm5.COMBINE_VECTOR.what}; broadcast {time(cm5.BROADCAST.ns / 1e9)} ({cm5.BROADCAST.cycles:g} cycles), "
    f"{cm5.BROADCAST_VECTOR.what}"
)
QUARTILES = (Column("ratio"), Column("25%"), Column("75%"))
SINGLE = (
    *(text("operation"), counted("p"), Column("median", "ns"), text("floor"), Column("", "ns"), *QUARTILES),
    Column("CM-5", "ns"),
)


def line(found: Messages) -> tuple[str, str] | None:
    """Return the heading and text of this section for the first screen."""
    rows = {(row.what, row.words): row for row in found.rows if row.processors == 2}
    said = list[str]()
    if trip := rows.get(("trip", None)):
        said.append(f"a packet there and back in {time(trip.ns / 1e9)}, {fixed(trip.ratio)} times a line")
    if request := rows.get(("request", None)):
        said.append(f"request and reply from Python in {time(request.ns / 1e9)}")
    reduced = [row for row in found.rows if row.what == "reduce"]
    if reduced:
        most = max(reduced, key=lambda row: (row.processors, row.words or 0))
        floor = f"{fixed(most.ratio)} times a {FLOORS[most.floor]}"
        said.append(f"reduce of {count(most.words)} words in {time(most.ns / 1e9)}, {floor}")
    return ("Messages", "; ".join(said)) if said else None


def name_of(row: Cost) -> str:
    """Return the name of a row's operation."""
    return OPERATIONS[row.what] + (f", {row.senders} senders" if row.senders else "")


def tables(found: Messages, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which messages were measured."""
    single = sorted((row for row in found.rows if not row.words), key=lambda row: list(OPERATIONS).index(row.what))
    yield _single(single, found)
    if blocks := [row for row in found.rows if row.what in BLOCKS]:
        yield _blocks(blocks, [row for row in found.mpi if row.what in BLOCKS])
    for p in sorted({row.processors for row in found.rows if row.what in VECTORS}):
        mine = [row for row in found.rows if row.what in VECTORS and row.processors == p]
        theirs = [row for row in found.mpi if row.what in VECTORS and row.processors == p]
        yield from _vectors(p, mine, theirs)
    for many, states in (found.placement or {}).items():
        named = [
            (name_of(row) + (f", {count(row.words)} words" if row.words else ""), row.ns, row.elsewhere_ns)
            for row in found.rows
            if row.processors == int(many)
        ]
        yield from by_placement(f"The same by placement of the CPUs, p = {many}", "operation", named, states)


def _single(rows: Sequence[Cost], found: Messages) -> Table:
    by_mpi = {(row.what, row.processors): row for row in found.mpi}
    shown = list[Row]()
    for row in rows:
        there = THERE.get(row.what)
        times: list[Cell] = [judged(name_of(row), row), row.processors, row.ns, FLOORS[row.floor], row.floor_ns]
        shown.append([*times, row.ratio, row.ratio_low, row.ratio_high, there.ns if there else ""])
        if row.what in BY_MPI:
            shown.append(_of_mpi(row, by_mpi.get((row.what, row.processors)), found.no_mpi))
    places = "; ".join(f"{there.what}: {there.place}" for there in THERE.values())
    return Table(
        "Messages and barriers; packets of 32 bytes",
        SINGLE,
        shown,
        (
            _pairs(rows),
            f"MPI: {found.library or found.no_mpi}; a ratio in its row is that of the time above it to MPI's",
            f"{cm5.MACHINE}: {places}",
            flagged(rows),
        ),
    )


def _of_mpi(row: Cost, by_mpi: ByMpi | None, why: str) -> list[Cell]:
    name = f"  MPI {BY_MPI[row.what]}"
    if by_mpi is None:
        missing = "not installed" if "installed" in why else "did not run"
        return [name, row.processors, missing, *[""] * 6]
    return [judged(name, by_mpi), row.processors, by_mpi.ns, "", "", row.over_mpi, *[""] * 3]


def _blocks(rows: Sequence[Cost], by_mpi: Sequence[ByMpi]) -> Table:
    """Return the table of blocks: speeds, and the ratios to a private copy and to MPI."""
    known, shown = {(row.what, row.words): row for row in by_mpi}, list[Row]()
    for row in rows:
        nbytes, mpi = 8 * (row.words or 0), known.get((row.what, row.words))
        speeds: list[Cell] = [judged(OPERATIONS[row.what], row), nbytes / 1024, nbytes / row.ns, nbytes / row.floor_ns]
        quartiles: list[Cell] = [1 / ratio for ratio in (row.ratio, row.ratio_high, row.ratio_low)]
        theirs: list[Cell] = [judged(nbytes / mpi.ns, mpi), 1 / row.over_mpi] if mpi and row.over_mpi else []
        shown.append([*speeds, *quartiles, *theirs])
    columns = [text("from Python, p = 2"), counted("KiB"), Column("", "GB/s"), Column("copy", "GB/s"), *QUARTILES]
    notes = ["each way, until the last block is counted; ratio: speed over that of a private copy", _pairs(rows)]
    if by_mpi:
        columns += [Column("MPI", "GB/s"), ratio("over MPI")]
        notes.append(f"MPI: {', '.join(f'{BY_MPI[what]} for a {OPERATIONS[what]}' for what in BLOCKS)}")
    return Table("Speed of blocks", columns, shown, (*notes, flagged([*rows, *by_mpi])))


def _vectors(p: int, rows: Sequence[Cost], by_mpi: Sequence[ByMpi]) -> Iterator[Table]:
    """Yield the tables of collectives of vectors: times, ratios to the floors, and ratios to MPI."""
    known = {(OPERATIONS[row.what], row.words or 0): row for row in rows}
    names = [what for what in OPERATIONS if any(row.what == what for row in rows)]
    sizes = sorted({row.words or 0 for row in rows})

    def table(title: str, shown: Callable[[Cost], Cell], column: Callable[[str], Column], *notes: str) -> Table:
        lines = list[Row]()
        for size in sizes:
            cells = [shown(row) if (row := known.get((OPERATIONS[what], size))) else "" for what in names]
            lines.append([size, *cells])
        return Table(f"{title}, p = {p}", (counted("words"), *map(column, names)), lines, notes)

    times = table(
        "Time of a collective of vectors of float64",
        lambda row: judged(row.ns, row),
        lambda what: Column(OPERATIONS[what], "us", scale=1e-3),
        "words of each processor's vector",
        ON_CM5,
        flagged(rows),
    )
    floors = [[row for row in rows if (row.words or 0) == size] for size in sizes]
    below = [(FLOORS[same[0].floor], float(np.median([row.floor_ns for row in same]))) for same in floors]
    yield replace(
        times,
        columns=[*times.columns, text("floor"), Column("", "us", scale=1e-3)],
        rows=[[*line, *floor] for line, floor in zip(times.rows, below, strict=True)],
    )
    yield table(
        "The same over its floor, with quartiles",
        lambda row: Bounded(row.ratio, row.ratio_low, row.ratio_high),
        lambda what: Column(OPERATIONS[what]),
        _pairs(rows),
    )
    if by_mpi:
        yield table(
            "The same over MPI's time",
            lambda row: row.over_mpi,
            lambda what: ratio(BY_MPI[what]),
            "below 1: faster than MPI",
            flagged(by_mpi),
        )


def _pairs(rows: Sequence[Cost]) -> str:
    counts = sorted(row.pairs for row in rows)
    most = f" to {counts[-1]}" if counts[-1] > counts[0] else ""
    return f"ratios: medians and quartiles of {counts[0]}{most} pairs of neighbouring bursts"
