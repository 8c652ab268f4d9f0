"""Record of the section ``node_programs``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from smp._computer.documents import Rows, Size
from smp.microbench.sections.programs.rows import Counted, OfLength, Predicted, Ran


class NodeRun(Ran, OfLength):
    program: str


class NodeStep(Counted):
    n: Size
    program: str


class NodePrograms(Predicted):
    rows: Rows[NodeRun]
    steps: Rows[NodeStep]
