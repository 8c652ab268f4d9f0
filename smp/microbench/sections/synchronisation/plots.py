"""Figures of synchronisation: the hand-off of a line between all pairs of CPUs, and barriers by processors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smp._output.figure import Axis, Figure, Panel
from smp._output.numbers import number
from smp.microbench.output.curves import BAND, SPREAD, Samples, curve, nth, select
from smp.microbench.output.maps import heat_map

from .report import MATRICES, OPERATIONS
from .rows import Operation, Synchronisation

FEW_NAMES = 24
"""Largest number of CPUs that are all named at the axes of a matrix; of more, only every second, third, ... is."""
STEPS = ("compiled", "python", "superstep")


def figures(found: Synchronisation, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figures of the hand-offs, if there are two CPUs, and of the barriers."""
    rows = found.rows or []
    pairs = [row for row in rows if row.what in MATRICES and row.cpus]
    if pairs:
        yield handoffs(pairs)
    steps = [row for row in rows if row.what in STEPS]
    if steps:
        yield barriers(steps)


def handoffs(rows: Sequence[Operation]) -> Figure:
    """Return a figure of ns of a hand-off for each pair of CPUs, by load and store and by compare-exchange."""
    cpus = sorted({cpu for row in rows for cpu in row.cpus or ()})
    names = [str(cpu) if k % -(-len(cpus) // FEW_NAMES) == 0 else "" for k, cpu in enumerate(cpus)]
    x, y = Axis("from", "CPU", names=names), Axis("to", "CPU", names=names)
    panels = []
    for what, how in MATRICES.items():
        mine = [row for row in rows if row.what == what]
        ends = [[cpus.index(cpu) for cpu in row.cpus or ()] for row in mine]
        there = [(first, second) for first, second in ends]
        panel = heat_map(mine * 2, there + [(j, i) for i, j in there], x, y, "one way", "ns")
        panels.append(Panel(panel.x, panel.y, panel.series, f"by {how}", cells=panel.cells))
    ns = sorted(row.ns for row in rows if row.what == "store" and row.valid is not False)
    title = "How long does the hand-off of a line from one CPU to another take?"
    if ns:
        span = (
            f"{number(ns[0])} ns" if len(ns) == 1 else f"{number(ns[0])} to {number(ns[-1])} ns, depending on the pair"
        )
        title = f"The hand-off of a line from one CPU to another takes {span}"
    return Figure(
        "synchronisation-handoff",
        title,
        "time of a hand-off, one way; the darker, the slower; ringed: not valid",
        [panel for panel in panels if panel.cells],
    )


def barriers(rows: Sequence[Operation]) -> Figure:
    """Return a figure of ns of barriers and of empty supersteps by number of processors."""
    lines = [
        curve(OPERATIONS[what], mine, "processors", between=SPREAD, **nth(k))
        for k, what in enumerate(STEPS)
        if (mine := select(rows, "processors", what=what))
    ]
    compiled = [row for row in rows if row.what == "compiled" and row.valid is not False and not row.oversubscribed]
    title = "How long does a barrier take?"
    if compiled:
        most = max(compiled, key=lambda row: row.processors)
        title = f"A barrier of {most.processors} in a compiled loop takes {number(most.ns)} ns"
    counts = sorted({row.processors for row in rows})
    over = [row.processors for row in rows if row.oversubscribed]
    shared = f"; from p = {min(over)} on, processors take turns on the CPUs" if over else ""
    return Figure(
        "synchronisation-barriers",
        title,
        f"{BAND}; ringed: not valid{shared}",
        [Panel(Axis("processors", scale="log", ticks=counts), Axis("time of one operation", "ns", "log"), lines)],
        legend_at="below",
    )
