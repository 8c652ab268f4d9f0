"""Placement of the CPUs: the states between which a host moves them, and measurements of each state."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="placement of the CPUs", seconds=(1, 3, 20), record="Placement")
