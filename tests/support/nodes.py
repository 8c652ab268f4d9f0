"""Machines of MPI whose ranks are on several nodes, all of which are this computer.

The launcher starts the ranks of each "computer" by a fork.  The library would notice that the nodes share memory, and
pass messages through it, so its network is chosen for it.
"""

from collections.abc import Callable

import smp
from smp._runtime.mpi.jobs import mpiexec

NETWORK = ["-genv", "MPIR_CVAR_CH4_NETMOD", "ofi", "-genv", "FI_PROVIDER", "tcp"]


def on_nodes(*processors: int) -> smp.Machine:
    """Open a machine, given the number of processors of each node."""
    hosts = ",".join(f"node{number}:{each}" for number, each in enumerate(processors))
    return smp.mpi(sum(processors), launcher=[mpiexec(), "-launcher", "fork", "-hosts", hosts, *NETWORK])


def on_two_nodes(processors: int) -> smp.Machine:
    """Open a machine of two nodes."""
    return on_nodes(processors - processors // 2, processors // 2) if processors > 1 else on_nodes(1)


def on_a_node_each(processors: int) -> smp.Machine:
    """Open a machine with a node for each processor."""
    return on_nodes(*[1] * processors)


ON_NODES: dict[str, Callable[[int], smp.Machine]] = {
    "mpi on two nodes": on_two_nodes,
    "mpi on a node each": on_a_node_each,
}
"""Kinds of machines whose processors are on several nodes."""
