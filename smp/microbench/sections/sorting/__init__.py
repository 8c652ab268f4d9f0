"""Sorting, compared with its predicted times."""

from smp.microbench.method.section import Section

SECTION = Section(
    __name__, title="sorting by programs", seconds=(2, 12, 25), record="Sorting", predicted=True, scaled=False
)
