"""Record of the section ``lists``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from smp._computer.documents import Number, Rows, Size
from smp.microbench.sections.programs.rows import Counted, FastList, OfLength, Predicted, Ran, Repeated


class ListRun(Ran, OfLength):
    algorithm: str
    speedup: Number | None = None


class ListStep(Counted):
    n: Size
    algorithm: str


class Lists(Predicted):
    rows: Rows[ListRun]
    steps: Rows[ListStep]
    superstep: ListStep | None = None
    serial: Rows[Repeated]
    fast: Rows[FastList]
