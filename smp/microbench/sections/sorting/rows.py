"""The record of the section ``sorting``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Rows, Size
from smp.microbench.sections.programs.rows import Counted, FastList, OfLength, Predicted, Ran

Sort = Literal["radix", "sample", "column"]


class SortRun(Ran, OfLength):
    algorithm: Sort


class SortForm(FastList):
    form: Literal["numpy", "fast"]


class SortStep(Counted):
    n: Size
    algorithm: Sort
    times: Count
    hr_closed: Count
    hw_closed: Count
    m_closed: Count


class Sorting(Predicted):
    rows: Rows[SortRun]
    forms: Rows[SortForm]
    analysis: Rows[SortStep]
