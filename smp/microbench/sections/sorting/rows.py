"""Record of the section ``sorting``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Rows, Size
from smp.microbench.sections.programs.rows import Counted, FastList, OfLength, Predicted, Ran

Form = Literal["numpy", "fast"]


class SortRun(Ran, OfLength):
    algorithm: str


class SortForm(FastList):
    form: Form


class SortSuperstep(Counted):
    n: Size
    algorithm: str


class SortStep(SortSuperstep):
    times: Count
    hr_closed: Count
    hw_closed: Count
    m_closed: Count


class Sorting(Predicted):
    rows: Rows[SortRun]
    steps: Rows[SortSuperstep]
    forms: Rows[SortForm]
    analysis: Rows[SortStep]
