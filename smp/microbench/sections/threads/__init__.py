"""The cost of threads and streams."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="threads and streams", seconds=(0.7, 3, 20), record="Threads")
