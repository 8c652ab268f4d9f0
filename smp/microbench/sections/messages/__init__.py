"""Messages and collectives, each next to its floor and, if mpi4py is installed, next to MPI."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="messages and collectives", seconds=(2.5, 16, 60), record="Messages")
