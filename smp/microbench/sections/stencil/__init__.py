"""Relaxation of a grid, set against its prediction."""

from smp.microbench.method.section import Section

SECTION = Section(
    __name__, title="grid relaxation by programs", seconds=(2, 12, 60), record="Stencil", predicted=True, scaled=False
)
