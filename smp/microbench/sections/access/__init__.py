"""Section on access patterns and the cost functions that are fitted to them."""

from smp.microbench.method.section import Section

SECTION = Section(
    __name__, title="access patterns and cost functions", seconds=(9, 78, 600), record="smp.profiles.access:Access"
)
