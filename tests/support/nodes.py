"""Machines of MPI whose ranks are on several nodes, all of which are this computer.

The launcher starts the ranks of each "computer" by a fork.  The library would notice that the nodes share memory, and
pass messages through it, so its network is chosen for it.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import smp
from smp._runtime.mpi.jobs import mpiexec

NETWORK = ["-genv", "MPIR_CVAR_CH4_NETMOD", "ofi", "-genv", "FI_PROVIDER", "tcp"]

AHEAD = 1000.0
"""Seconds by which the clock of the second node of `on_two_clocks` is ahead of the first one's."""
OTHER_CLOCK = f"unshare{'' if os.geteuid() == 0 else ' --user --map-root-user'} --time --monotonic {AHEAD:.0f} --fork"
LAUNCH = f"""\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
node=$1; shift
[ "$node" = node0 ] && exec sh -c "exec $*"
exec {OTHER_CLOCK} sh -c "exec $*"
"""

UNTOLD = "ended, by a signal"
DEATHS = {
    "exit": f"(ended with status 3|{UNTOLD})",  # MPICH's launcher does not always say it, if the CPUs are busy
    "SIGKILL": f"(was killed by SIGKILL|{UNTOLD})",
    "SIGSEGV": f"(was killed by SIGSEGV|{UNTOLD})",
}
"""What is said of a processor that has died in each way."""


@functools.cache
def one_node_only() -> bool:
    """Return True if the launcher cannot start several nodes on one computer: Open MPI's and Intel's cannot."""
    said = subprocess.run([mpiexec(), "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return "HYDRA" not in said.stdout


def on_nodes(*processors: int, patience: float = 30.0) -> smp.Machine:
    """Open a machine, given the number of processors of each node."""
    hosts = ",".join(f"node{number}:{each}" for number, each in enumerate(processors))
    if one_node_only():
        pytest.skip("several nodes on one computer need the launcher of MPICH")
    launcher = [mpiexec(), "-launcher", "fork", "-hosts", hosts, *NETWORK]
    return smp.mpi(sum(processors), launcher=launcher, patience=patience)


def on_two_quiet_nodes(folder: Path) -> smp.Machine:
    """Open a machine of two nodes with two processors each, whose launcher neither says nor shows that a rank died."""
    if one_node_only():
        pytest.skip("several nodes on one computer need the launcher of MPICH")
    script = folder / "quiet"
    script.write_text(f'#!/bin/sh\n"{mpiexec()}" "$@" > /dev/null 2>&1\nexit 0\n')
    script.chmod(0o755)
    return smp.mpi(4, launcher=[str(script), "-launcher", "fork", "-hosts", "node0:2,node1:2", *NETWORK])


def on_two_clocks(folder: Path) -> smp.Machine:
    """Open a machine of two nodes with two processors each, whose monotonic clocks are apart; see `no_other_clock`."""
    if one_node_only():
        pytest.skip("several nodes on one computer need the launcher of MPICH")
    script = folder / "launch"
    script.write_text(LAUNCH)
    script.chmod(0o755)
    over = ["-launcher", "ssh", "-launcher-exec", str(script), "-hosts", "node0:2,node1:2"]
    return smp.mpi(4, launcher=[mpiexec(), *over, *NETWORK])


def no_other_clock() -> str:
    """Return the reason why a process cannot have another monotonic clock here; an empty text if it can."""
    if shutil.which("unshare") is None:
        return "this computer lacks the command unshare"
    if subprocess.run([*OTHER_CLOCK.split(), "true"], capture_output=True).returncode:
        return "this computer does not let us make time namespaces"
    return ""


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
