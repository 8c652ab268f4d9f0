"""How the CPUs lie: the states that a host moves them between, and what can be known of each."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="placement of the CPUs", seconds=(1, 3, 20), record="Placement")
