"""One cell against a chain of cells: how a release reaches many streams."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="one cell against a chain", seconds=(0.6, 3, 20), record="Chain")
