"""Costs of a machine of MPI, on one node or on several."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="machines of several nodes", seconds=(14, 60, 200), record="Nodes", machine="mpi")
