"""Relaxation of a grid, compared with its predicted times."""

from smp.microbench.method.section import Section

SECTION = Section(
    __name__, title="grid relaxation by programs", seconds=(2, 12, 60), record="Stencil", predicted=True, scaled=False
)
