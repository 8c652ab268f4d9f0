"""Sorting and list ranking on a machine of MPI, compared with their predicted times."""

from smp.microbench.method.section import Section

SECTION = Section(
    *(__name__, "sorting and list ranking on several nodes", (4, 15, 40), "NodePrograms"),
    predicted=True,
    scaled=False,
    machine="mpi",
)
