"""Jobs of MPI: whether this process belongs to one, and the command that starts one.

A launcher (``mpiexec``, ``srun``) gives each process that it starts its rank, and their number, in the environment.
Nothing here imports MPI, because the import would make this process a part of the job.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from smp.errors import MachineError

INSTALL = "pip install 'smp-runtime[mpi]'"
_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ""),
    ("PMI_RANK", "PMI_SIZE", ""),
    ("PMIX_RANK", "SLURM_NTASKS", ""),
    ("SLURM_PROCID", "SLURM_NTASKS", "PMI"),
)
"""Variables with the rank and with the number of ranks; some count only if another variable begins as the third."""
_CODE = """\
import sys
sys.path[:] = {path!r}
from smp._runtime.mpi import rank
rank.main()
"""


class Place(NamedTuple):
    """The rank of a process in its job, and the number of ranks."""

    rank: int
    size: int


def place_in_job(environment: Mapping[str, str] | None = None) -> Place | None:
    """Return the place of this process in the job of a launcher, or None if no launcher has started it."""
    found = os.environ if environment is None else environment
    for rank, size, prefix in _VARIABLES:
        if rank in found and size in found and any(name.startswith(prefix) for name in found):
            return Place(int(found[rank]), int(found[size]))
    return None


def rank_command() -> list[str]:
    """Return the command that runs one rank."""
    path = [entry for entry in sys.path if isinstance(entry, str)]  # import skips the others too
    return [sys.executable, "-c", _CODE.format(path=path)]


def job_command(size: int, hosts: str | None, launcher: Sequence[str] | None) -> list[str]:
    """Return the command that starts a job of ``size`` ranks.

    Parameters
    ----------
    hosts : str or None
        Computers, each with its number of ranks, such as "a:8,b:8"; None for this one.
    launcher : sequence of str or None
        Words that take the place of ``mpiexec``.

    Raises
    ------
    MachineError
        If MPI or its launcher is not installed.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise MachineError(f"mpi4py is not installed; install it, with a library of MPI: {INSTALL}")
    words = list(launcher) if launcher is not None else [mpiexec()]
    if shutil.which(words[0]) is None:
        raise MachineError(f"the launcher {words[0]!r} is not in the path")
    made = _made_by(words[0])
    if made == "Open MPI":
        words += ["--bind-to", "none"]  # smp pins the processors itself
        if launcher is None and hosts is None:
            words.append("--oversubscribe")  # it would start one rank for each core, and not for each CPU
    if hosts is not None:
        if made == "other":
            raise MachineError(f"smp does not know how {words[0]!r} takes a list of hosts: put it into launcher=[...]")
        words += ["--host" if made == "Open MPI" else "-hosts", hosts]
    return [*words, "-n", str(size), *rank_command()]


def mpiexec() -> str:
    """Return the path of ``mpiexec``: the one next to this Python if there is one.

    Raises
    ------
    MachineError
        If there is none.
    """
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if found is None:
        raise MachineError(f"there is no mpiexec in the path; install a library of MPI: {INSTALL}")
    return found


@functools.cache
def _made_by(launcher: str) -> str:
    """Return the maker of a launcher: "Open MPI", "MPICH" (also for Intel's, which is made from it), or "other"."""
    try:
        command = [launcher, "--version"]
        said = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=10.0)
    except (OSError, subprocess.TimeoutExpired):
        return "other"
    text = (said.stdout + said.stderr).lower()
    if any(name in text for name in ("open mpi", "openrte", "prrte", "prte")):
        return "Open MPI"
    return "MPICH" if any(name in text for name in ("hydra", "mpich", "intel")) else "other"


def shown(command: Sequence[str]) -> str:
    """Return the words of a job's command before those of a rank, as a user would type them."""
    return shlex.join(command[: -len(rank_command())])
