"""A microbenchmark as a user of the package would add it: this folder, and one line in the list of sections."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="an added section", seconds=(0.1, 0.2, 0.3), record="Counted")
