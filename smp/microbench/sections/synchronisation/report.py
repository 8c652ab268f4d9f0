"""The report's section on synchronisation: fetch-and-add, barriers, empty supersteps, the hand-off of a line."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.table import Column, Marked, Table, counted, share, text
from smp.microbench.output.format import by_placement, cells, flagged
from smp.profiles.profile import Profile

from .rows import Matrices, Synchronisation

OPERATIONS = {
    "alone": "fetch-add by one processor",
    "contended": "fetch-add by all on one word",
    "store": "hand-off of a line, by load and store",
    "exchange": "hand-off of a line, by compare-exchange",
    "compiled": "barrier in a compiled loop",
    "python": "barrier from Python",
    "superstep": "empty superstep from Python",
}
MATRICES = {"store": "load and store", "exchange": "compare-exchange"}
WIDEST = 10
"""Largest number of CPUs of a matrix that is printed; the profile has the whole matrix."""
COLUMNS = (
    *(text("operation"), counted("p"), Column("median", "ns"), Column("cycles"), Column("minimum", "ns")),
    *(Column("p95", "ns"), share("clean")),
)


def in_other_states(found: Synchronisation) -> Iterator[Table]:
    """Yield a table for each p with several states of the placement: every operation in every state."""
    for p, states in (found.placement or {}).items():
        mine = [row for row in found.rows or () if row.processors == int(p)]
        rows = [(OPERATIONS[row.what], row.ns, row.elsewhere_ns) for row in mine]
        yield from by_placement(f"The same by placement of the CPUs, p = {p}", "operation", rows, states)


def tables(found: Synchronisation, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile whose synchronisation was measured."""
    single = [row for row in found.rows or () if row.what not in MATRICES]
    if single:
        rows = []
        for row in sorted(single, key=lambda row: (list(OPERATIONS).index(row.what), row.processors)):
            p = Marked(row.processors, "*") if row.oversubscribed else row.processors
            name, *times = cells(OPERATIONS[row.what], row, "ns", "cycles", "minimum_ns", "p95_ns", "clean_fraction")
            rows.append([name, p, *times])
        above = "* more processors than CPUs: they take turns" * any(row.oversubscribed for row in single)
        yield Table("Time of one operation", COLUMNS, rows, (above, flagged(single)))
    yield from in_other_states(found)
    cpus, matrices = found.handoff_cpus or [], found.handoff_ns or Matrices()
    shown = range(min(len(cpus), WIDEST))
    for name, how in MATRICES.items():
        matrix = getattr(matrices, name)
        if matrix and len(cpus) > 1:
            few = f"the first {WIDEST} of {len(cpus)} CPUs; the profile has all" * (len(cpus) > WIDEST)
            yield Table(
                f"Hand-off of a line between two CPUs, one way, by {how}",
                (text(""), *(Column(f"CPU {cpus[j]}", "ns") for j in shown)),
                [[f"CPU {cpus[i]}", *(matrix[i][j] for j in shown)] for i in shown],
                (few, flagged(row for row in found.rows or () if row.what == name)),
            )
